package dygmamba

import "github.com/dygmamba/dygmamba/model"

// ConfigFromTensors is base changed to what the shapes of a checkpoint's tensors tell: widths, layers, patch size and
// architecture. Shapes tell neither the lengths of histories nor the variant: variants c and d have the same tensors.
func ConfigFromTensors(base Config, shapes map[string][]int) (Config, error) {
	c := base
	d := model.NewDims("DyGMamba", shapes)
	channel, nodes := d.Matrix("0.projection_layer.node.weight") // [d, p·NodeDim]
	_, edges := d.Matrix("0.projection_layer.edge.weight")       // [d, p·EdgeDim]
	nodeDim, width := d.Matrix("0.output_layer.weight")          // [NodeDim, D]
	c.Channel, c.NodeDim = channel, nodeDim
	c.TimeDim, _ = d.Matrix("0.time_encoder.w.weight") // [TimeDim, 1]
	c.Patch = d.Divide("0.projection_layer.node.weight", nodes, c.NodeDim, "the node feature width")
	c.EdgeDim = d.Divide("0.projection_layer.edge.weight", edges, c.Patch, "the patch size")

	layer := "0.mamba.%d.A_log"
	if !c.ssm() {
		layer = "0.mamba_t_diff.%d.A_log"
	}
	c.Layers = d.Count(layer)
	c.Arch = Released
	if d.Has("0.mamba.0.dt_bias") {
		c.Arch = Paper
	} else {
		c.Divisor = d.Divide("0.projection_layer.node.weight", 4*c.Channel, width,
			"the width of 0.output_layer.weight, times 4,")
	}
	if c.pattern() {
		g, _ := d.Matrix("0.projection_layer_t_diff.weight")
		if c.TimeWidth() != g && d.Err() == nil {
			c.Gamma = ratio(g, c.Channel)
		}
	}
	if d.Err() != nil {
		return base, d.Err()
	}
	return c, nil
}

// ratio is a γ that makes ⌊γ·d⌋ = g, whatever division rounds to.
func ratio(g, d int) float64 {
	gamma := float64(g) / float64(d)
	if int(gamma*float64(d)) < g {
		gamma = (float64(g) + 0.25) / float64(d)
	}
	return gamma
}
