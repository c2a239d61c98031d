package ctan

import (
	"math"
	"testing"

	"github.com/dygmamba/dygmamba/internal/golden"
)

// storedRun is what CTAN's official program computed on the toy graph: sixteen batches of five events, memory and
// neighbours carried on, weights never moved. Parameters are filled by the formula of Fill.
type storedRun struct {
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
	Params   []golden.Param `json:"params"`
	Start    float64        `json:"init_time"` // every node's last update at first
	Batches  []storedBatch  `json:"batches"`
	WithTanh struct {       // the same with a final tanh
		Batches []storedBatch `json:"batches"`
	} `json:"final_tanh"`
}

// storedBatch is one batch. Its loss is the sum of the mean over positives and the mean over negatives.
type storedBatch struct {
	Nodes      []int32                   `json:"nodes"`     // of the subgraph, in order
	Edges      [][3]int32                `json:"edge_list"` // neighbour, node, event from 0; by node, newest first
	Positive   []float64                 `json:"positive"`  // logits
	Negative   []float64                 `json:"negative"`
	Loss       float64                   `json:"loss"`
	Gradients  map[string]storedGradient `json:"gradients"`         // of one batch only
	Memory     []float64                 `json:"memory_after"`      // [nodes, width], of two batches only
	LastUpdate []float64                 `json:"last_update_after"` // [nodes]
}

// storedGradient is what is known of a parameter's gradient.
type storedGradient struct {
	Norm  float64   `json:"norm"`
	First []float64 `json:"first"`
}

// stored is the stored run of CTAN, and the features of the toy graph's nodes for it: one number each, also of id 0.
func stored(t testing.TB) (storedRun, []float32) {
	t.Helper()
	var c storedRun
	golden.Load(t, "ctan.json", &c)
	toy, _ := golden.Models(t)
	nodes := make([]float32, toy.NumNodes+1)
	for n := range nodes {
		nodes[n] = float32(math.Sin(0.37 * float64(n)))
	}
	return c, nodes
}

// Negatives are the destinations of the negatives of a batch of n events; their sources are the events'.
func (storedRun) Negatives(n int) []int32 {
	list := make([]int32, n)
	for i := range list {
		list[i] = int32(6 + (7*i+3)%4)
	}
	return list
}

func TestStored(t *testing.T) {
	c, nodes := stored(t)
	if len(c.Batches) != 16 || len(c.WithTanh.Batches) != 16 || len(c.Params) != 21 || len(nodes) != 10 {
		t.Errorf("ctan: %d and %d batches, %d parameters, %d nodes",
			len(c.Batches), len(c.WithTanh.Batches), len(c.Params), len(nodes))
	}
	tenth, last := c.Batches[9], c.Batches[15]
	if len(tenth.Gradients) != 19 || len(tenth.Memory) != 80 || len(last.LastUpdate) != 10 {
		t.Errorf("ctan: %d gradients, %d and %d numbers of memory",
			len(tenth.Gradients), len(tenth.Memory), len(last.LastUpdate))
	}
}
