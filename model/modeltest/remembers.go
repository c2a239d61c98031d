package modeltest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/dygmamba/dygmamba/eval"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/protocol"
	"github.com/dygmamba/dygmamba/sample"
	"github.com/dygmamba/dygmamba/tensor"
)

// forMemories runs a check for everything of an entry that remembers. It is to remember if, and only if, its factory
// says so.
func (e *entry) forMemories(t testing.TB, check func(p player, spec model.Spec)) {
	t.Helper()
	for _, spec := range e.specs {
		p := e.build(t, spec)
		if (p.memory() != nil) != e.factory.Remembers {
			t.Fatalf("it remembers: %v; its factory says %v", p.memory() != nil, e.factory.Remembers)
		}
		if p.memory() != nil {
			check(p, spec)
		}
	}
}

// onlyCommits: questions change nothing, events do, and forgetting everything is being new.
func onlyCommits(t testing.TB, e *entry) {
	e.forMemories(t, func(p player, spec model.Spec) {
		fresh := p.snapshot(t)
		p.learn(t, e.world, spec, 5)
		before := p.snapshot(t)
		if same(before, fresh) {
			t.Error("nothing is remembered of five units")
		}
		p.ask(t, e.world.past, e.world.queries(24))
		if p.model != nil {
			tp := grad.NewTape(p.model.Params().Device(), true)
			b := gather(e.world.past, p.Plan(), e.world.queries(24), 24, event.Span{})
			model.Logits(tp, p.model, p.model.Head(), b)
			tp.Close()
		}
		if !same(p.snapshot(t), before) {
			t.Error("a question changes what is remembered")
		}
		if err := p.memory().Restore(nil); err != nil || !same(p.snapshot(t), fresh) {
			t.Errorf("something is left when everything is forgotten (%v)", err)
		}
	})
}

// journal is a memory that keeps count of the events it was told of.
type journal struct {
	model.StatefulScorer
	events int
}

func (j *journal) Commit(b *sample.Batch) error {
	j.events += b.Events.Len()
	return j.StatefulScorer.Commit(b)
}

// mayKnow is how many events a memory knows when a unit is asked about, by the words of the contract: in strict order
// whole units, one after another, that end before all of the unit's events; in the order of arrival all earlier
// units.
func mayKnow(events event.Span, unit int, order protocol.Order) int {
	if order == protocol.Arrival {
		return unit * batchSize
	}
	begin := slices.Min(events.Time[unit*batchSize : min((unit+1)*batchSize, events.Len())])
	known := 0
	for known < unit*batchSize && slices.Max(events.Time[known:known+batchSize]) < begin {
		known += batchSize
	}
	return known
}

// inOrder: at every unit of a stream exactly the units are known that may be, in the same way whoever replays it and
// however it was gathered; at the end all are.
func inOrder(t testing.TB, e *entry) {
	e.forMemories(t, func(p player, spec model.Spec) {
		events := e.world.set.Log.All()
		after := e.unitByUnit(t, spec) // what is known, by number of units
		for _, order := range protocol.Orders() {
			j := &journal{StatefulScorer: p.memory()}
			must(t, j.Restore(nil))
			pass := e.world.pass(order)
			pass.Negatives = opposites{}
			for step, err := range pass.Batches(t.Context(), j, events) {
				must(t, err)
				if want := mayKnow(events, step.Number, order); j.events != want {
					t.Fatalf("%s: %d events are known at unit %d, want %d", order, j.events, step.Number, want)
				}
				if !same(p.snapshot(t), after[j.events/batchSize]) {
					t.Fatalf("%s: unit %d finds something else than %d events leave", order, step.Number, j.events)
				}
			}
			if j.events != events.Len() || !same(p.snapshot(t), after[len(after)-1]) {
				t.Errorf("%s: %d of %d events are known at the end, or something else", order, j.events, events.Len())
			}
		}
	})
}

// opposites are negatives that ask who did it to whom the other way round.
type opposites struct{}

func (opposites) Draw(pos event.Span, out []sample.Query) {
	for i := range out {
		e := pos.At(i)
		out[i] = sample.Query{Src: e.Dst, Dst: e.Src, Time: e.Time}
	}
}

func (opposites) Reset() {}

// unitByUnit is what another player of the same seed remembers after 0, 1, 2, … units. A model is told in the step
// that asks.
func (e *entry) unitByUnit(t testing.TB, spec model.Spec) [][]tensor.Named {
	t.Helper()
	p := e.build(t, spec)
	list := [][]tensor.Named{p.snapshot(t)}
	for unit := range e.world.set.Log.Batches(0, numEvents, batchSize) {
		qs := about(unit)
		if p.model == nil {
			must(t, p.memory().Commit(gather(e.world.past, p.memory().UnitPlan(), qs, len(qs), unit)))
		} else {
			b := gather(e.world.past, p.Plan(), qs, len(qs), unit)
			tp := grad.NewTape(p.model.Params().Device(), false)
			_, said := model.Logits(tp, p.model, p.model.Head(), b)
			p.model.(model.Memory).Commit(tp, b, &said)
			tp.Close()
		}
		list = append(list, p.snapshot(t))
	}
	return list
}

// rewinds: an evaluation leaves what was remembered before it, and so does one that is interrupted; after a
// validation the validation events are remembered too.
func rewinds(t testing.TB, e *entry) {
	e.forMemories(t, func(p player, spec model.Spec) {
		for _, order := range protocol.Orders() {
			p.learn(t, e.world, spec, 5)
			before := p.mind(t, e.world)
			for _, part := range []eval.Part{eval.Val, eval.NewVal, eval.Test, eval.NewTest} {
				for _, batches := range []int{math.MaxInt, 1} {
					ctx, proto := e.interrupted(t, order, e.world.part(part).Len(), batches)
					_, err := proto.Evaluate(ctx, p.Scorer, part, protocol.RandomNegatives)
					e.checkRewound(t, p, before, err, batches == 1, fmt.Sprintf("%s: evaluating %v", order, part))
				}
			}
			for _, part := range []eval.Part{eval.Val, eval.NewVal} {
				ctx, proto := e.interrupted(t, order, e.world.part(part).Len(), 1)
				_, _, err := proto.Validate(ctx, p.Scorer)
				e.checkRewound(t, p, before, err, true, fmt.Sprintf("%s: validating on %v", order, part))
			}
			_, proto := e.interrupted(t, order, 0, 0)
			if _, _, err := proto.Validate(t.Context(), p.Scorer); err != nil {
				t.Fatal(err)
			}
			validated := p.snapshot(t)
			p.learn(t, e.world, spec, 5)
			must(t, e.world.pass(order).Remember(t.Context(), p.memory(), e.world.split.Val.All()))
			if !same(validated, p.snapshot(t)) {
				t.Errorf("%s: validation leaves something else than the validation events", order)
			}
		}
	})
}

func (w *world) part(p eval.Part) *event.Log {
	s := w.split
	return [...]*event.Log{eval.Val: s.Val, eval.NewVal: s.NewVal, eval.Test: s.Test, eval.NewTest: s.NewTest}[p]
}

// interrupted is a protocol, and a context that ends after this many batches of passes over a part of that length.
func (e *entry) interrupted(t testing.TB, order protocol.Order, length, batches int) (context.Context, *eval.Protocol) {
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	o := eval.Options{Sampling: e.world.set.Sampling, BatchSize: batchSize, Order: order, Threads: 2}
	o.OnBatch = func(_, total int) {
		if total == length {
			if batches--; batches == 0 {
				cancel()
			}
		}
	}
	return ctx, eval.NewProtocol(e.world.split, o)
}

func (e *entry) checkRewound(t testing.TB, p player, before []tensor.Named, err error, cut bool, doing string) {
	t.Helper()
	if errors.Is(err, context.Canceled) != cut || !cut && err != nil {
		t.Fatalf("%s: %v", doing, err)
	}
	if !same(p.mind(t, e.world), before) {
		t.Errorf("%s leaves something else in memory (%v)", doing, err)
	}
}

// mind is what a player remembers and what it answers, which is all that it may remember.
func (p player) mind(t testing.TB, w *world) []tensor.Named {
	t.Helper()
	answers := p.ask(t, w.past, w.queries(16))
	return append(p.snapshot(t), tensor.Named{Name: "answers", Shape: []int{len(answers)}, Data: answers})
}
