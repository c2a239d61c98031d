package replay

import (
	"iter"
	"slices"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/sample"
)

// Asker gathers for questions that belong to no batch of a pass, while the pass stands at one: about other moments, or
// about other destinations. Neighbours that are picked at random are its own draws.
type Asker struct {
	pass  Pass
	plan  sample.Plan
	batch sample.Batch
}

// Asker asks what a planner wants to know, of the pass's past.
func (p Pass) Asker(by Planner) (*Asker, error) {
	g, err := newGatherer(p, by.Plan())
	if err != nil {
		return nil, err
	}
	return &Asker{pass: g.pass, plan: g.plan}, nil
}

// Batches gathers for queries, of which a batch has as many as one of the pass with its negatives. A batch is valid
// until the next one.
func (a *Asker) Batches(qs []sample.Query) iter.Seq[*sample.Batch] {
	return func(yield func(*sample.Batch) bool) {
		for part := range slices.Chunk(qs, 2*a.pass.BatchSize) {
			a.batch.Positives, a.batch.Events = len(part), event.Span{}
			sample.Gatherer{Threads: a.pass.Threads}.Gather(a.pass.Past, a.plan, part, &a.batch)
			if !yield(&a.batch) {
				return
			}
		}
	}
}
