package attention

import "github.com/dygmamba/dygmamba/model"

// FromTensors is what the shapes of a checkpoint's tensors tell of layers in a scope: their widths, and how many there
// are. Of heads and neighbours they tell nothing.
func FromTensors(d *model.Dims, scope string) (c Config) {
	layers := scope + ".temporal_conv_layers."
	query, key := d.Matrix(layers + "0.key_projection.weight") // [node+time, node+edge+time]
	c.Node, _ = d.Matrix(scope + ".merge_layers.0.fc2.weight") // [node, node]
	c.Time = d.Less(layers+"0.key_projection.weight", query, c.Node, "the node's width")
	c.Edge = d.Less(layers+"0.key_projection.weight", key, query, "the query's width")
	c.Layers = d.Count(layers + "%d.key_projection.weight")
	return c
}
