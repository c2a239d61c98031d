package predict

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/index"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/protocol"
	"github.com/dygmamba/dygmamba/replay"
	"github.com/dygmamba/dygmamba/tensor"
)

// stream is the past of a model that remembers: which of the events it has learned of, in units of a batch. It goes
// on from where it is, and begins again only for a query about an earlier time.
type stream struct {
	name   string
	memory model.StatefulScorer
	room   func(nodes int) // makes room for more nodes
	log    *event.Log      // nil: no events are known one by one
	known  int             // its events when it last grew
	ends   []event.Time    // of whole units: the latest event until then. Empty while events come in order
	pass   replay.Pass
	open   bool       // the log goes on: a unit is remembered when all of its events have come
	seen   int        // events that were remembered; −1: something else, which is not asked
	latest event.Time // of the events that were remembered

	// The memory has two users: queries, which live through the events, and evaluations, which go on from what the
	// checkpoint holds. Each finds what it left.
	mine   bool           // queries had it last
	others []tensor.Named // what evaluations go on from, if so

	// A last unit that is short is remembered for the queries after it. When more events have come it is a part of a
	// longer unit, and what was known before it is taken up again.
	short  bool
	before []tensor.Named

	marks  []mark // oldest first: what was known after some of the events, to go back to
	stride int    // events between two; 0: none are made
	budget int    // bytes that all of them may take
}

// grow takes a log that has become longer, or an earlier state of it, for which all is remembered again. If new events
// belong before some that were remembered with what was looked up then, all are remembered again: what a model knows
// must not depend on when it was asked.
func (s *stream) grow(log *event.Log, past index.View) {
	plan := s.memory.UnitPlan()
	if log.Len() < s.known {
		s.lose()
		s.ends, s.known = nil, log.Len()
	}
	for _, t := range log.Span(s.known, log.Len()).Time {
		if s.seen > 0 && t < s.latest && plan.LooksBack() {
			s.lose()
		}
	}
	s.log, s.known, s.pass.Past = log, log.Len(), past
}

// makeRoom lets the model remember the nodes of events that are to come.
func (s *stream) makeRoom(events []event.Event) error {
	most := event.Node(0)
	for _, e := range events {
		most = max(most, e.Src, e.Dst)
	}
	return tensor.Guard(func() { s.room(int(most) + 1) })
}

// lose notes that something else is remembered than the first events.
func (s *stream) lose() { s.seen, s.short, s.before, s.marks = -1, false, nil, nil }

// visit calls ask for queries, by number, once the model has learned of what each may know. Queries are asked in the
// order of time.
func (s *stream) visit(ctx context.Context, qs []Query, ask func(group []int) error) error {
	if s.log == nil {
		return fmt.Errorf("score: %s remembers events and needs them from the beginning, want a data set", s.name)
	}
	order := sorted(len(qs), func(i, j int) int { return cmp.Compare(qs[i].Time, qs[j].Time) })
	if s.pass.Order == protocol.Arrival {
		return s.afterAll(ctx, qs, order, ask)
	}
	for len(order) > 0 {
		units := s.unitsBefore(qs[order[0]].Time)
		n := 1
		for n < len(order) && s.unitsBefore(qs[order[n]].Time) == units {
			n++
		}
		if err := s.reach(ctx, units); err != nil {
			return err
		}
		if err := ask(order[:n]); err != nil {
			return err
		}
		order = order[n:]
	}
	return nil
}

func (s *stream) afterAll(ctx context.Context, qs []Query, order []int, ask func([]int) error) error {
	if len(order) == 0 {
		return nil
	}
	if err := s.reach(ctx, s.whole(s.log.Len())); err != nil {
		return err
	}
	i, last := order[0], s.latest
	if !s.open {
		last = math.Nextafter(last, math.Inf(1)) // nothing of its own instant is known
	}
	if qs[i].Time < last {
		return &TooEarlyError{qs[i], s.latest, s.name}
	}
	return ask(order)
}

// unitsBefore is the number of events in the units that end before t. A unit ends with its latest event; later units
// wait for it.
func (s *stream) unitsBefore(t event.Time) int {
	events, size := s.log.All(), s.pass.BatchSize
	if s.log.Sorted() {
		if n, _ := slices.BinarySearch(events.Time, t); n < events.Len() {
			return n - n%size
		}
		return s.whole(events.Len())
	}
	for n := len(s.ends) * size; n+size <= events.Len(); n += size {
		end := slices.Max(events.Time[n : n+size])
		if k := len(s.ends); k > 0 {
			end = max(end, s.ends[k-1])
		}
		s.ends = append(s.ends, end)
	}
	k, _ := slices.BinarySearch(s.ends, t)
	if rest := events.Time[k*size:]; k < len(s.ends) || len(rest) > 0 && slices.Max(rest) >= t {
		return k * size
	}
	return s.whole(events.Len())
}

// whole is how many of the first n events may be remembered: where the log goes on, those of whole units.
func (s *stream) whole(n int) int {
	if s.open {
		n -= n % s.pass.BatchSize
	}
	return n
}

// reach makes the model remember exactly the first n events.
func (s *stream) reach(ctx context.Context, n int) error {
	if err := s.take(); err != nil {
		return err
	}
	if s.seen == n {
		return nil
	}
	if s.short { // back to before the unit that was short
		if err := s.memory.Restore(s.before); err != nil {
			return err
		}
		s.seen -= s.seen % s.pass.BatchSize
		s.short, s.before = false, nil
	}
	if s.seen < 0 || s.seen > n {
		if err := s.goBack(n); err != nil {
			return err
		}
	}
	if s.seen == n { // also with a last unit that is short
		return nil
	}
	if err := s.remember(ctx, n-n%s.pass.BatchSize); err != nil {
		return err
	}
	if s.seen == n {
		return nil
	}
	before, err := s.memory.Snapshot()
	if err != nil {
		return err
	}
	s.short, s.before = true, before
	return s.remember(ctx, n)
}

// remember goes on to the first n events, a few units at a time. When ctx ends it stays where it is, so that the next
// who asks goes on from there.
func (s *stream) remember(ctx context.Context, n int) error {
	const few = 16
	for s.seen < n {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("remember events: %w", err)
		}
		next := min(n, s.seen+few*s.pass.BatchSize)
		if s.stride > 0 {
			next = min(next, s.seen-s.seen%s.stride+s.stride)
		}
		events := s.log.Span(s.seen, next)
		if err := s.pass.Remember(context.WithoutCancel(ctx), s.memory, events); err != nil {
			s.lose() // somewhere between: begin again the next time
			return err
		}
		for _, t := range events.Time {
			s.latest = max(s.latest, t)
		}
		s.seen = next
		if err := s.mark(); err != nil {
			return err
		}
	}
	return nil
}
