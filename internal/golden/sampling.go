package golden

import "testing"

// Sampling is what the reference programs drew: from NumPy's and Python's generators, and on the toy graph.
type Sampling struct {
	NumPy struct { // consecutive draws of RandomState(2)
		Below10     []int32   `json:"randint_0_10_x8"`
		Below1000   []int32   `json:"randint_0_1000_x5"`
		Choose5of12 []int32   `json:"choice_12_size5_noreplace"`
		Repeat5of3  []int32   `json:"choice_3_size5_replace"`
		Uniform     []float64 `json:"random_sample_x3"`
		Weighted    []int32   `json:"choice_p"` // 6 of 4 with probabilities 0.1, 0.2, 0.3, 0.4
	} `json:"numpy_randomstate_seed2"`
	Python struct { // new nodes drawn with seed 2020 from the set of sources | the set of destinations
		Src     []int32 `json:"src"`
		Dst     []int32 `json:"dst"`
		Order   []int32 `json:"set_iteration_order_first40"`
		Size    int     `json:"set_size"`
		K       int     `json:"k"`
		Sampled []int32 `json:"sampled"`
	} `json:"python_random_sample_seed2020"`
	SmallPool  []int32      `json:"python_random_seed2020_small_pool"` // 7 of 0 … 29
	Historical ToyNegatives `json:"toy_graph_historical"`
	Inductive  ToyNegatives `json:"toy_graph_inductive"`
	Random     [][2][]int32 `json:"toy_graph_random_seed0"` // two batches of 10: sources as drawn, destinations
	Metrics    struct {
		Label    []int32   `json:"y"`
		Score    []float32 `json:"score"`
		AP       float64   `json:"ap"`
		AUC      float64   `json:"auc"`
		EqualAP  float64   `json:"all_equal_ap"`
		EqualAUC float64   `json:"all_equal_auc"`
	} `json:"metrics_with_ties"`
	Quantile struct {
		Times []float64 `json:"ts"`
		Q     []float64 `json:"q"`
		Value []float64 `json:"value"`
	} `json:"quantile"`
	Uniform   ToyNeighbors `json:"uniform_seed1"`
	TimeAware ToyNeighbors `json:"time_interval_aware_seed1_tsf1e-6"`
}

// ToyNegatives is three batches of 15 negatives for edges 30…44, 45…59 and 60…74 of the toy graph, counted from 0.
type ToyNegatives struct {
	Observed float64      `json:"last_observed_time"`
	Seed     uint64       `json:"seed"`
	Batches  [][2][]int32 `json:"negatives"`
}

// ToyNeighbors is what a random picker chose for the sources of the toy queries.
type ToyNeighbors struct {
	N    int       `json:"num_neighbors"`
	Node [][]int32 `json:"ids"`
	Edge [][]int32 `json:"edge_ids"`
}

// Draws is the stored sampling.
func Draws(t testing.TB) Sampling {
	t.Helper()
	var s Sampling
	Load(t, "sampling.json", &s)
	return s
}

// RealDraws is what the reference drew on a whole published data set, in batches of 200.
type RealDraws struct {
	Sizes struct {
		Train   int `json:"train"`
		Val     int `json:"val"`
		Test    int `json:"test"`
		NewVal  int `json:"new_node_val"`
		NewTest int `json:"new_node_test"`
	} `json:"sizes"`
	NewNodes         []int32       `json:"unseen_nodes_sorted"`
	TrainHash        string        `json:"train_edge_ids_sha256"`
	Random           RealNegatives `json:"test_random"`
	Historical       RealNegatives `json:"test_historical"`
	Inductive        RealNegatives `json:"test_inductive"`
	NewTestRandom    RealNegatives `json:"new_node_test_random"`
	NewTestInductive RealNegatives `json:"new_node_test_inductive"`
}

// RealNegatives is the head of two batches and the hash of them all: for every batch "u,v;u,v;…" and a newline.
type RealNegatives struct {
	Seed  uint64       `json:"seed"`
	First [][][2]int32 `json:"first_12_of_batches_0_and_1"`
	Hash  string       `json:"sha256_all"`
}

// DrawsOnRealData is the stored draws on uci, USLegis and enron.
func DrawsOnRealData(t testing.TB) map[string]RealDraws {
	t.Helper()
	var doc struct {
		Sets map[string]RealDraws `json:"sets"`
	}
	Load(t, "sampling-real.json", &doc)
	return doc.Sets
}
