package replay

import (
	"context"
	"encoding/binary"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/sample"
)

// gatherer makes the steps of one pass.
type gatherer struct {
	pass    Pass
	plan    sample.Plan
	unit    *sample.Plan // of units that are gathered ahead too; nil: none are
	queries []sample.Query
	part    []byte // state of one generator
	always  bool   // batches of other ranks are gathered too
	shard   []sample.Query
}

func newGatherer(p Pass, plan sample.Plan) (*gatherer, error) {
	if err := p.check(plan, 0); err != nil {
		return nil, err
	}
	if plan.Picker != nil {
		plan.Picker = sample.Bind(plan.Picker, p.Past, p.Sampling, p.Seed)
	}
	return &gatherer{pass: p, plan: plan, always: plan.Picker != nil}, nil
}

// fill makes s the step of a span, but for the plan's extras where complete adds them. It may be left unfinished when
// done is closed.
func (g *gatherer) fill(done <-chan struct{}, s *Step, number int, span event.Span) {
	began := time.Now()
	s.Number, s.Span = number, span
	n, rounds := span.Len(), g.pass.PerPositive
	if g.pass.Negatives == nil {
		rounds = 0
	}
	g.queries = appendQueries(g.queries[:0], span)
	for range rounds {
		at := len(g.queries)
		g.queries = append(g.queries, g.queries[:n]...)
		g.pass.Negatives.Draw(span, g.queries[at:])
	}
	for i := range g.queries {
		switch q := &g.queries[i]; {
		case !g.pass.Kinds:
			q.Kind = 0
		case q.Kind == 0: // a negative that differs otherwise
			q.Kind = span.Kind(i % n)
		}
	}
	b := s.Batch
	b.Positives, b.Events = n, span
	part := g.pass.Part
	s.Other = part != nil && number%part.Size != part.Rank
	s.half = false
	switch {
	case g.pass.Shards.Count > 0:
		g.fillShards(done, s, rounds)
	case s.Other && !g.always:
		b.Queries = append(b.Queries[:0], g.queries...)
	default:
		sample.Gatherer{Threads: g.pass.Threads, Done: done}.Rows(g.pass.Past, g.plan, g.queries, b)
		s.half = true
	}
	s.state = g.state(s.state[:0])
	if g.unit != nil {
		if s.unit == nil {
			s.unit = new(sample.Batch)
		}
		g.pass.gatherUnit(*g.unit, span, g.queries[:n], s.unit)
	}
	s.Gathered = time.Since(began)
}

// fillShards gathers the parts of a step that this rank computes: some of the positives, with the negatives of these.
func (g *gatherer) fillShards(done <-chan struct{}, s *Step, rounds int) {
	shards, n := g.pass.Shards, s.Span.Len()
	s.Batch.Queries = append(s.Batch.Queries[:0], g.queries...)
	for len(s.Shards) < shards.Count {
		s.Shards = append(s.Shards, new(sample.Batch))
	}
	first, last := shards.Own()
	for i, b := range s.Shards {
		if (i < first || i >= last) && !g.always {
			continue
		}
		lo, hi := shards.Events(i, n)
		g.shard = g.shard[:0]
		for round := range 1 + rounds {
			g.shard = append(g.shard, g.queries[round*n+lo:round*n+hi]...)
		}
		b.Positives, b.Events = hi-lo, s.Span.Slice(lo, hi)
		if hi > lo {
			sample.Gatherer{Threads: g.pass.Threads, Done: done}.Gather(g.pass.Past, g.plan, g.shard, b)
		}
	}
}

// complete adds the extras to what is half done.
func (s *Step) complete(done <-chan struct{}) {
	if began := time.Now(); s.half {
		s.Batch.GatherExtras(done)
		s.Gathered += time.Since(began)
	}
}

// state is where negatives and picker stand: for each its length, 0 if it cannot tell, and its bytes.
func (g *gatherer) state(b []byte) []byte {
	for _, part := range []any{g.pass.Negatives, g.plan.Picker} {
		g.part = g.part[:0]
		if r, ok := part.(sample.Resumable); ok {
			g.part = r.AppendState(g.part)
		}
		b = binary.AppendUvarint(b, uint64(len(g.part)))
		b = append(b, g.part...)
	}
	return b
}

func (g *gatherer) restore(state []byte) error {
	for _, part := range []struct {
		name string
		what any
	}{{"negatives", g.pass.Negatives}, {"picked neighbours", g.plan.Picker}} {
		size, n := binary.Uvarint(state)
		if n <= 0 || size > uint64(len(state)-n) {
			return fmt.Errorf("continue a pass: its state ends within the %s", part.name)
		}
		bytes := state[n : n+int(size)]
		state = state[n+int(size):]
		r, ok := part.what.(sample.Resumable)
		if ok != (size > 0) {
			return fmt.Errorf("continue a pass: its state has %d bytes for the %s, which does not fit this pass",
				size, part.name)
		}
		if !ok {
			continue
		}
		if err := r.SetState(bytes); err != nil {
			return fmt.Errorf("continue a pass: %s: %w", part.name, err)
		}
	}
	if len(state) > 0 {
		return fmt.Errorf("continue a pass: its state has %d bytes too many", len(state))
	}
	return nil
}

// stepsUnderWay is how many steps there are at once: one in use, one that is ready, and one for each of the two
// goroutines that gather.
const stepsUnderWay = 4

// ahead is two goroutines that gather steps while another is in use: one draws and looks up histories, the other adds
// what extras find, which takes one step after the other.
type ahead struct {
	half, full chan *Step // in between, and done
	free       chan *Step
	quit, gone chan struct{}
	panicked   atomic.Pointer[any] // why one of them failed; set before full is closed
}

// ahead starts the goroutines. Whoever called must stop them.
func (g *gatherer) ahead(ctx context.Context, events event.Span) *ahead {
	a := &ahead{quit: make(chan struct{}), gone: make(chan struct{})}
	for _, c := range []*chan *Step{&a.half, &a.full, &a.free} {
		*c = make(chan *Step, stepsUnderWay) // so that nobody waits to send
	}
	for range stepsUnderWay {
		a.free <- &Step{Batch: new(sample.Batch)}
	}
	go func() {
		defer close(a.half)
		defer a.caught()
		number := 0
		for span := range events.Batches(g.pass.BatchSize) {
			select {
			case s := <-a.free:
				g.fill(ctx.Done(), s, number, span)
				a.half <- s
			case <-a.quit:
				return
			case <-ctx.Done():
				return
			}
			number++
		}
	}()
	go func() {
		defer close(a.gone)
		defer func() { // the other one has ended before
			for range a.half {
			}
		}()
		defer close(a.full)
		defer a.caught()
		for s := range a.half {
			if a.stopped() || ctx.Err() != nil {
				return
			}
			s.complete(ctx.Done())
			a.full <- s
		}
	}()
	return a
}

// caught keeps a panic for the loop.
func (a *ahead) caught() {
	if p := recover(); p != nil {
		a.panicked.CompareAndSwap(nil, &p)
	}
}

// stopped says whether nobody wants any more steps.
func (a *ahead) stopped() bool {
	select {
	case <-a.quit:
		return true
	default:
		return false
	}
}

// next waits for a step. It is nil if the context was cancelled.
func (a *ahead) next() *Step {
	s, ok := <-a.full
	if !ok {
		if p := a.panicked.Load(); p != nil {
			panic(*p)
		}
	}
	return s
}

// reuse gives a step back.
func (a *ahead) reuse(s *Step) { a.free <- s }

// stop ends the goroutines and waits for them.
func (a *ahead) stop() {
	close(a.quit)
	<-a.gone
}
