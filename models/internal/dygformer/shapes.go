package dygformer

import "github.com/dygmamba/dygmamba/model"

// ConfigFromTensors is base changed to what the shapes of a checkpoint's tensors tell: widths, layers and patch size.
// Shapes tell neither the length of histories nor the number of heads.
func ConfigFromTensors(base Config, shapes map[string][]int) (Config, error) {
	c := base
	d := model.NewDims("DyGFormer", shapes)
	channel, nodes := d.Matrix("0.projection_layer.node.weight") // [d, p·NodeDim]
	_, edges := d.Matrix("0.projection_layer.edge.weight")       // [d, p·EdgeDim]
	c.Channel = channel
	c.NodeDim, _ = d.Matrix("0.output_layer.weight")   // [NodeDim, 4d]
	c.TimeDim, _ = d.Matrix("0.time_encoder.w.weight") // [TimeDim, 1]
	c.Patch = d.Divide("0.projection_layer.node.weight", nodes, c.NodeDim, "the node feature width")
	c.EdgeDim = d.Divide("0.projection_layer.edge.weight", edges, c.Patch, "the patch size")
	layer := "0.transformers.%d.linear_layers.0.weight"
	if c.Layer == Mamba {
		layer = "0.mamba.%d.A_log"
		_, c.FeedForward = shapes["0.channel_norm.weight"]
	}
	c.Layers = d.Count(layer)
	if d.Err() != nil {
		return base, d.Err()
	}
	return c, nil
}
