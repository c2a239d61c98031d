package servebench

import (
	"testing"
	"time"

	"github.com/dygmamba/dygmamba"
	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/eventlog"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/model/modeltest"
	"github.com/dygmamba/dygmamba/models"
	"github.com/dygmamba/dygmamba/predict"
	"github.com/dygmamba/dygmamba/protocol"
	"github.com/dygmamba/dygmamba/run"
	"github.com/dygmamba/dygmamba/serve"
)

// trained trains a small model for one epoch.
func trained(t *testing.T, name string, order protocol.Order) (set *dataset.Set, path string) {
	t.Helper()
	spec, set := modeltest.Small(t, name, models.Get(name))
	if order != "" {
		spec.Order = order
	}
	return set, trainedAs(t, name, spec, set)
}

func trainedAs(t *testing.T, name string, spec model.Spec, set *dataset.Set) (path string) {
	t.Helper()
	spec.Training.Epochs = 1
	dir := t.TempDir()
	if _, err := dygmamba.Train(t.Context(), dygmamba.TrainOptions{Set: set, Model: name, Task: spec.Task, Spec: &spec,
		Dir: dir, Threads: 1}); err != nil {
		t.Fatal(err)
	}
	return run.SeedDir(dir, 0)
}

// Every model answers through a server, event by event, as it does offline: to the last bit. So it does through one
// that is disturbed.
func TestVerify(t *testing.T) {
	for _, name := range models.Names(true) {
		orders := []protocol.Order{""}
		if models.Get(name).Remembers {
			orders = protocol.Orders()
		}
		for _, order := range orders {
			t.Run(name+"/"+string(order), func(t *testing.T) {
				t.Parallel() // most of it is waiting for disks
				set, path := trained(t, name, order)
				v, err := Verify(t.Context(), Verification{Set: set, Checkpoint: path,
					Load: predict.Options{Threads: 1}, From: set.Log.Len() * 2 / 3})
				if err != nil {
					t.Fatal(err)
				}
				if !v.Same(0) || v.Queries != 2*v.Replayed || v.Replayed < 20 || v.Model != name || v.Order != order {
					t.Errorf("%+v", v)
				}
				checkDisturbed(t, set, path, name, order)
			})
		}
	}
}

// So does every kind of model of the task next, with shares, rates and windows.
func TestVerifyNext(t *testing.T) {
	for _, name := range append(model.MadeFor(protocol.Next), "dygmamba", "tgn", "walkmamba") {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			spec, set := modeltest.SmallNext(t, name, models.Get(name))
			path := trainedAs(t, name, spec, set)
			v, err := Verify(t.Context(), Verification{Set: set, Checkpoint: path,
				Load: predict.Options{Threads: 1}, From: set.Log.Len() * 2 / 3})
			if err != nil {
				t.Fatal(err)
			}
			if !v.Same(0) || v.Queries != 2*v.Replayed || v.Replayed < 20 || v.Model != name || !(v.WhoBits > 0) ||
				v.AP != 0 {
				t.Errorf("%+v", v)
			}
			checkDisturbed(t, set, path, name, spec.Order)
		})
	}
}

// Each number of an answer is compared.
func TestNote(t *testing.T) {
	for k := range len(answer{}) {
		var v Verdict
		online, offline := answer{1, 2, 3, 4}, answer{1, 2, 3, 4}
		v.note(predict.Query{}, online, offline)
		online[k] += 0.5
		if v.note(predict.Query{}, online, offline); v.Queries != 2 || v.Different != 1 || v.Largest != 0.5 {
			t.Errorf("number %d differs: %+v", k, v)
		}
	}
}

// It notices a server that answers with another model.
func TestVerifyNotices(t *testing.T) {
	set, path := trained(t, dygmamba.DefaultModel, "")
	_, other := trained(t, models.Names(true)[0], "")
	v := Verification{Set: set, Checkpoint: path, Load: predict.Options{Threads: 1}}
	from := testStart(set.Log)
	qs := questions(set, from)
	var verdict Verdict
	want, err := v.offline(t.Context(), from, qs, &verdict)
	if err != nil {
		t.Fatal(err)
	}
	v.Checkpoint = other
	if err := v.online(t.Context(), from, qs, want, &verdict); err != nil || verdict.Same(1e-4) ||
		verdict.First == "" {
		t.Errorf("%+v, %v", verdict, err)
	}
}

// Every phase of the measurement has requests, all of them answered.
func TestBench(t *testing.T) {
	set, path := trained(t, dygmamba.DefaultModel, "")
	log := eventlog.NewMemory()
	b := Bench{For: 100 * time.Millisecond, Restart: 20_000, Dir: t.TempDir()}
	b.Options = serve.Options{Set: set, Checkpoint: path, Log: log, Applied: log.Forget,
		Load: predict.Options{Threads: 1}}
	r, err := b.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if r.Alone.Requests == 0 || r.Rank.Requests == 0 || r.Score.Requests == 0 || r.Arrived == 0 ||
		r.Single.PerSecond == 0 || r.Batched.PerSecond == 0 || r.Events != set.Log.Len() ||
		r.Restart == nil || r.Restart.Bytes == 0 || r.Restart.Restart == 0 {
		t.Errorf("%+v", r)
	}
}
