package dygmamba_test

import (
	"bytes"
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/dygmamba/dygmamba"
	"github.com/dygmamba/dygmamba/checkpoint"
	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/eval"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/predict"
	"github.com/dygmamba/dygmamba/protocol"
	"github.com/dygmamba/dygmamba/run"
	"github.com/dygmamba/dygmamba/train"
)

// beginners is a stream in which the first event of every source has the label.
func beginners(t testing.TB) *dataset.Set {
	log := event.NewLog(0)
	for i := range 1000 {
		e := event.Event{Src: event.Node(100 + i/8), Dst: event.Node(1 + i*7%13), Time: float64(i)}
		if i%8 == 0 {
			e.Label = 1
		}
		if _, err := log.Append(e); err != nil {
			t.Fatal(err)
		}
	}
	return &dataset.Set{Name: "beginners", Log: log, Sampling: protocol.Native}
}

// TestNodeClassification trains a model on links and a classifier on what it says, which can tell sources without a
// past from others.
func TestNodeClassification(t *testing.T) {
	set, dir := beginners(t), t.TempDir()
	o := dygmamba.TrainOptions{
		Set: set, Device: newCPU(t), Task: protocol.NodeClassification, Dir: dir,
		Settings: append(append([]string{}, narrow...), "num_epochs=6", "learning_rate=0.01", "dropout=0.1"),
	}
	sum, err := dygmamba.Train(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	r := sum.Runs[0].Results
	if len(r) != 1 || r[0].AUC < 0.95 || r[0].Events != 150 || r[0].Positives != 18 ||
		sum.Runs[0].Task != protocol.NodeClassification {
		t.Errorf("%+v", r)
	}
	links := filepath.Join(dir, "link", "seed-0", run.CheckpointFile)
	labels := filepath.Join(dir, "seed-0", run.CheckpointFile)
	sameBackbone(t, links, labels)

	// What was kept gives the same: measured, and asked event by event.
	again, err := dygmamba.Evaluate(t.Context(), labels,
		dygmamba.EvaluateOptions{LoadOptions: predict.Options{Set: set}})
	if err != nil || len(again) != 1 || again[0].AUC != r[0].AUC {
		t.Errorf("measured again: %+v, %v, want AUC %v", again, err, r[0].AUC)
	}
	p := load(t, labels, predict.Options{Set: set})
	var qs []predict.Query
	for i := 850; i < 1000; i++ {
		e := set.Log.At(i)
		qs = append(qs, predict.Query{Src: e.Src, Dst: e.Dst, Time: e.Time})
	}
	var pos, neg []float32
	for i, x := range score(t, p, qs) {
		if set.Log.At(850+i).Label != 0 {
			pos = append(pos, eval.Sigmoid(x))
		} else {
			neg = append(neg, eval.Sigmoid(x))
		}
	}
	var m eval.Meter
	if _, auc := m.Score(pos, neg); math.Abs(auc-r[0].AUC) > 1e-12 {
		t.Errorf("asked event by event AUC is %v, want %v", auc, r[0].AUC)
	}

	// Interrupted again and again it ends with the same bytes.
	cut := t.TempDir()
	o.Dir, o.Backbone, o.Resume, o.SaveEvery = cut, filepath.Join(dir, "link"), true, time.Nanosecond
	for cuts := 1; ; cuts++ {
		ctx, cancel := context.WithCancel(t.Context())
		steps := 0
		o.OnStep = func(uint64, train.Step) {
			if steps++; steps == 3+cuts%4 {
				cancel()
			}
		}
		_, err := dygmamba.Train(ctx, o)
		cancel()
		if err == nil {
			break
		}
		if !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	}
	want, _ := os.ReadFile(labels)
	if got, err := os.ReadFile(filepath.Join(cut, "seed-0", run.CheckpointFile)); err != nil ||
		!bytes.Equal(got, want) {
		t.Errorf("after interruptions the checkpoint differs (%v)", err)
	}
}

// sameBackbone checks that a classifier's checkpoint has the very weights of the model that it was trained on.
func sameBackbone(t *testing.T, links, labels string) {
	t.Helper()
	a, err := checkpoint.Load(links)
	if err != nil {
		t.Fatal(err)
	}
	b, err := checkpoint.Load(labels)
	if err != nil {
		t.Fatal(err)
	}
	rest, own := b.Part(train.ClassifierPrefix)
	if len(own.Tensors) != 6 || len(rest.Tensors) != len(a.Tensors) {
		t.Errorf("%d tensors of the classifier and %d of the model, want 6 and %d",
			len(own.Tensors), len(rest.Tensors), len(a.Tensors))
	}
	for i, x := range a.Tensors {
		for k, v := range x.Data {
			if rest.Tensors[i].Name != x.Name || rest.Tensors[i].Data[k] != v {
				t.Fatalf("%s moved", x.Name)
			}
		}
	}
}

func TestNothingToClassify(t *testing.T) {
	set, err := dataset.Periodic(dataset.PeriodicOptions{Events: 300})
	if err != nil {
		t.Fatal(err)
	}
	_, err = dygmamba.Train(t.Context(),
		dygmamba.TrainOptions{Set: set, Task: protocol.NodeClassification, Settings: narrow})
	if !errors.Is(err, eval.ErrNoLabels) {
		t.Errorf("%v, want %v", err, eval.ErrNoLabels)
	}
}
