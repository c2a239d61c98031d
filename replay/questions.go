package replay

import (
	"context"
	"iter"
	"slices"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/sample"
)

// Questions gathers for queries that belong to no batch of a pass: what a user asks, or what an evaluation asks while
// its pass stands at a batch. It keeps its memory; the zero value is ready to be prepared.
type Questions struct {
	pass    Pass
	plan    sample.Plan
	most    int
	batches [2]sample.Batch
	turn    int
}

// Prepare sets what is asked: what a plan wants to know, of the pass's past, at most this many queries in a batch. 0 is
// as many as a batch of the pass has with its negatives. Neighbours that are picked at random are drawn from the start.
func (q *Questions) Prepare(p Pass, plan sample.Plan, most int) error {
	if err := p.check(plan, most); err != nil {
		return err
	}
	if most == 0 {
		most = 2 * p.BatchSize
	}
	if plan.Picker != nil {
		plan.Picker = sample.Bind(plan.Picker, p.Past, p.Sampling, p.Seed)
	}
	q.pass, q.plan, q.most = p, plan, most
	return nil
}

// Gather gathers for the queries of one batch. It stays valid until the call after the next.
func (q *Questions) Gather(qs []sample.Query) *sample.Batch {
	b := &q.batches[q.turn%len(q.batches)]
	q.turn++
	b.Positives, b.Events = len(qs), event.Span{}
	sample.Gatherer{Threads: q.pass.Threads}.Gather(q.pass.Past, q.plan, qs, b)
	return b
}

// Batches gathers for any number of queries, in order.
func (q *Questions) Batches(ctx context.Context, qs []sample.Query) iter.Seq2[*sample.Batch, error] {
	return q.Parts(ctx, slices.Chunk(qs, max(1, q.most)))
}

// Parts gathers for queries in batches that were cut already. An error is that of the context,
// or says that the past cannot be read, and ends the loop.
func (q *Questions) Parts(ctx context.Context, parts iter.Seq[[]sample.Query]) iter.Seq2[*sample.Batch, error] {
	return func(yield func(*sample.Batch, error) bool) {
		for part := range parts {
			if err := ctx.Err(); err != nil {
				yield(nil, err)
				return
			}
			var b *sample.Batch
			if err := event.Guard(func() { b = q.Gather(part) }); err != nil {
				yield(nil, err)
				return
			}
			if !yield(b, nil) {
				return
			}
		}
	}
}
