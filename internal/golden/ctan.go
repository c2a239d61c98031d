package golden

import (
	"math"
	"testing"
)

// CTAN is what CTAN's official program computed on the toy graph: sixteen batches of five events, memory and neighbours
// carried on, weights never moved. Parameters are filled by the formula of Fill.
type CTAN struct {
	Config struct {
		Width     int     `json:"memory_dim"`
		Time      int     `json:"time_dim"`
		Node      int     `json:"node_dim"`
		Edge      int     `json:"edge_dim"`
		Iters     int     `json:"num_iters"`
		Epsilon   float64 `json:"epsilon"`
		Gamma     float64 `json:"gamma"`
		Hidden    int     `json:"readout_hidden"`
		Neighbors int     `json:"neighbors"`
		MeanShift float64 `json:"mean_delta_t"`
		StdShift  float64 `json:"std_delta_t"`
	} `json:"config"`
	Params   []Param     `json:"params"`
	Start    float64     `json:"init_time"` // every node's last update at first
	Batches  []CTANBatch `json:"batches"`
	WithTanh struct {    // the same with a final tanh
		Batches []CTANBatch `json:"batches"`
	} `json:"final_tanh"`
}

// CTANBatch is one batch. Its loss is the sum of the mean over positives and the mean over negatives.
type CTANBatch struct {
	Nodes      []int32                 `json:"nodes"`     // of the subgraph, in order
	Edges      [][3]int32              `json:"edge_list"` // neighbour, node, event from 0; by node, newest first
	Positive   []float64               `json:"positive"`  // logits
	Negative   []float64               `json:"negative"`
	Loss       float64                 `json:"loss"`
	Gradients  map[string]CTANGradient `json:"gradients"`         // of one batch only
	Memory     []float64               `json:"memory_after"`      // [nodes, width], of two batches only
	LastUpdate []float64               `json:"last_update_after"` // [nodes]
}

// CTANGradient is what is known of a parameter's gradient.
type CTANGradient struct {
	Norm  float64   `json:"norm"`
	First []float64 `json:"first"`
}

// OfCTAN is the stored run of CTAN, and the features of the toy graph's nodes for it: one number each, also of id 0.
func OfCTAN(t testing.TB) (CTAN, []float32) {
	t.Helper()
	var c CTAN
	load(t, "ctan.json", &c)
	toy, _ := Models(t)
	nodes := make([]float32, toy.NumNodes+1)
	for n := range nodes {
		nodes[n] = float32(math.Sin(0.37 * float64(n)))
	}
	return c, nodes
}

// Negatives are the destinations of the negatives of a batch of n events; their sources are the events'.
func (CTAN) Negatives(n int) []int32 {
	list := make([]int32, n)
	for i := range list {
		list[i] = int32(6 + (7*i+3)%4)
	}
	return list
}
