package ctan

import "github.com/dygmamba/dygmamba/model"

// fromTensors changes c to what the shapes of a checkpoint's tensors tell: the widths of memory, time code and event
// features. They tell neither the number of steps, nor ε and γ, nor how many neighbours are kept.
func fromTensors(c *Config, d *model.Dims) {
	const attributes = "gnn.aconv.phi.lin_edge.weight"
	c.Width, _ = d.Matrix("gnn.aconv.W")
	c.TimeDim, _ = d.Matrix("gnn.time_enc.lin.weight")
	_, c.EdgeDim = d.Matrix(attributes) // event features, then time codes
	if c.EdgeDim -= c.TimeDim; c.EdgeDim < 0 {
		d.Fail("tensor %s is %d wide: time codes alone are %d wide", attributes, c.EdgeDim+c.TimeDim, c.TimeDim)
	}
}
