package ctan

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/device/cpu"
	"github.com/dygmamba/dygmamba/internal/pcg64"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/model/modeltest"
	"github.com/dygmamba/dygmamba/protocol"
)

// TestParameterCount compares with the sizes of the official program, and the mebibytes of the paper's table.
func TestParameterCount(t *testing.T) {
	for edges, mebibytes := range map[int]string{
		0: "0.4496", 2: "0.4506", 4: "0.4515", 32: "0.4652", 100: "0.4984", 172: "0.5336",
	} {
		c := Default
		c.EdgeDim = edges
		n, want := declare(c, 0).Params().Count(), 117857+128*edges
		if n != want || fmt.Sprintf("%.4f", 4*float64(n)/(1<<20)) != mebibytes {
			t.Errorf("event features of %d columns: %d parameters, want %d, %s MiB", edges, n, want, mebibytes)
		}
	}
}

// TestInitialWeights compares every initial value with PyTorch's after manual_seed(3).
func TestInitialWeights(t *testing.T) {
	drawn, err := os.ReadFile(filepath.Join("..", "..", "..", "nn", "testdata", "draws.txt"))
	if err != nil {
		t.Fatal(err)
	}
	dev := cpu.New(cpu.Options{Threads: 1})
	defer dev.Close()
	c := Default
	c.EdgeDim = 100
	m, err := Factory.Build(model.Env{Device: dev, Seed: 3}, model.Spec{Config: &c})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	list := m.Params().All()
	for line := range strings.Lines(string(drawn)) {
		f := strings.Fields(line)
		if f[0] != "ctan" {
			continue
		}
		if len(list) == 0 {
			t.Fatalf("%s is missing", f[1])
		}
		q := list[0]
		list = list[1:]
		var b []byte
		b, err := binary.Append(b, binary.LittleEndian, m.Params().Read(q))
		if err != nil {
			t.Fatal(err)
		}
		if sum := fmt.Sprintf("%x", sha256.Sum256(b))[:16]; q.Name != f[1] || sum != f[3] {
			t.Errorf("%s starts with sum %s, in PyTorch %s with %s", q.Name, sum, f[1], f[3])
		}
	}
	if len(list) > 0 {
		t.Errorf("PyTorch does not have %s", list[0].Name)
	}
}

// TestNodeFeatures: a node's feature is its number of the official program's generator, whatever the run's seed.
func TestNodeFeatures(t *testing.T) {
	dev := cpu.New(cpu.Options{Threads: 1})
	defer dev.Close()
	for seed := range uint64(2) {
		m, err := Factory.Build(model.Env{Device: dev, Seed: seed, NumNodes: 6}, model.Spec{Config: &Default})
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		got := make([]float32, 6)
		dev.Read(got, m.(*Model).Node.Table().Data)
		want := []float32{0}
		for s := pcg64.New(9); len(want) < 6; {
			want = append(want, s.Float32())
		}
		if text(got) != text(want) {
			t.Errorf("seed %d: features %v, want %v", seed, got, want)
		}
	}
}

func TestPresets(t *testing.T) {
	for _, tt := range []struct {
		preset   string
		data     model.Data
		want     string // the preset that is taken
		order    protocol.Order
		patience int
		integer  bool
	}{
		{"", model.Data{Name: "uci", EdgeDim: 100}, "paper", protocol.Arrival, 20, true},
		{"released", model.Data{Name: "uci", EdgeDim: 100}, "released", protocol.Arrival, 50, true},
		{"strict", model.Data{Name: "uci", EdgeDim: 100}, "strict", protocol.Strict, 20, true},
		{"", model.Data{Name: "mine", Imported: true, EdgeDim: 3}, "strict", protocol.Strict, 20, false},
		{"paper", model.Data{Name: "mine", Imported: true}, "paper", protocol.Arrival, 20, false},
	} {
		s, err := Factory.Spec(tt.preset, tt.data)
		if err != nil {
			t.Fatal(err)
		}
		want := Default
		want.EdgeDim, want.IntegerTimes = tt.data.EdgeDim, tt.integer
		if c := *s.Config.(*Config); c != want || s.Preset != tt.want || s.Order != tt.order {
			t.Errorf("%q for %+v: %s in %s order, %+v, want %+v", tt.preset, tt.data, s.Preset, s.Order, c, want)
		}
		training := model.Standard
		training.Epochs, training.Patience, training.WeightDecay = 1000, tt.patience, 1e-6
		training.Calibrate = tt.want == "strict" // those of published programs say what they said
		if !reflect.DeepEqual(s.Training, training) {
			t.Errorf("%q for %+v: %+v, want %+v", tt.preset, tt.data, s.Training, training)
		}
	}
	if len(Factory.Presets) != 3 || Factory.Presets[0] != "released" || !Factory.Remembers {
		t.Errorf("presets %v, remembers %v", Factory.Presets, Factory.Remembers)
	}
}

func TestBadSettings(t *testing.T) {
	modeltest.Refuses(t, Factory, map[string]string{
		"num_iters=0":         "num_iters is 0, must be at least 1",
		"num_neighbors=2000":  "num_neighbors is 2000, must be at least 1 and at most 1024",
		"memory_dim=-1":       "memory_dim is -1, must be at least 1",
		"time_feat_dim=0":     "time_feat_dim is 0",
		"edge_feat_dim=-1":    "edge_feat_dim is -1, must be at least 0",
		"memory_dim=99999999": "at most 65536",
		"epsilon=0":           "epsilon is 0, must be above 0",
		"epsilon=NaN":         "epsilon is NaN",
		"gamma=-0.1":          "gamma is -0.1, must be at least 0",
		"gamma=Inf":           "gamma is +Inf",
	})
	dev := cpu.New(cpu.Options{Threads: 1})
	defer dev.Close()
	env := model.Env{Device: dev, Edge: dataset.Features{Rows: 1, Cols: 3, Data: []float32{1, 2, 3}}}
	want := "edge features have 3 columns, edge_feat_dim is 0"
	_, err := Factory.Build(env, model.Spec{Config: &Default})
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("wider features than weights: %v", err)
	}
	if _, err := Factory.Build(env, model.Spec{Config: &Config{}}); err == nil {
		t.Error("an empty configuration was accepted")
	}
}

func TestBrief(t *testing.T) {
	c := Default
	if got, want := c.Brief(), "5 steps, ε 0.5, γ 0.5, 5 neighbours, width 128"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	c.FinalTanh, c.IntegerTimes = true, false
	if got := c.Brief(); !strings.HasSuffix(got, ", final tanh, exact times") {
		t.Errorf("%q", got)
	}
	if len(c.Notes()) == 0 {
		t.Error("nobody is told that node features are random")
	}
}

// TestOfficialWeights recognises the official program's tensors, its memory among them.
func TestOfficialWeights(t *testing.T) {
	base, err := Factory.Spec("released", model.Data{EdgeDim: 7})
	if err != nil {
		t.Fatal(err)
	}
	want := *base.Config.(*Config)
	want.Width, want.TimeDim, want.EdgeDim, want.Iters = 96, 12, 4, 3
	shapes := map[string][]int{"memory.memory": {50, 96}, "memory.last_update": {50}}
	maps.Copy(shapes, modeltest.Shapes(declare(want, 0)))
	s, err := Factory.FromTensors(base, maps.Clone(shapes), "num_iters=3")
	if err != nil || *s.Config.(*Config) != want {
		t.Errorf("%+v, %v, want %+v", s.Config, err, want)
	}
	for _, tt := range []struct {
		tensor string
		shape  []int // nil: it is missing
		want   string
	}{
		{"gnn.aconv.W", nil, "tensor gnn.aconv.W is missing: these are not the weights of CTAN"},
		{"gnn.aconv.W", []int{5}, "tensor gnn.aconv.W is [5], want two dimensions"},
		{"gnn.time_enc.lin.weight", []int{0, 1}, "want two dimensions"},
		{"gnn.aconv.phi.lin_edge.weight", []int{96, 9}, "time codes alone are 12 wide"},
		{"gnn.enc_x.weight", []int{96, 99}, "gnn.enc_x.weight is [96 99], the configuration makes it [96 97]"},
		{"gnn.other", []int{1}, "tensor gnn.other [1] has no place"},
	} {
		changed := maps.Clone(shapes)
		if changed[tt.tensor] = tt.shape; tt.shape == nil {
			delete(changed, tt.tensor)
		}
		if _, err := Factory.FromTensors(base, changed); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s %v: %v, want %q", tt.tensor, tt.shape, err, tt.want)
		}
	}
}
