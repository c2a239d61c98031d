package dygmamba

import (
	"fmt"
)

// ConfigFromTensors is base changed to what the shapes of a checkpoint's tensors tell: widths, layers, patch size and architecture.
// Shapes tell neither the lengths of histories nor the variant: variants c and d have the same tensors.
func ConfigFromTensors(base Config, shapes map[string][]int) (Config, error) {
	c := base
	r := shapeReader{shapes: shapes}
	node := r.matrix("0.projection_layer.node.weight") // [d, p·NodeDim]
	edge := r.matrix("0.projection_layer.edge.weight") // [d, p·EdgeDim]
	out := r.matrix("0.output_layer.weight")           // [NodeDim, D]
	time := r.matrix("0.time_encoder.w.weight")        // [TimeDim, 1]
	c.Channel, c.NodeDim, c.TimeDim = node[0], out[0], time[0]
	c.Patch = r.divide("0.projection_layer.node.weight", node[1], c.NodeDim, "the node feature width")
	c.EdgeDim = r.divide("0.projection_layer.edge.weight", edge[1], c.Patch, "the patch size")

	layer := "0.mamba.%d.A_log"
	if !c.ssm() {
		layer = "0.mamba_t_diff.%d.A_log"
	}
	c.Layers = r.count(layer)
	c.Arch = Released
	if shapes["0.mamba.0.dt_bias"] != nil {
		c.Arch = Paper
	} else {
		c.Divisor = r.divide("0.projection_layer.node.weight", 4*c.Channel, out[1], "the width of 0.output_layer.weight, times 4,")
	}
	if c.pattern() {
		g := r.matrix("0.projection_layer_t_diff.weight")[0]
		if c.TimeWidth() != g && r.err == nil {
			c.Gamma = ratio(g, c.Channel)
		}
	}
	if r.err != nil {
		return base, r.err
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

// shapeReader reads shapes and keeps the first complaint.
type shapeReader struct {
	shapes map[string][]int
	err    error
}

// matrix is the shape of a tensor that must be there and have two dimensions, none of them 0.
func (r *shapeReader) matrix(name string) [2]int {
	dims, ok := r.shapes[name]
	switch {
	case !ok:
		r.fail("tensor %s is missing: these are not the weights of DyGMamba", name)
	case len(dims) != 2 || dims[0] < 1 || dims[1] < 1:
		r.fail("tensor %s is %v, want two dimensions", name, dims)
	default:
		return [2]int(dims)
	}
	return [2]int{1, 1}
}

func (r *shapeReader) divide(name string, n, by int, what string) int {
	if n%by != 0 {
		r.fail("tensor %s is %v: %d is no multiple of %s %d", name, r.shapes[name], n, what, by)
	}
	return max(n/by, 1)
}

// count is how many tensors of a numbered name there are, from 0 on.
func (r *shapeReader) count(format string) int {
	n := 0
	for r.shapes[fmt.Sprintf(format, n)] != nil {
		n++
	}
	if n == 0 {
		r.fail("tensor %s is missing: these are not the weights of this model", fmt.Sprintf(format, 0))
	}
	return n
}

func (r *shapeReader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf(format, args...)
	}
}
