package replay

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/protocol"
	"github.com/dygmamba/dygmamba/sample"
)

// Memory is committed in units: the batches of a stream, in order. In the order of arrival a unit is remembered right
// after it was asked about, with what was gathered for that. In strict order it waits for the first batch whose times
// are all later than its last event; it is then gathered on its own, which finds what was true before each of its
// events, as it would have then.

// units are the events of a pass that were asked about and are not remembered yet.
type units struct {
	pass    Pass
	memory  Memory
	plan    sample.Plan
	waiting []unit // oldest first
	spare   []*sample.Batch
	batch   sample.Batch
	queries []sample.Query
}

// unit is events that wait, and what was gathered for them ahead; nil: nothing was.
type unit struct {
	events event.Span
	batch  *sample.Batch
}

// mostAhead is the number of units that wait with what was gathered for them. Where more have to wait, as many events
// have one time, the others are gathered when they are remembered.
const mostAhead = 4

func newUnits(p Pass, m Memory, waiting event.Span, size int) *units {
	u := &units{pass: p, memory: m, plan: m.UnitPlan()}
	if waiting.Len() > 0 {
		for events := range waiting.Batches(cmp.Or(size, BatchSize)) {
			u.waiting = append(u.waiting, unit{events: events})
		}
	}
	return u
}

// ahead is the plan of units if they can be gathered before they are remembered: what extras and pickers find may
// depend on when they are asked.
func (u *units) ahead() *sample.Plan {
	if u.pass.Order == protocol.Arrival || len(u.plan.Extras) > 0 || u.plan.Picker != nil {
		return nil
	}
	return &u.plan
}

// before remembers the units that end before all of the events.
func (u *units) before(events event.Span) error {
	for len(u.waiting) > 0 && slices.Max(u.waiting[0].events.Time) < slices.Min(events.Time) {
		if err := u.commit(u.waiting[0]); err != nil {
			return err
		}
		u.waiting = u.waiting[1:]
	}
	return nil
}

// asked takes a batch that was asked about.
func (u *units) asked(s *Step) error {
	if u.pass.Order == protocol.Arrival {
		return u.memory.Commit(s.Batch)
	}
	waits := unit{events: s.Span}
	if s.unit != nil && len(u.waiting) < mostAhead {
		waits.batch, s.unit = s.unit, nil
		if n := len(u.spare); n > 0 {
			s.unit, u.spare = u.spare[n-1], u.spare[:n-1]
		}
	}
	u.waiting = append(u.waiting, waits)
	return nil
}

// rest remembers all that waits. After each unit it tells how many of the events are done; tell may be nil.
func (u *units) rest(ctx context.Context, tell func(done int)) error {
	for done := 0; len(u.waiting) > 0; u.waiting = u.waiting[1:] {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := u.commit(u.waiting[0]); err != nil {
			return err
		}
		if done += u.waiting[0].events.Len(); tell != nil {
			tell(done)
		}
	}
	return nil
}

// commit remembers a unit, and gathers for it what was not gathered ahead.
func (u *units) commit(what unit) error {
	b := what.batch
	if b == nil {
		b = &u.batch
		u.queries = appendQueries(u.queries[:0], what.events)
		u.pass.gatherUnit(u.plan, what.events, u.queries, b)
	} else {
		u.spare = append(u.spare, b)
	}
	return u.memory.Commit(b)
}

// gatherUnit gathers for a unit by itself. Neighbours that are picked at random are the unit's own draws: they must not
// depend on which units were remembered by the same process.
func (p Pass) gatherUnit(plan sample.Plan, events event.Span, queries []sample.Query, b *sample.Batch) {
	if plan.Picker != nil {
		seed := uint64(uint32(p.Seed) + uint32(events.First()) + 1)
		plan.Picker = sample.Bind(plan.Picker, p.Past, p.Sampling, seed)
	}
	b.Positives, b.Events = events.Len(), events
	sample.Gatherer{Threads: p.Threads}.Gather(p.Past, plan, queries, b)
}

func appendQueries(qs []sample.Query, events event.Span) []sample.Query {
	for i, u := range events.Src {
		qs = append(qs, sample.Query{Src: u, Dst: events.Dst[i], Time: events.Time[i]})
	}
	return qs
}

// Remember lets a memory learn of events that nobody asks about, in units of a batch. OnBatch is told of each.
func (p Pass) Remember(ctx context.Context, m Memory, events event.Span) error {
	if err := p.check(m.UnitPlan(), 0); err != nil {
		return err
	}
	tell := func(done int) {
		if p.OnBatch != nil {
			p.OnBatch(done, events.Len())
		}
	}
	if bulk, ok := m.(BulkMemory); ok {
		if err := bulk.CommitAll(ctx, events); err != nil {
			return fmt.Errorf("remember events: %w", err)
		}
		tell(events.Len())
		return nil
	}
	if err := newUnits(p, m, events, p.BatchSize).rest(ctx, tell); err != nil {
		return fmt.Errorf("remember events: %w", err)
	}
	return nil
}
