package tgat

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/device/cpu"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/sample"
)

// TestSizes compares with the parameters of the released program.
func TestSizes(t *testing.T) {
	backbone, total := 0, 0
	for _, s := range table(Default) {
		n := 1
		for _, d := range s.Dims {
			n *= d
		}
		if strings.HasPrefix(s.Name, "0.") {
			backbone += n
		}
		total += n
	}
	if backbone != 993432 || total != 1052945 {
		t.Errorf("%d parameters, %d of the backbone, want 1052945 and 993432", total, backbone)
	}
}

func TestPresets(t *testing.T) {
	for _, tt := range []struct {
		preset, data string
		dropout      float64
		strategy     string
		epochs       int
		order        string
	}{
		{"released", "reddit", 0.1, sample.Uniform, 100, ""},
		{"released", "enron", 0.2, sample.Recent, 100, ""},
		{"paper", "wikipedia", 0.1, sample.Recent, 200, ""},
		{"paper", "CanParl", 0.2, sample.Uniform, 200, ""},
		{"paper", "UNtrade", 0.1, sample.Uniform, 200, ""},
		{"paper", "UNvote", 0.2, sample.Recent, 200, ""},
		{"paper", "my own", 0.1, sample.Recent, 200, ""},
	} {
		s, err := Factory.Spec(tt.preset, model.Data{Name: tt.data})
		if err != nil {
			t.Fatal(err)
		}
		c := s.Config.(*Config)
		want := []any{tt.dropout, tt.strategy, tt.epochs, tt.order}
		if diff := cmp.Diff(want, []any{c.Dropout, c.Strategy, s.Training.Epochs, s.Order}); diff != "" {
			t.Errorf("%s on %s: %s", tt.preset, tt.data, diff)
		}
	}
	for _, tt := range []struct {
		data   model.Data
		preset string
	}{
		{model.Data{Name: "enron"}, "paper"}, {model.Data{}, "paper"},
		{model.Data{Name: "mine", Imported: true}, "paper"},
	} {
		s, err := Factory.Spec("", tt.data)
		if err != nil || s.Preset != tt.preset || s.Config.(*Config).ExactTimes != tt.data.Imported {
			t.Errorf("%+v: preset %s, %+v, %v", tt.data, s.Preset, s.Config, err)
		}
	}
}

func TestBadConfigurations(t *testing.T) {
	for setting, want := range map[string]string{
		"time_feat_dim=1":              "must be at least 2",
		"node_feat_dim=0":              "node_feat_dim is 0, must be at least 1",
		"edge_feat_dim=1000000":        "must be at least 1 and at most 65536",
		"dropout=1":                    "must be at least 0 and below 1",
		"dropout=NaN":                  "dropout is NaN",
		"num_heads=3":                  "must divide node_feat_dim + time_feat_dim = 272",
		"num_layers=9":                 "num_layers is 9, must be at least 1 and at most 8",
		"num_neighbors=-1":             "num_neighbors is -1",
		"sample_neighbor_strategy=old": `neighbour strategy "old"`,
		"last_message=time":            `no key "last_message"`,
	} {
		if _, err := Factory.Spec("", model.Data{}, setting); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", setting, err, want)
		}
	}
	dev := cpu.New(cpu.Options{Threads: 1})
	defer dev.Close()
	wide := dataset.Features{Rows: 1, Cols: 173, Data: make([]float32, 173)}
	if _, err := New(model.Env{Device: dev, Edge: wide}, Default); err == nil {
		t.Error("event features wider than the model were taken")
	}
}

// TestConfigFromTensors recognises weights of the released program by their shapes.
func TestConfigFromTensors(t *testing.T) {
	c := Default
	c.NodeDim, c.EdgeDim, c.TimeDim = 24, 10, 8
	c.Layers, c.Heads, c.Neighbors = 3, 4, 7
	shapes := map[string][]int{}
	for _, s := range table(c) {
		shapes[s.Name] = s.Dims
	}
	base, err := Factory.Spec("released", model.Data{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := Factory.FromTensors(base, shapes, "num_heads=4", "num_neighbors=7")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&c, s.Config); diff != "" {
		t.Error(diff)
	}
	if _, err := Factory.FromTensors(base, shapes, "time_feat_dim=12", "num_heads=4", "num_neighbors=7"); err == nil {
		t.Error("a setting that contradicts the shapes was taken")
	}
	delete(shapes, "1.fc2.bias")
	_, err = Factory.FromTensors(base, shapes, "num_heads=4", "num_neighbors=7")
	if err == nil || !strings.Contains(err.Error(), "1.fc2.bias is missing") {
		t.Errorf("a missing tensor: %v", err)
	}
	if _, err := Factory.FromTensors(base, map[string][]int{"x": {1}}); err == nil {
		t.Error("a file without any of the model's tensors is recognised")
	}
}
