package cawn

import "github.com/dygmamba/dygmamba/model"

// fromTensors changes c to what the shapes of a checkpoint's tensors tell: all widths and the length of
// walks. Shapes tell neither how many neighbours there are and how they are picked, nor, for sure, the number of heads.
func fromTensors(c *Config, d *model.Dims) {
	const gates = "0.walk_encoder.feature_encoder.bilstm_encoder.weight_ih_l0"
	c.TimeDim, _ = d.Matrix("0.time_encoder.w.weight")                                      // [TimeDim, 1]
	c.PositionDim, c.Length = d.Matrix("0.position_encoder.position_encode_layer.0.weight") // [PositionDim, steps]
	c.Length = d.Less("0.position_encoder.position_encode_layer.0.weight", c.Length, 1, "the first step,")
	c.NodeDim, _ = d.Matrix("0.walk_encoder.projection_layers.1.weight") // [NodeDim, width]
	_, step := d.Matrix(gates)                                           // [4·hidden, stepDim]
	c.EdgeDim = d.Less(gates, step, c.NodeDim+c.TimeDim+c.PositionDim, "nodes, times and positions,")
}
