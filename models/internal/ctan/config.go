package ctan

import "fmt"

// Config says everything about the model but its weights. Its JSON names are the ones --set takes, and about says
// what they are.
type Config struct {
	Iters     int     `json:"num_iters" about:"steps of the differential equation: how far information travels"`
	Epsilon   float64 `json:"epsilon" about:"ε: how long a step is"`
	Gamma     float64 `json:"gamma" about:"γ: how strongly states are damped"`
	Neighbors int     `json:"num_neighbors" about:"latest events of a node that are kept"`
	Width     int     `json:"memory_dim" about:"numbers that are remembered of a node"`
	TimeDim   int     `json:"time_feat_dim" about:"width of the time encoding"`
	EdgeDim   int     `json:"edge_feat_dim" about:"event features, narrower ones padded"` // the data's width unless set
	FinalTanh bool    `json:"final_tanh" about:"states go through a tanh after the last step"`

	IntegerTimes bool `json:"integer_times" about:"times are cut to whole numbers"` // as in the official program
}

// Default is the official program's first choice for every setting.
var Default = Config{Iters: 5, Epsilon: 0.5, Gamma: 0.5, Neighbors: 5, Width: 128, TimeDim: 16, IntegerTimes: true}

// nodeDim is the width of node features: a random number for every node.
const nodeDim = 1

// Hidden is the width within the link predictor.
func (c Config) Hidden() int { return max(1, c.Width/2) }

// Check says what is wrong with c.
func (c Config) Check() error {
	const wide, many = 1 << 16, 1 << 10
	for _, p := range []struct {
		key                string
		value, least, most int
	}{
		{"num_iters", c.Iters, 1, many}, {"num_neighbors", c.Neighbors, 1, many},
		{"memory_dim", c.Width, 1, wide}, {"time_feat_dim", c.TimeDim, 1, wide}, {"edge_feat_dim", c.EdgeDim, 0, wide},
	} {
		if p.value < p.least || p.value > p.most {
			return fmt.Errorf("%s is %d, must be at least %d and at most %d", p.key, p.value, p.least, p.most)
		}
	}
	switch {
	case !(c.Epsilon > 0 && c.Epsilon <= 10):
		return fmt.Errorf("epsilon is %v, must be above 0 and at most 10: the paper searches 0.001 to 0.5", c.Epsilon)
	case !(c.Gamma >= 0 && c.Gamma <= 10):
		return fmt.Errorf("gamma is %v, must be at least 0 and at most 10: the paper searches 0.001 to 0.5", c.Gamma)
	}
	return nil
}

// Notes are what a user should know before training.
func (Config) Notes() []string {
	return []string{"ctan knows each node by a random number, as its program does, and not by the data's features"}
}

// Brief is the settings in the paper's letters.
func (c Config) Brief() string {
	s := fmt.Sprintf("%d steps, ε %v, γ %v, %d neighbours, width %d", c.Iters, c.Epsilon, c.Gamma, c.Neighbors, c.Width)
	if c.FinalTanh {
		s += ", final tanh"
	}
	if !c.IntegerTimes {
		s += ", exact times"
	}
	return s
}
