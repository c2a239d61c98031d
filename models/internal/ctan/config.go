package ctan

import "fmt"

// Config says everything about the model but its weights. Its JSON names are the ones --set takes, and about says
// what they are.
type Config struct {
	Iters     int     `json:"num_iters" in:"[1,1024]" about:"steps of the equation: hops that information travels"`
	Epsilon   float64 `json:"epsilon" in:"(0,10]" about:"ε: step size; searched from 0.001 to 0.5"`
	Gamma     float64 `json:"gamma" in:"[0,10]" about:"γ: damping of states; searched from 0.001 to 0.5"`
	Neighbors int     `json:"num_neighbors" in:"[1,1024]" about:"latest events kept per node"`
	Width     int     `json:"memory_dim" in:"[1,65536]" about:"width of a node's memory"`
	TimeDim   int     `json:"time_feat_dim" in:"[1,65536]" about:"width of the time encoding"`
	// EdgeDim is the data's width unless it is set.
	EdgeDim   int  `json:"edge_feat_dim" in:"[0,65536]" about:"width of event features; narrower ones are padded"`
	FinalTanh bool `json:"final_tanh" about:"apply tanh after the last step"`

	IntegerTimes bool `json:"integer_times" about:"round times down to integers"` // as in the official program
}

// Default is the official program's first choice for every setting.
var Default = Config{Iters: 5, Epsilon: 0.5, Gamma: 0.5, Neighbors: 5, Width: 128, TimeDim: 16, IntegerTimes: true}

// nodeDim is the width of node features: a random number for every node.
const nodeDim = 1

// Hidden is the width within the link predictor.
func (c Config) Hidden() int { return max(1, c.Width/2) }

// Check finds nothing wrong within the bounds.
func (c Config) Check() error { return nil }

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
