package ctan

import "fmt"

// ConfigFromTensors is base changed to what the shapes of a checkpoint's tensors tell: the widths of memory, time
// code and event features. They tell neither the number of steps, nor ε and γ, nor how many neighbours are kept.
func ConfigFromTensors(base Config, shapes map[string][]int) (Config, error) {
	const attributes = "gnn.aconv.phi.lin_edge.weight" // its columns: event features, then time codes
	c := base
	for _, s := range []struct {
		name string
		dim  int
		to   *int
	}{
		{"gnn.aconv.W", 0, &c.Width}, {"gnn.time_enc.lin.weight", 0, &c.TimeDim}, {attributes, 1, &c.EdgeDim},
	} {
		dims, ok := shapes[s.name]
		switch {
		case !ok:
			return base, fmt.Errorf("tensor %s is missing: these are not the weights of CTAN", s.name)
		case len(dims) != 2 || dims[0] < 1 || dims[1] < 1:
			return base, fmt.Errorf("tensor %s is %v, want two dimensions", s.name, dims)
		}
		*s.to = dims[s.dim]
	}
	if c.EdgeDim -= c.TimeDim; c.EdgeDim < 0 {
		return base, fmt.Errorf("tensor %s is %v: time codes alone are %d wide",
			attributes, shapes[attributes], c.TimeDim)
	}
	return c, nil
}
