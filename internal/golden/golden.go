// Package golden answers: what did the reference programs compute?
//
// Its numbers come from the released PyTorch programs, run on a CPU in float32 on a toy graph of 80 events.
// No weights are stored: parameters are filled by a formula (see Fill). Only tests import this package.
package golden

import (
	"embed"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"
)

//go:embed testdata/*.json
var files embed.FS

// Matrix is a dense row-major matrix; Data nil: all zero.
type Matrix struct {
	Rows, Cols int
	Data       []float32
}

// Toy is the graph all of the golden models look at, and the queries they answer.
type Toy struct {
	Src       []int32   `json:"src"`
	Dst       []int32   `json:"dst"`
	Time      []float64 `json:"ts"`
	Edge      []int32   `json:"edge_ids"`
	NumNodes  int       `json:"num_nodes"` // the largest node id
	QuerySrc  []int32   `json:"query_src"`
	QueryDst  []int32   `json:"query_dst"`
	QueryTime []float64 `json:"query_t"`

	NodeFeatures Matrix `json:"-"` // row 0 is padding
	EdgeFeatures Matrix `json:"-"`
}

// Param names a tensor and its shape.
type Param struct {
	Name  string
	Shape []int
}

// Len is the number of the parameter's elements.
func (p Param) Len() int {
	n := 1
	for _, s := range p.Shape {
		n *= s
	}
	return n
}

// UnmarshalJSON reads a pair [name, shape].
func (p *Param) UnmarshalJSON(b []byte) error {
	return json.Unmarshal(b, &[]any{&p.Name, &p.Shape})
}

// Model is a reference model with its answers to the toy queries.
type Model struct {
	Config       json.RawMessage `json:"config"` // under the option names of the reference
	Params       []Param         `json:"params"` // in the order that numbers them for Fill
	Outputs      [][]float64     `json:"outputs"`
	OutputShapes [][]int         `json:"output_shapes"`
	MemoryAfter  []float64       `json:"memory_after"`       // memory models: the memory after three batches,
	LastUpdated  []float64       `json:"last_updated_after"` // and each node's last update
}

// Gradient is what is known of a parameter's gradient.
type Gradient struct {
	L2    float64   `json:"l2"`
	First []float64 `json:"first"` // its first elements
}

// Learning is a model's loss on the toy queries with labels 1, 0, 1, 0, 1, 0: at first, and after one, two and three
// Adam steps with rate 1e-3 and the time encoder frozen. Gradient names start "0." for the backbone and "1." for the
// predictor.
type Learning struct {
	Losses    []float64           `json:"losses_after_0_1_2_3_adam_steps"`
	Gradients map[string]Gradient `json:"gradients_first_step"`
}

// Models is the toy graph and the named reference models' answers.
func Models(t testing.TB) (Toy, map[string]Model) {
	t.Helper()
	var doc struct {
		Graph  Toy              `json:"graph"`
		Models map[string]Model `json:"models"`
	}
	Load(t, "models.json", &doc)
	doc.Graph.NodeFeatures = features(doc.Graph.NumNodes+1, math.Sin, 0.11)
	doc.Graph.EdgeFeatures = features(len(doc.Graph.Edge)+1, math.Cos, 0.13)
	return doc.Graph, doc.Models
}

// Gradients tells how each model without memory learns.
func Gradients(t testing.TB) map[string]Learning {
	t.Helper()
	var doc struct {
		Models map[string]Learning `json:"models"`
	}
	Load(t, "gradients.json", &doc)
	return doc.Models
}

// Shared is the path of a file or folder that is too large for the repository, kept in a folder named shared beside it.
// It skips the test when the file is not there.
func Shared(t testing.TB, elem ...string) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for ; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
		if dir == filepath.Dir(dir) {
			t.Fatal("no go.mod above the working directory")
		}
	}
	path := filepath.Join(append([]string{filepath.Dir(dir), "shared"}, elem...)...)
	if _, err := os.Stat(path); err != nil {
		t.Skipf("needs %s: %v", path, err)
	}
	return path
}

// Load reads a stored document, such as "models.json".
func Load(t testing.TB, name string, into any) {
	t.Helper()
	b, err := files.ReadFile("testdata/" + name)
	if err == nil {
		err = json.Unmarshal(b, into)
	}
	if err != nil {
		t.Fatal(fmt.Errorf("golden %s: %w", name, err))
	}
}
