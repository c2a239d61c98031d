package walkmamba

import "github.com/dygmamba/dygmamba/model"

// fromTensors changes c to what the shapes of a checkpoint's tensors tell: widths, layers, patch size and
// which parts there are. Shapes tell neither the lengths of histories nor anything about times and walk vectors.
func fromTensors(c *Config, d *model.Dims) {
	c.Patch = c.Sizes.FromTensors(d)
	c.DivisorFromTensors(d)
	c.Neighbors, c.Direction = d.Has("0.projection_layer.walk.weight"), d.Has("0.projection_layer.direction.weight")
	c.Pair, c.Roles = d.Has("0.output_layer_walks.weight"), d.Has("0.output_layer_roles.weight")
	c.NextItem, c.Periodicity = d.Has("0.output_layer_sequels.weight"), d.Has("0.output_layer_returns.weight")
	c.NodeBlock, c.TimeBlock = d.Has("0.mamba.0.A_log"), d.Has("0.mamba_t_diff.0.A_log")
	switch {
	case c.NodeBlock:
		c.Layers = d.Count("0.mamba.%d.A_log")
	case c.TimeBlock:
		c.Layers = d.Count("0.mamba_t_diff.%d.A_log")
	}
	if c.TimeBlock {
		c.GammaFromTensors(d)
	}
}
