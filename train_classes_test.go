package dygmamba_test

import (
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/dygmamba/dygmamba"
	"github.com/dygmamba/dygmamba/checkpoint"
	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/predict"
	"github.com/dygmamba/dygmamba/protocol"
	"github.com/dygmamba/dygmamba/run"
)

// ages is a stream in which the class of a source says how many events it had before: none, up to three, or more. Every
// ninth event has no label.
func ages(t testing.TB) *dataset.Set {
	log := event.NewLog(0)
	for i := range 1500 {
		e := event.Event{Src: event.Node(100 + i/8), Dst: event.Node(1 + i*7%13), Time: float64(i), Label: 2}
		switch before := i % 8; {
		case before == 0:
			e.Label = 1
		case before < 4:
			e.Label = 3
		}
		if i%9 == 5 {
			e.Label = 0
		}
		if _, err := log.Append(e); err != nil {
			t.Fatal(err)
		}
	}
	return &dataset.Set{Name: "ages", Log: log, Sampling: protocol.Native, Classes: []string{"first", "old", "young"}}
}

// TestSeveralClasses: a softmax over classes learns a known function of the past. Events without a label are not asked
// about, and what was kept gives the same numbers, measured and asked event by event.
func TestSeveralClasses(t *testing.T) {
	set, dir := ages(t), t.TempDir()
	sum, err := dygmamba.Train(t.Context(), dygmamba.TrainOptions{
		Set: set, Device: newCPU(t), Task: protocol.NodeClassification, Dir: dir,
		Settings: append(slices.Clone(narrow), "num_epochs=25", "patience=25", "learning_rate=0.01", "dropout=0.1"),
	})
	if err != nil {
		t.Fatal(err)
	}
	r := sum.Runs[0].Results[0]
	labelled, right := 0, 0
	for i := 1275; i < 1500; i++ {
		if set.Log.At(i).Label != 0 {
			labelled++
		}
	}
	if r.Events != labelled || *r.Accuracy < 0.95 || *r.MacroF1 < 0.9 || r.AUC < 0.98 || len(r.Classes) != 3 {
		t.Errorf("accuracy %v, macro F1 %v, AUC %v of %d events, want %d: %+v", *r.Accuracy, *r.MacroF1, r.AUC,
			r.Events, labelled, r.Classes)
	}
	if len(r.Rules) != 3 || *r.Rules[0].Accuracy > 0.6 || *r.Rules[1].Accuracy > 0.9 {
		t.Errorf("rules: %+v", r.Rules)
	}
	file := filepath.Join(dir, "seed-0", run.CheckpointFile)
	again, err := dygmamba.Evaluate(t.Context(), file, dygmamba.EvaluateOptions{LoadOptions: predict.Options{Set: set}})
	if err != nil || *again[0].Accuracy != *r.Accuracy || again[0].AUC != r.AUC {
		t.Errorf("measured again: %+v, %v", again, err)
	}
	p := load(t, file, predict.Options{Set: set})
	if !slices.Equal(p.Classes(), set.Classes) {
		t.Errorf("the checkpoint tells %v apart", p.Classes())
	}
	var qs []predict.Query
	for i := 1275; i < 1500; i++ {
		e := set.Log.At(i)
		qs = append(qs, predict.Query{Src: e.Src, Dst: e.Dst, Time: e.Time})
	}
	said, err := p.Said(t.Context(), qs)
	if err != nil {
		t.Fatal(err)
	}
	for i, row := range said {
		c, sum := p.Answer(row), 0.0
		for _, x := range c.Classes {
			sum += x
		}
		if math.Abs(sum-1) > 1e-9 {
			t.Fatalf("shares are %v", c.Classes)
		}
		if label := set.Log.At(1275 + i).Label; label != 0 && c.Class == set.ClassName(label) {
			right++
		}
	}
	if got := float64(right) / float64(labelled); math.Abs(got-*r.Accuracy) > 1e-12 {
		t.Errorf("asked event by event accuracy is %v, want %v", got, *r.Accuracy)
	}
	if _, err := p.Score(t.Context(), qs); err == nil {
		t.Error("one logit of three classes")
	}
	if f, err := checkpoint.Load(filepath.Join(dir, "link", "seed-0", run.CheckpointFile)); err != nil ||
		strings.Contains(f.Meta["spec"], `"classes"`) {
		t.Errorf("the model of links knows of classes: %s, %v", f.Meta["spec"], err)
	}
}
