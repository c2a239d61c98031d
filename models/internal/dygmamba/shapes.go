package dygmamba

import "github.com/dygmamba/dygmamba/model"

// fromTensors changes c to what the shapes of a checkpoint's tensors tell: widths, layers, patch size and
// architecture. Shapes tell neither the lengths of histories nor the variant: variants c and d have the same tensors.
func fromTensors(c *Config, d *model.Dims) {
	c.Patch = c.Sizes.FromTensors(d)
	layer := "0.mamba.%d.A_log"
	if !c.ssm() {
		layer = "0.mamba_t_diff.%d.A_log"
	}
	c.Layers = d.Count(layer)
	c.Arch = Released
	if d.Has("0.mamba.0.dt_bias") {
		c.Arch = Paper
	} else {
		c.DivisorFromTensors(d)
	}
	if c.pattern() {
		c.GammaFromTensors(d)
	}
}
