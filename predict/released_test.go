package predict

import (
	"encoding/csv"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/internal/golden"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/model/modeltest"
	"github.com/dygmamba/dygmamba/protocol"
	"github.com/dygmamba/dygmamba/sample"
	"github.com/dygmamba/dygmamba/tensor"
)

// remembered is what the released program's nodes remember after the whole of enron.
type remembered struct {
	Rows struct {
		Before, After sums
	} `json:"all_rows"`
	Nodes []struct {
		Node          event.Node
		Before, After struct {
			Updated float64 `json:"last_update"`
			Memory  []float64
		}
	}
}

type sums struct {
	Sum     float64
	Squares float64 `json:"sum_of_squares"`
	Updates float64 `json:"sum_of_last_updates"`
}

// TestReleasedTGN loads a TGN that the released program has trained, lets it observe all of enron, and compares its
// answers about what comes after, and what it remembers then.
func TestReleasedTGN(t *testing.T) {
	if testing.Short() {
		t.Skip("observes 125,235 events")
	}
	dir := golden.Shared(t, "spec", "golden", "predict-tgn-enron")
	set, err := dataset.Open(t.Context(), "enron", dataset.Options{DataDir: golden.Shared(t, "data")})
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	p, err := Load(filepath.Join(dir, "weights.safetensors"), Options{
		Set: set, Model: "tgn", Order: protocol.Arrival, Device: modeltest.Device(t, 0),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	var qs []Query
	for _, q := range numbers(t, filepath.Join(dir, "queries.csv")) {
		qs = append(qs, Query{Src: event.Node(q[0]), Dst: event.Node(q[1]), Time: q[2]})
	}
	logits, err := p.Score(t.Context(), qs)
	if err != nil {
		t.Fatal(err)
	}
	worst := 0.0
	want := numbers(t, filepath.Join(dir, "expected.csv"))
	for i, w := range want {
		worst = max(worst, math.Abs(p.Probability(logits[i])-w[1]))
	}
	if len(want) != 120 || !(worst <= 1e-4) {
		t.Errorf("of %d probabilities one is off by %v", len(want), worst)
	}
	t.Logf("%d probabilities, off by at most %.1e", len(want), worst)

	var memory remembered
	raw, err := os.ReadFile(filepath.Join(dir, "memory.json"))
	if err == nil {
		err = json.Unmarshal(raw, &memory)
	}
	if err != nil {
		t.Fatal(err)
	}
	m := p.model.(model.Memory)
	before := m.Snapshot()
	applyAll(t, m, set)
	after := m.Snapshot()
	for _, n := range memory.Nodes {
		same(t, "before", before, n.Node, n.Before.Memory, n.Before.Updated)
		same(t, "after", after, n.Node, n.After.Memory, n.After.Updated)
	}
	for what, total := range map[string]struct {
		state []tensor.Named
		want  sums
	}{"before": {before, memory.Rows.Before}, "after": {after, memory.Rows.After}} {
		got := sumsOf(total.state)
		far := math.Abs(got.Sum-total.want.Sum) > 1e-2 || math.Abs(got.Squares-total.want.Squares) > 1e-2
		if far || got.Updates != total.want.Updates {
			t.Errorf("%s: %+v, want %+v", what, got, total.want)
		}
	}
}

// applyAll makes every node's memory new, as it is when the node occurs again.
func applyAll(t *testing.T, m model.Memory, set *dataset.Set) {
	t.Helper()
	log := event.NewLog(set.NumNodes())
	for n := event.Node(1); int(n) < set.NumNodes(); n++ {
		if _, err := log.Append(event.Event{Src: n, Dst: n, Time: 2e8}); err != nil {
			t.Fatal(err)
		}
	}
	tp := grad.NewTape(m.Params().Device(), false)
	defer tp.Close()
	m.Commit(tp, &sample.Batch{Positives: log.Len(), Events: log.All()}, nil)
}

func same(t *testing.T, what string, state []tensor.Named, n event.Node, want []float64, updated float64) {
	t.Helper()
	memory, _ := tensor.Find(state, "memory")
	last, _ := tensor.Find(state, "last_updated")
	if at := float64(last.Data[2*n]); at != updated {
		t.Errorf("%s: node %d was last updated at %v, want %v", what, n, at, updated)
	}
	got := memory.Data[int(n)*memory.Shape[1]:][:memory.Shape[1]]
	if !slices.EqualFunc(got, want, func(x float32, y float64) bool { return math.Abs(float64(x)-y) < 1e-4 }) {
		t.Errorf("%s: node %d remembers %v, want %v", what, n, got[:5], want[:5])
	}
}

func sumsOf(state []tensor.Named) (s sums) {
	memory, _ := tensor.Find(state, "memory")
	last, _ := tensor.Find(state, "last_updated")
	for _, x := range memory.Data {
		s.Sum += float64(x)
		s.Squares += float64(x) * float64(x)
	}
	for _, x := range last.Data {
		s.Updates += float64(x)
	}
	return s
}

// numbers reads a csv file below its header.
func numbers(t *testing.T, path string) [][]float64 {
	t.Helper()
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
