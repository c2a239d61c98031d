package replay

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/index"
	"github.com/dygmamba/dygmamba/internal/collective"
	"github.com/dygmamba/dygmamba/internal/memory"
	"github.com/dygmamba/dygmamba/protocol"
	"github.com/dygmamba/dygmamba/sample"
)

// BatchSize is the number of events in a batch of the published protocol.
const BatchSize = 200

// Pass is how events are replayed.
type Pass struct {
	Past        index.View        // what queries look back on; may be nil for plans that ask for nothing
	Negatives   sample.Negatives  // nil: only the events themselves are asked about
	PerPositive int               // negatives for each positive; 0 is 1
	BatchSize   int               // events in a batch; 0 is 200
	Sampling    protocol.Sampling // who picks random neighbours; "" is protocol.Reference
	Seed        uint64            // of randomly picked neighbours: the reference takes 0 in training, 1 in evaluation
	Kinds       bool              // queries tell the kind of the event that is asked about
	Threads     int               // that gather; 0: as many as Go may use
	// Shards cuts each batch into parts that are gathered one by one; the zero value leaves it whole. Only the parts of
	// this rank are gathered, or all where neighbours are picked at random: all ranks then draw the same.
	Shards collective.Shards
	// Part is which batches of a walk are gathered by this rank, where several share the questions; nil: all.
	Part  *Part
	Order protocol.Order // in which a Memory learns of the events; "" is protocol.Strict

	OnBatch func(done, total int) // told after every batch how many of the events are done; may be nil
}

// Step is one batch on its way through a model. It is valid until the next one.
type Step struct {
	Number int        // batches before this one
	Span   event.Span // the positives
	// queries about them, then about their negatives: all positives' first, then all second ones, …
	Batch    *sample.Batch
	Shards   []*sample.Batch // with Pass.Shards: its parts, those of other ranks without rows; Batch has only queries
	Other    bool            // with Pass.Part: another rank asks about this batch, which may not be gathered
	Gathered time.Duration   // that drawing and gathering took, on their own goroutine
	Waited   time.Duration   // that the loop had to wait for it

	state []byte
	half  bool          // extras are to be added
	unit  *sample.Batch // its events gathered for a memory in strict order, where that is done ahead
}

// Part is one of several ranks that share the batches of a walk: batch i is for rank i modulo Size.
type Part struct{ Rank, Size int }

// State says where the draws stand after this batch, for Continue. It may be kept.
func (s *Step) State() []byte { return s.AppendState(nil) }

// AppendState appends State to b.
func (s *Step) AppendState(b []byte) []byte { return append(b, s.state...) }

// Batches walks events in batches, in order. While one is in the loop's body the next ones are drawn and gathered on
// other goroutines, which end before the loop does. A planner that is a Memory learns of the events in the pass's
// order: never before they were asked about, and of all of them by the end of the walk.
//
// Random neighbours are drawn from the start of the pass's seed. Negatives continue where they stand, as a training
// run's do from epoch to epoch; an evaluation resets them first. An error, also that of a cancelled context, comes
// alone and ends the loop.
func (p Pass) Batches(ctx context.Context, by Planner, events event.Span) iter.Seq2[*Step, error] {
	return p.walk(ctx, by, events, event.Span{}, nil)
}

// Continue walks the rest of the events of a pass that stopped after some step: the same batches will come that would
// have come. Waiting are the events before rest that a Memory in strict order has not learned of yet.
func (p Pass) Continue(
	ctx context.Context, by Planner, rest, waiting event.Span, state []byte,
) iter.Seq2[*Step, error] {
	return p.walk(ctx, by, rest, waiting, func(g *gatherer) error { return g.restore(state) })
}

func (p Pass) walk(
	ctx context.Context, by Planner, events, waiting event.Span, start func(*gatherer) error,
) iter.Seq2[*Step, error] {
	return func(yield func(*Step, error) bool) {
		size := p.BatchSize // units of what waits are as long as batches were, however few events are left
		if n := events.Len(); n > 0 {
			p.BatchSize = min(p.BatchSize, n) // memory is looked for by what there is to gather
		}
		g, err := newGatherer(p, by.Plan())
		if m, ok := by.(Memory); ok && p.Order == protocol.Arrival && m != nil && g != nil {
			g.always = true // what was gathered is remembered
		}
		if err == nil && start != nil {
			err = start(g)
		}
		memory := (*units)(nil)
		if m, ok := by.(Memory); ok && err == nil {
			checked := p
			if err = checked.check(m.UnitPlan(), 0); err == nil {
				memory = newUnits(checked, m, waiting, size)
				g.unit = memory.ahead()
			}
		}
		if err != nil {
			yield(nil, err)
			return
		}
		ahead := g.ahead(ctx, events)
		defer ahead.stop()
		for done := 0; done < events.Len(); {
			asked := time.Now()
			var step *Step
			if err := event.Guard(func() { step = ahead.next() }); err != nil {
				yield(nil, err)
				return
			}
			if err := ctx.Err(); err != nil {
				yield(nil, fmt.Errorf("stopped after %d of %d events: %w", done, events.Len(), err))
				return
			}
			step.Waited = time.Since(asked)
			if memory != nil {
				if err := memory.before(step.Span); err != nil {
					yield(nil, err)
					return
				}
			}
			if !yield(step, nil) {
				return
			}
			if memory != nil {
				if err := memory.asked(step); err != nil {
					yield(nil, err)
					return
				}
			}
			done += step.Span.Len()
			if p.OnBatch != nil {
				p.OnBatch(done, events.Len())
			}
			ahead.reuse(step)
		}
		if memory != nil {
			if err := memory.rest(ctx, nil); err != nil {
				yield(nil, fmt.Errorf("stopped after all %d events were asked about: %w", events.Len(), err))
			}
		}
	}
}

// queryBytes is what a query takes beside its histories: itself, its label and its score.
const queryBytes = 24

// check fills in defaults, and says what is wrong with batches of this many queries; 0: with those of the pass.
func (p *Pass) check(plan sample.Plan, queries int) error {
	if p.BatchSize == 0 {
		p.BatchSize = BatchSize
	}
	if p.PerPositive == 0 {
		p.PerPositive = 1
	}
	switch {
	case p.BatchSize < 0:
		return fmt.Errorf("batches of %d events, must be at least 1", p.BatchSize)
	case p.PerPositive < 0:
		return fmt.Errorf("%d negatives for each positive, must be at least 1", p.PerPositive)
	case p.Order != "" && p.Order != protocol.Strict && p.Order != protocol.Arrival:
		return protocol.Check("order", p.Order, protocol.Orders())
	case p.Sampling != "" && p.Sampling != protocol.Reference && p.Sampling != protocol.Native:
		return protocol.Check("sampling", p.Sampling, protocol.Samplings())
	}
	if err := plan.Check(p.Past); err != nil {
		return err
	}
	if queries > 0 {
		return fits(plan, float64(queries))
	}
	// more than an int can hold, if someone asks for that
	return fits(plan, float64(p.BatchSize)*(1+float64(p.PerPositive)))
}

// Bytes is about what the batches of a pass under way take in main memory, for a plan.
func (p Pass) Bytes(plan sample.Plan) float64 {
	return stepsUnderWay * float64(p.BatchSize) * (1 + float64(max(1, p.PerPositive))) * (plan.Bytes(1) + queryBytes)
}

// fits says why batches of this many queries cannot be gathered on this machine.
func fits(plan sample.Plan, queries float64) error {
	need := stepsUnderWay * queries * (plan.Bytes(1) + queryBytes)
	const little = 16 << 20 // always there, and not worth the time to ask
	if need < little {
		return nil
	}
	if free := float64(memory.Available()); free > 0 && need > free {
		return fmt.Errorf("the histories of %.0f queries, %d positions each, take %.1f GiB, and %.1f GiB are free: "+
			"ask for shorter ones or fewer in a batch", queries, plan.Longest(), need/(1<<30), free/(1<<30))
	}
	return nil
}
