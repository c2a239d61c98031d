package modeltest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/dygmamba/dygmamba/checkpoint"
	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/device/dry"
	"github.com/dygmamba/dygmamba/device/recorded"
	"github.com/dygmamba/dygmamba/eval"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/train"
)

// described: everything that a catalogue prints is there, and every preset can be built for every data set that has a name.
func described(t testing.TB, e *entry) {
	f := e.factory
	if f.Summary == "" || len(f.Presets) == 0 || len(f.Keys()) == 0 || f.Trains && f.Lighter == "" {
		t.Errorf("summary %q, presets %v, settings %v, lighter %q: none may be empty", f.Summary, f.Presets, f.Keys(), f.Lighter)
	}
	built := map[string]bool{}
	for _, preset := range f.Presets {
		if f.About(preset) == "" {
			t.Errorf("nobody knows what preset %s is", preset)
		}
		for _, name := range append(dataset.CatalogNames(), "", "my own") {
			spec, err := f.Spec(preset, model.Data{Name: name, Imported: name == "my own"})
			if err != nil {
				t.Errorf("preset %s for %q: %v", preset, name, err)
				continue
			}
			if spec.Brief() == "" {
				t.Errorf("preset %s for %q has nothing to say in brief", preset, name)
			}
			if key := jsonOf(t, spec.Config); !built[key] {
				built[key] = true
				e.buildDry(t, spec)
			}
		}
	}
	for _, s := range f.Settings(e.specs[0]) {
		if s.About == "" {
			t.Errorf("nobody knows what %s is", s.Key)
		}
	}
}

// buildDry builds something of any size without computing anything.
func (e *entry) buildDry(t testing.TB, spec model.Spec) {
	t.Helper()
	if !e.factory.Trains {
		if _, err := e.factory.Rule(spec); err != nil {
			t.Error(err)
		}
		return
	}
	if _, err := e.factory.Build(e.world.environment(dry.New(0), 1), spec); err != nil {
		t.Errorf("%s: %v", jsonOf(t, spec.Config), err)
	}
}

// steady: once it has seen a batch, a step, a question and a commit leave the Go heap alone.
func steady(t testing.TB, e *entry) {
	if onGPU() {
		return // the CPU counts the heap of the Go code, which is the same there
	}
	for _, spec := range e.specs {
		p := e.build(t, spec)
		unit := e.world.set.Log.Span(100, 100+batchSize)
		qs := e.world.queries(2 * batchSize)
		b := gather(e.world.past, p.Plan(), qs, batchSize, unit)
		out := make([]float32, len(qs))
		heap(t, "a question", func() error { return p.Score(b, out) })
		if m := p.memory(); m != nil && p.model != nil {
			c := gather(e.world.past, m.UnitPlan(), qs[:batchSize], batchSize, unit)
			heap(t, "a commit", func() error { return m.Commit(c) })
		}
		if p.model == nil {
			continue
		}
		if spec.Order != "" {
			spec.Order = model.Arrival // commits in the step
		}
		l, err := train.NewLearner(e.factory, e.world.environment(e.devices[1], 1), spec, train.Link{})
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		heap(t, "a step", func() error { l.Step(b, 1); return nil })
	}
}

// heap counts what something allocates when it is done again.
func heap(t testing.TB, what string, do func() error) {
	t.Helper()
	var failed error
	again := func() { failed = errors.Join(failed, do()) }
	again()
	again()
	if n := testing.AllocsPerRun(3, again); n != 0 {
		t.Errorf("%s allocates %v times", what, n)
	}
	if failed != nil {
		t.Error(failed)
	}
}

// run is a training of an entry.
func (e *entry) run(spec model.Spec, dir string, dev device.Device, protocol *eval.Protocol) *train.Run {
	return &train.Run{
		Model: e.name, Factory: e.factory, Spec: spec, Set: e.world.set, Protocol: protocol, Device: dev,
		Seed: 1, Dir: dir, TestEvery: 1,
	}
}

// planned: a training that does not fit says so before it begins, and names settings that would; one that fits takes no more than was
// planned.
func planned(t testing.TB, e *entry) {
	if !e.factory.Trains {
		return
	}
	e.inOrders(func(spec model.Spec) { e.plannedIn(t, spec) })
}

// inOrders does something for every configuration, and in both orders for one that remembers.
func (e *entry) inOrders(do func(spec model.Spec)) {
	for _, spec := range e.specs {
		if !e.factory.Remembers {
			do(spec)
			continue
		}
		for _, spec.Order = range model.Orders() {
			do(spec)
		}
	}
}

func (e *entry) plannedIn(t testing.TB, spec model.Spec) {
	t.Helper()
	run := func(limit int64) *train.Run {
		_, protocol := e.interrupted(t, spec.Order, 0, 0)
		run := e.run(spec, "", e.devices[1], protocol)
		run.MemoryLimit = limit
		return run
	}
	short := func(limit int64) *train.MemoryError {
		_, err := run(limit).Train(t.Context())
		var short *train.MemoryError
		if !errors.As(err, &short) || short.Need <= limit {
			t.Fatalf("with %d bytes training gives %v, want a complaint about memory", limit, err)
		}
		return short
	}
	none := short(1)
	if !strings.Contains(none.Hint, e.factory.Lighter) {
		t.Errorf("%q does not say that %s may need less", none.Hint, e.factory.Lighter)
	}
	batch := 0
	few := short(none.Need - 1)
	if _, err := fmt.Sscanf(few.Hint, "batch_size=%d would fit", &batch); err != nil || batch < 1 || batch >= batchSize {
		t.Errorf("a byte less than it needs: %q names no batch_size", few.Hint)
	}
	if onGPU() {
		return // of what that takes for itself nothing is counted here
	}
	whole, counted := run(none.Need), &meter{Device: e.devices[1]}
	whole.Device = counted
	if _, err := whole.Train(t.Context()); err != nil {
		t.Fatal(err)
	}
	if counted.most > none.Need {
		t.Errorf("training takes %d bytes of the device, %d were planned", counted.most, none.Need)
	}
}

// meter is a device that counts what is allocated on it.
type meter struct {
	device.Device
	used, most int64
}

func (m *meter) count(n int) {
	m.used += 4 * int64(n)
	m.most = max(m.most, m.used)
}

func (m *meter) Alloc(n int) device.Buffer   { m.count(n); return m.Device.Alloc(n) }
func (m *meter) AllocInts(n int) device.Ints { m.count(n); return m.Device.AllocInts(n) }
func (m *meter) Free(b device.Buffer)        { m.count(-b.Len); m.Device.Free(b) }
func (m *meter) FreeInts(b device.Ints)      { m.count(-b.Len); m.Device.FreeInts(b) }

// cut is an interruption: after the n-th batch, in one attempt, of passes over a part.
type cut struct {
	part *event.Log
	n    int
}

// cuts are interruptions of a training of two epochs, one after another: in training, in either validation, in either test that is looked
// at meanwhile, at the very end of an epoch's steps, and in the final tests.
func (w *world) interruptions() []cut {
	s := w.split
	batches := func(l *event.Log) int { return (l.Len() + batchSize - 1) / batchSize }
	train, val, test := batches(s.Train), batches(s.Val), batches(s.Test)
	return []cut{
		{s.Train, 2}, {s.NewVal, 1}, {s.Val, val + 1}, {s.Val, 2 * val}, {s.Test, 1}, {s.NewTest, 1}, // Val is asked once when a run begins
		{s.Train, 1}, {s.Train, train - 1}, {s.NewVal, 1}, {s.Val, val + 1}, {s.Test, 1}, {s.Test, test + 1}, {s.NewTest, 1},
	}
}

// resumes: a training that is interrupted again and again ends with the bytes of one that is not, whatever the number of threads, and in
// both orders of a memory.
func resumes(t testing.TB, e *entry) {
	if !e.factory.Trains {
		return
	}
	e.inOrders(func(spec model.Spec) { e.resumesIn(t, spec) })
}

func (e *entry) resumesIn(t testing.TB, spec model.Spec) {
	t.Helper()
	whole, onOne, again, cutUp := t.TempDir(), t.TempDir(), t.TempDir(), t.TempDir()
	complete := func(dir string, dev device.Device) train.Result {
		_, protocol := e.interrupted(t, spec.Order, 0, 0)
		run := e.run(spec, dir, dev, protocol)
		run.Resume = true
		r, err := run.Train(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	want := complete(whole, e.devices[1])
	if first, last := want.History[0].Loss, want.History[len(want.History)-1].Loss; first == last {
		t.Errorf("the loss stays at %v", last)
	}
	if !onGPU() {
		compareRuns(t, spec, "on one thread", complete(onOne, e.devices[0]), want, onOne, whole)
		compareRuns(t, spec, "with recorded steps", complete(again, recorded.New(e.devices[0])), want, again, whole)
	}
	for i, c := range e.world.interruptions() {
		ctx, protocol := e.interrupted(t, spec.Order, c.part.Len(), c.n)
		ctx, cancel := context.WithCancel(ctx)
		run := e.run(spec, cutUp, e.devices[2], protocol)
		run.Resume = true
		run.OnStep = func(train.Step) {
			if c.n--; c.n == 0 && c.part == e.world.split.Train { // of which a pass may be about the rest alone
				cancel()
			}
		}
		if i%2 == 0 {
			run.SaveEvery = time.Nanosecond
		}
		_, err := run.Train(ctx)
		cancel()
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("interruption %d: %v", i, err)
		}
	}
	compareRuns(t, spec, "with interruptions", complete(cutUp, e.devices[2]), want, cutUp, whole)
}

// compareRuns compares two trainings: what they found, the best epoch, and where they stand.
func compareRuns(t testing.TB, spec model.Spec, how string, got, want train.Result, dir, whole string) {
	t.Helper()
	if spec.Order != "" {
		how += ", order " + spec.Order
	}
	for i := range want.History {
		g, w := got.History[i], want.History[i]
		g.Seconds, g.Events, w.Seconds, w.Events = train.Seconds{}, 0, train.Seconds{}, 0
		if !reflect.DeepEqual(g, w) {
			t.Errorf("%s epoch %d is %s, want %s", how, i+1, jsonOf(t, g), jsonOf(t, w))
		}
	}
	if !reflect.DeepEqual(got.Results, want.Results) {
		t.Errorf("%s the results are %s, want %s", how, jsonOf(t, got.Results), jsonOf(t, want.Results))
	}
	if !bytes.Equal(read(t, dir, train.CheckpointFile), read(t, whole, train.CheckpointFile)) {
		t.Errorf("%s the best epoch has other bytes", how)
	}
	if name := firstOther(t, dir, whole); name != "" {
		t.Errorf("%s %s ends otherwise", how, name)
	}
}

func read(t testing.TB, dir, name string) []byte {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// firstOther names an array that is not the same where two trainings stand.
func firstOther(t testing.TB, dir, whole string) string {
	t.Helper()
	var states [2]checkpoint.File
	for i, d := range []string{dir, whole} {
		var err error
		if states[i], err = checkpoint.Load(filepath.Join(d, train.LastFile)); err != nil {
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
