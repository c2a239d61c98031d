package modeltest

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/dygmamba/dygmamba/checkpoint"
	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/device/cpu"
	"github.com/dygmamba/dygmamba/eval"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/internal/recorded"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/run"
	"github.com/dygmamba/dygmamba/train"
)

// run is a training of an entry.
func (e *entry) run(spec model.Spec, dir string, dev device.Device, proto *eval.Protocol) *train.Run {
	return &train.Run{
		Model: e.name, Factory: e.factory, Spec: spec, Set: e.world.set, Protocol: proto, Device: dev,
		Seed: 1, Dir: dir, TestEvery: 1,
	}
}

// cut is an interruption: after the n-th batch, in one attempt, of passes over a part.
type cut struct {
	part *event.Log
	n    int
}

// interruptions are those of a training of two epochs, one after another: in training, in either validation, in either
// test that is looked at meanwhile, at the very end of an epoch's steps, and in the final tests.
func (w *world) interruptions() []cut {
	s := w.split
	batches := func(l *event.Log) int { return (l.Len() + batchSize - 1) / batchSize }
	train, val, test := batches(s.Train), batches(s.Val), batches(s.Test)
	return []cut{ // every run asks about Val once when it begins
		{s.Train, 2}, {s.NewVal, 1}, {s.Val, val + 1}, {s.Val, 2 * val}, {s.Test, 1}, {s.NewTest, 1},
		{s.Train, 1}, {s.Train, train - 1}, {s.NewVal, 1}, {s.Val, val + 1}, {s.Test, 1}, // of the second epoch
		{s.Test, test + 1}, {s.NewTest, 1},
	}
}

// resumes: a training that is interrupted again and again ends with the bytes of one that is not, whatever the number
// of threads, and in both orders of a memory.
func resumes(t testing.TB, e *entry) {
	if !e.factory.Trains {
		return
	}
	e.inOrders(e.forms[len(e.forms)-1:], func(spec model.Spec) { e.resumesIn(t, spec) })
}

func (e *entry) resumesIn(t testing.TB, spec model.Spec) {
	t.Helper()
	complete := func(dir string, dev device.Device, tell func(train.Step)) run.Result {
		_, proto := e.interrupted(t, spec.Order, 0, 0)
		job := e.run(spec, dir, dev, proto)
		if job.Resume, job.OnStep = true, tell; tell != nil {
			job.SaveEvery = time.Nanosecond
		}
		r, err := job.Train(t.Context())
		must(t, err)
		return r
	}
	whole, killed := t.TempDir(), t.TempDir()
	want := complete(whole, e.devices[1], func(s train.Step) {
		if s.Epoch == 2 && s.Done == 3*batchSize { // all that is left when the program is killed now
			must(t, os.CopyFS(killed, os.DirFS(whole)))
		}
	})
	if first, last := want.History[0].Loss, want.History[len(want.History)-1].Loss; first == last {
		t.Errorf("the loss stays at %v", last)
	}
	compare := func(how, dir string, dev device.Device) {
		t.Helper()
		compareRuns(t, spec, how, complete(dir, dev, nil), want, dir, whole)
	}
	compare("after it was killed", killed, e.devices[1])
	if !onGPU() {
		compare("on one thread", t.TempDir(), e.devices[0])
		compare("with recorded steps", t.TempDir(), recorded.New(e.devices[0]))
	}
	cutUp := t.TempDir()
	for i, c := range e.world.interruptions() {
		if err := e.interrupt(t, spec, cutUp, c, i%2 == 0); !errors.Is(err, context.Canceled) {
			t.Fatalf("interruption %d: %v", i, err)
		}
	}
	compare("with interruptions", cutUp, e.devices[2])
	if dev, ok := e.devices[2].(*cpu.Device); ok {
		within := t.TempDir()
		e.stop(t, spec, within, dev)
		compare("with interruptions of steps and answers", within, dev)
	}
}

// stop goes on with a training that is stopped in the middle of a matrix product, again and again, each time after
// twice as many products, until it ends.
func (e *entry) stop(t testing.TB, spec model.Spec, dir string, dev *cpu.Device) {
	t.Helper()
	for products := 3; ; products *= 2 {
		ctx, proto := e.interrupted(t, spec.Order, 0, 0)
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		job := e.run(spec, dir, &stopping{dev, products, cancel}, proto)
		job.Resume = true
		_, err := job.Train(ctx)
		if err == nil {
			return
		}
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("stopped at product %d: %v", products, err)
		}
	}
}

// stopping is a device that is told to stop when a number of products is left to compute.
type stopping struct {
	*cpu.Device
	left int
	stop func()
}

func (s *stopping) MatMul(c, a, b device.Mat, g device.Gemm) {
	if s.left--; s.left == 0 {
		s.stop()
	}
	s.Device.MatMul(c, a, b, g)
}

// interrupt goes on with a training until it is cut.
func (e *entry) interrupt(t testing.TB, spec model.Spec, dir string, c cut, saves bool) error {
	ctx, proto := e.interrupted(t, spec.Order, c.part.Len(), c.n)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	job := e.run(spec, dir, e.devices[2], proto)
	job.Resume = true
	job.OnStep = func(train.Step) {
		if c.n--; c.n == 0 && c.part == e.world.split.Train { // of which a pass may be about the rest alone
			cancel()
		}
	}
	if saves {
		job.SaveEvery = time.Nanosecond
	}
	_, err := job.Train(ctx)
	return err
}

// compareRuns compares two trainings: what they found, the best epoch, and where they stand.
func compareRuns(t testing.TB, spec model.Spec, how string, got, want run.Result, dir, whole string) {
	t.Helper()
	if spec.Order != "" {
		how += ", order " + string(spec.Order)
	}
	for i := range want.History {
		g, w := got.History[i], want.History[i]
		g.Seconds, g.Events, w.Seconds, w.Events = run.Seconds{}, 0, run.Seconds{}, 0
		if !reflect.DeepEqual(g, w) {
			t.Errorf("%s epoch %d is %s, want %s", how, i+1, jsonOf(t, g), jsonOf(t, w))
		}
	}
	if !reflect.DeepEqual(got.Results, want.Results) {
		t.Errorf("%s the results are %s, want %s", how, jsonOf(t, got.Results), jsonOf(t, want.Results))
	}
	if !bytes.Equal(read(t, dir, run.CheckpointFile), read(t, whole, run.CheckpointFile)) {
		t.Errorf("%s the best epoch has other bytes", how)
	}
	if name := firstOther(t, dir, whole); name != "" {
		t.Errorf("%s %s ends otherwise", how, name)
	}
}

func read(t testing.TB, dir, name string) []byte {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(dir, name))
	must(t, err)
	return raw
}

// firstOther names an array that is not the same where two trainings stand.
func firstOther(t testing.TB, dir, whole string) string {
	t.Helper()
	var states [2]checkpoint.File
	for i, d := range []string{dir, whole} {
		var err error
		if states[i], err = checkpoint.Load(filepath.Join(d, run.LastFile)); err != nil {
			t.Fatal(err)
		}
	}
	for i, x := range states[1].Tensors {
		if !reflect.DeepEqual(states[0].Tensors[i], x) {
			return x.Name
		}
	}
	return ""
}
