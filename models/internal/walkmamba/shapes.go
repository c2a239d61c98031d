package walkmamba

import "github.com/dygmamba/dygmamba/model"

// ConfigFromTensors is base changed to what the shapes of a checkpoint's tensors tell: widths, layers, patch size and
// which parts there are. Shapes tell neither the lengths of histories nor anything about times and walk vectors.
func ConfigFromTensors(base Config, shapes map[string][]int) (Config, error) {
	c := base
	d := model.NewDims("WalkMamba", shapes)
	channel, nodes := d.Matrix("0.projection_layer.node.weight") // [d, p·NodeDim]
	_, edges := d.Matrix("0.projection_layer.edge.weight")       // [d, p·EdgeDim]
	nodeDim, width := d.Matrix("0.output_layer.weight")          // [NodeDim, D]
	c.Channel, c.NodeDim = channel, nodeDim
	c.TimeDim, _ = d.Matrix("0.time_encoder.w.weight") // [TimeDim, 1]
	c.Patch = d.Divide("0.projection_layer.node.weight", nodes, c.NodeDim, "the node feature width")
	c.EdgeDim = d.Divide("0.projection_layer.edge.weight", edges, c.Patch, "the patch size")
	c.Divisor = d.Divide("0.projection_layer.node.weight", 4*c.Channel, width,
		"the width of 0.output_layer.weight, times 4,")
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
		if g, _ := d.Matrix("0.projection_layer_t_diff.weight"); c.TimeWidth() != g && d.Err() == nil {
			c.Gamma = (float64(g) + 0.25) / float64(c.Channel) // whatever division rounds to, γ·d rounded down is g
		}
	}
	if d.Err() != nil {
		return base, d.Err()
	}
	return c, nil
}
