package graphmixer

import "github.com/dygmamba/dygmamba/model"

// fromTensors changes c to what the shapes of a checkpoint's tensors tell: all widths, the number of mixers
// and that of the neighbours they mix. Shapes do not tell how neighbours are picked, nor what time_gap was.
func fromTensors(c *Config, d *model.Dims) {
	c.TimeDim, _ = d.Matrix("0.time_encoder.w.weight")       // [TimeDim, 1]
	c.EdgeDim, _ = d.Matrix("0.projection_layer.weight")     // [EdgeDim, EdgeDim + TimeDim]
	c.NodeDim, _ = d.Matrix("0.output_layer.weight")         // [NodeDim, EdgeDim + NodeDim]
	c.Neighbors = d.Vector("0.mlp_mixers.0.token_norm.bias") // [K]
	c.Layers = d.Count("0.mlp_mixers.%d.token_norm.bias")
}
