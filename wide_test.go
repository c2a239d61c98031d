package dygmamba_test

import (
	"testing"

	"github.com/dygmamba/dygmamba"
	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/device/cpu"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/models"
	"github.com/dygmamba/dygmamba/protocol"
)

// TestWideColumns: imported features that are wider than a model's default widen it, kinds included; published ones and
// narrow ones do not.
func TestWideColumns(t *testing.T) {
	log := event.NewLog(1)
	if _, err := log.Append(event.Event{Src: 1, Dst: 2, Time: 1, Kind: 1}); err != nil {
		t.Fatal(err)
	}
	wide := func(cols int) dataset.Features {
		return dataset.Features{Rows: 3, Cols: cols, Data: make([]float32, 3*cols)}
	}
	dev := cpu.New(cpu.Options{Threads: 1})
	defer dev.Close()
	for _, name := range models.Names(true) {
		set := &dataset.Set{Name: "wide", Log: log, Edge: wide(230), Node: wide(200), Sampling: protocol.Native,
			Kinds: []string{"a", "b", "c"}}
		spec, err := dygmamba.NewSpec(name, "", set)
		if err != nil {
			t.Fatal(name, err)
		}
		m, err := models.Get(name).Build(model.Env{Device: dev, Edge: set.Edge, Node: set.Node, NumNodes: 3,
			Train: func() (event.Span, error) { return log.All(), nil }}, spec)
		if err != nil {
			t.Errorf("%s does not take 230 columns: %v", name, err)
			continue
		}
		m.Close()
		set.Edge, set.Node, set.Kinds = wide(4), wide(4), nil
		narrow, err := dygmamba.NewSpec(name, "", set)
		if err != nil {
			t.Fatal(name, err)
		}
		set.Sampling, set.Edge = protocol.Reference, wide(230)
		published, err := dygmamba.NewSpec(name, "", set)
		if err != nil {
			t.Fatal(name, err)
		}
		if a, b := width(narrow), width(published); a > 172 || b > 172 && b != 230 {
			t.Errorf("%s is %d wide for 4 columns, %d for published data", name, a, b)
		}
	}
}

func width(s model.Spec) int {
	for _, x := range model.Settings(s.Config) {
		if n, ok := x.Value.(int); ok && x.Key == "edge_feat_dim" {
			return n
		}
	}
	return 0
}
