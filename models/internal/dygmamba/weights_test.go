package dygmamba

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/dygmamba/dygmamba/checkpoint"
	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/index"
	"github.com/dygmamba/dygmamba/internal/golden"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/sample"
)

// TestReleasedWeights loads weights that the released program saved, learns their widths from the shapes, and compares
// its answers about the first 6,000 events of enron.
func TestReleasedWeights(t *testing.T) {
	dir := golden.Shared(t, "spec", "golden", "predict-dygmamba-enron")
	var about struct {
		Dataset string
		First   int `json:"first_events"`
		Config  struct{ L, P, K int }
	}
	raw, err := os.ReadFile(filepath.Join(dir, "case.json"))
	if err == nil {
		err = json.Unmarshal(raw, &about)
	}
	if err != nil {
		t.Fatal(err)
	}
	set, err := dataset.Open(context.Background(), about.Dataset, dataset.Options{DataDir: golden.Shared(t, "data")})
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()

	file, err := checkpoint.Load(filepath.Join(dir, "weights.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	shapes := map[string][]int{}
	for _, tensor := range file.Tensors {
		shapes[tensor.Name] = tensor.Shape
	}
	base, err := Factory.Spec("", model.Data{})
	if err != nil {
		t.Fatal(err)
	}
	spec, err := Factory.FromTensors(base, shapes, "max_input_sequence_length="+strconv.Itoa(about.Config.L),
		"max_interaction_times="+strconv.Itoa(about.Config.K))
	if err != nil {
		t.Fatal(err)
	}
	if c := spec.Config.(*Config); c.Patch != about.Config.P {
		t.Errorf("patch size %d is read from the shapes, want %d", c.Patch, about.Config.P)
	}
	dev := testDevice(t, 0)
	m, err := Factory.Build(model.Env{Device: dev, Node: set.Node, Edge: set.Edge, NumNodes: set.NumNodes()}, spec)
	if err != nil {
		t.Fatal(err)
	}
	if err := file.RestoreParams(m.Params()); err != nil {
		t.Fatal(err)
	}

	var queries []sample.Query
	for _, q := range table(t, filepath.Join(dir, "queries.csv")) {
		queries = append(queries, sample.Query{Src: int32(q[0]), Dst: int32(q[1]), Time: q[2]})
	}
	var b sample.Batch
	sample.Gather(index.Freeze(set.Log.Select(func(i int) bool { return i < about.First })), m.Plan(), queries, &b)
	out, _ := model.Logits(grad.NewTape(dev, false), m, m.Head(), &b)
	logits := make([]float32, out.Len())
	dev.Read(logits, out.Data)
	worst := 0.0
	for i, want := range table(t, filepath.Join(dir, "expected.csv")) {
		probability := 1 / (1 + math.Exp(-float64(logits[i])))
		worst = max(worst, math.Abs(probability-want[1]))
	}
	if !(worst <= 1e-4) {
		t.Errorf("a probability is off by %v", worst)
	}
	t.Logf("%d probabilities, off by at most %.1e", len(queries), worst)
}

// table reads the numbers of a csv file below its header.
func table(t *testing.T, path string) [][]float64 {
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var rows [][]float64
	for _, line := range lines[1:] {
		var row []float64
		for _, field := range line {
			x, err := strconv.ParseFloat(field, 64)
			if err != nil {
				t.Fatal(err)
			}
			row = append(row, x)
		}
		rows = append(rows, row)
	}
	return rows
}
