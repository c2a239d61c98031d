package modeltest

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/index"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/protocol"
	"github.com/dygmamba/dygmamba/sample"
)

// blind: whatever happens at the time of a query or later, its answer stays.
func blind(t testing.TB, e *entry) {
	for _, spec := range e.specs {
		for _, w := range []*world{e.world, e.bare} {
			if broken := e.buildIn(t, w, e.devices[1], spec, 1).foresight(t, w, protocol.Strict); broken != "" {
				t.Error(broken)
			}
		}
	}
	timely(t, e)
}

// foresight asks queries at the beginning of some units, in streams that are the same before that instant, and says
// where the answers differ.
func (p player) foresight(t testing.TB, w *world, order protocol.Order) string {
	t.Helper()
	cuts := w.cuts()
	for _, unit := range []int{cuts[len(cuts)/3], cuts[len(cuts)*2/3], numEvents/batchSize - 2} {
		now := w.set.Log.At(unit * batchSize).Time
		qs := at(w.queries(16), now)
		want := p.askAt(t, w.set.Log, order, unit, qs)
		for how, other := range w.futures(t, unit, p.memory() == nil) {
			got := p.askAt(t, other, order, unit, qs)
			if at, yes := differ(got, want); yes {
				return fmt.Sprintf("query %v is answered with %v, and with %v %s", qs[at], want[at], got[at], how)
			}
		}
	}
	return ""
}

// askAt replays a stream up to a unit and asks queries there.
func (p player) askAt(t testing.TB, log *event.Log, order protocol.Order, unit int, qs []sample.Query) []float32 {
	t.Helper()
	past := index.Freeze(log)
	m := p.memory()
	if m == nil {
		return p.ask(t, past, qs)
	}
	must(t, m.Restore(nil))
	pass := (&world{past: past}).pass(order)
	for step, err := range pass.Batches(t.Context(), m, log.All()) {
		must(t, err)
		if step.Number == unit {
			return p.ask(t, past, qs)
		}
	}
	t.Fatalf("the stream has %d events and no unit %d", log.Len(), unit)
	return nil
}

// futures are streams that are the world's before the instant at which a unit begins. Units that are complete by then
// stay so: a stream that ends there would have a shorter one in which events of the instant are missing, and may go
// on from it.
func (w *world) futures(t testing.TB, unit int, end bool) map[string]*event.Log {
	t.Helper()
	rng := rand.New(rand.NewPCG(4, uint64(unit)))
	all := w.set.Log.All()
	now := all.Time[unit*batchSize]
	first := 0
	for all.Time[first] < now {
		first++
	}
	future := func(events int, time func(i int) event.Time) *event.Log {
		log := event.NewLog(first + events)
		for i := range first + events {
			e := meeting(rng, now)
			if i < first {
				e = all.At(i)
			} else {
				e.Time = time(i)
			}
			_, err := log.Append(e)
			must(t, err)
		}
		return log
	}
	still := func(int) event.Time { return now }
	usual := func(i int) event.Time { return all.Time[i] }
	list := map[string]*event.Log{
		"when other things happen":               future(numEvents-first, usual),
		"when a crowd comes at the same instant": future(3*batchSize, still),
		"when hardly anything happens any more":  future(unit*batchSize-first+1, still),
	}
	if end {
		list["when nothing happens any more"] = future(0, still)
	}
	return list
}

// declares: what the reference's own configuration does not keep of these promises, it says.
func declares(t testing.TB, e *entry) {
	if !e.factory.Trains {
		return
	}
	var presets []model.Spec
	for _, preset := range e.factory.Presets {
		presets = append(presets, e.small(t, preset))
	}
	for _, spec := range e.distinct(t, presets...) {
		p := e.build(t, spec)
		p.learn(t, e.world, spec, 7)
		broken := p.company(t, e.world)
		if broken == "" {
			broken = p.foresight(t, e.world, protocol.Strict)
		}
		if broken != "" && len(spec.Conditions()) == 0 {
			t.Errorf("preset %s: %s; its Conditions must say what answers depend on", spec.Preset, broken)
		}
	}
	for _, spec := range e.specs {
		if list := spec.Conditions(); len(list) > 0 {
			t.Errorf("answers are said to depend on %q, though %q", list, promising)
		}
		if !e.factory.Remembers {
			continue
		}
		if spec.Order = protocol.Arrival; len(spec.Conditions()) == 0 {
			t.Error("the order of arrival is not declared")
		}
	}
}
