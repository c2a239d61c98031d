package models

import (
	"testing"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/eval"
	"github.com/dygmamba/dygmamba/protocol"
)

func TestContenders(t *testing.T) {
	for settings, want := range map[string]int{
		"":                                       4,
		"edge_bank_memory_mode=unlimited_memory": 1,
		"edge_bank_memory_mode=time_window_memory": 2,
		"time_window_mode=repeat_interval":         3, // the other memories have no window
	} {
		var list []string
		if settings != "" {
			list = append(list, settings)
		}
		if found, _, err := Contenders("edgebank", list...); err != nil || len(found) != want {
			t.Errorf("%q: %d variants, %v, want %d", settings, len(found), err, want)
		}
	}
	if _, spec, err := Contenders("edgebank", "batch_size=7"); err != nil || spec.Training.BatchSize != 7 ||
		spec.Order != protocol.Arrival {
		t.Errorf("shared by all: %+v, %v", spec, err)
	}
	for _, bad := range []string{"learning_rate=0.1", "edge_bank_memory_mode=all", "batch_size=0"} {
		if _, _, err := Contenders("edgebank", bad); err == nil {
			t.Errorf("%s: want an error", bad)
		}
	}
	if _, _, err := Contenders("dygmamba"); err == nil {
		t.Error("a model that must be trained is ready")
	}
}

// All variants are asked the same, row by row as if each were alone, and the progress comes to its end.
func TestCompareContenders(t *testing.T) {
	set, err := dataset.Periodic(dataset.PeriodicOptions{Sources: 30, Targets: 30, Events: 3000})
	if err != nil {
		t.Fatal(err)
	}
	list, _, err := Contenders("edgebank")
	if err != nil {
		t.Fatal(err)
	}
	p, err := eval.Open(set, eval.Options{})
	if err != nil {
		t.Fatal(err)
	}
	session, err := p.Session(t.Context(), list...)
	if err != nil {
		t.Fatal(err)
	}
	var done, total int64
	rows, err := session.Test(t.Context(), eval.Tests{
		OnBatch: func(d, all int64, _ protocol.Scenario, _ protocol.Negatives) { done, total = d, all },
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != 2*3*len(list) || done != total || total == 0 {
		t.Fatalf("%d rows, %d of %d events", len(rows), done, total)
	}
	for i, r := range rows {
		part, err := eval.PartOf(r.Scenario)
		if err != nil {
			t.Fatal(err)
		}
		alone, err := p.Evaluate(t.Context(), list[i%len(list)].Scorer, part, r.Strategy)
		if err != nil || r.Contender != list[i%len(list)].Name || alone.AP != r.AP || alone.Negatives != r.Negatives {
			t.Errorf("row %d is %+v, alone %+v, %v", i, r, alone, err)
		}
	}
}
