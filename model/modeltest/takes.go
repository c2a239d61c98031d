package modeltest

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/protocol"
	"github.com/dygmamba/dygmamba/train"
)

// steady: once it has seen a batch, a step, a question and a commit leave the Go heap alone.
func steady(t testing.TB, e *entry) {
	if onGPU() {
		return // the CPU counts the heap of the Go code, which is the same there
	}
	for _, spec := range e.forms {
		p := e.build(t, spec)
		b := e.world.batch(p.Plan(), 9)
		out := make([]float32, len(b.Queries))
		heap(t, "a question", func() error { return p.Score(b, out) })
		if m := p.memory(); m != nil && p.model != nil {
			c := e.world.batch(m.UnitPlan(), 9)
			heap(t, "a commit", func() error { return m.Commit(c) })
		}
		if p.model == nil {
			continue
		}
		if spec.Order != "" {
			spec.Order = protocol.Arrival // commits in the step
		}
		l, err := train.NewLearner(e.factory, e.world.environment(e.devices[1], 1), spec, protocol.LinkPrediction)
		must(t, err)
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

// planned: a training that does not fit says so before it begins, and names settings that would; one that fits takes
// no more than was planned.
func planned(t testing.TB, e *entry) {
	if !e.factory.Trains {
		return
	}
	e.inOrders(e.forms, func(spec model.Spec) { e.plannedIn(t, spec) })
}

// inOrders does something for configurations, in both orders for those that remember.
func (e *entry) inOrders(specs []model.Spec, do func(spec model.Spec)) {
	for _, spec := range specs {
		if !e.factory.Remembers {
			do(spec)
			continue
		}
		for _, spec.Order = range protocol.Orders() {
			do(spec)
		}
	}
}

func (e *entry) plannedIn(t testing.TB, spec model.Spec) {
	t.Helper()
	run := func(limit int64) *train.Run {
		_, proto := e.interrupted(t, spec.Order, 0, 0)
		run := e.run(spec, "", e.devices[1], proto)
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
	few, fits := short(none.Need-1), 0
	if _, err := fmt.Sscanf(few.Hint, "batch_size=%d would fit", &fits); err != nil || fits < 1 || fits >= batchSize {
		t.Errorf("a byte less than it needs: %q names no batch_size", few.Hint)
	}
	if onGPU() {
		return // of what that takes for itself nothing is counted here
	}
	whole, counted := run(none.Need), &meter{Device: e.devices[1]}
	whole.Device = counted
	_, err := whole.Train(t.Context())
	must(t, err)
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
