package attention

import "github.com/dygmamba/dygmamba/model"

// FromTensors changes c to what the shapes of a checkpoint's tensors tell of layers in a scope: their widths, and how
// many there are. They tell neither heads nor neighbours.
func (c *Config) FromTensors(d *model.Dims, scope string) {
	layers := scope + ".temporal_conv_layers."
	query, key := d.Matrix(layers + "0.key_projection.weight")    // [node+time, node+edge+time]
	c.NodeDim, _ = d.Matrix(scope + ".merge_layers.0.fc2.weight") // [node, node]
	c.TimeDim = d.Less(layers+"0.key_projection.weight", query, c.NodeDim, "the node's width")
	c.EdgeDim = d.Less(layers+"0.key_projection.weight", key, query, "the query's width")
	c.Layers = d.Count(layers + "%d.key_projection.weight")
}
