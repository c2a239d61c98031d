package eval

import (
	"context"
	"fmt"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/internal/collective"
	"github.com/dygmamba/dygmamba/replay"
)

// Among is the protocol whose evaluations of links are shared by the ranks of a group.
func (p *Protocol) Among(g *collective.Group) *Protocol {
	return p.With(func(o *Options) { o.Ranks = g })
}

// together asks about every batch on one of the ranks, and measures all answers on each: in the order of the batches,
// so that every rank finds what one process alone would. Whole batches are shared and no parts of them: a model whose
// answers depend on the rest of the batch then says the same.
func (t *tally) together(ctx context.Context, s replay.Scorer, p replay.Pass, events *event.Log) error {
	p.Part = &replay.Part{Rank: t.ranks.Rank(), Size: t.ranks.Size()}
	var all []question
	var own []float32
	lengths := make([]int, t.ranks.Size()) // of the scores of each rank
	for step, err := range p.Batches(ctx, s, events.All()) {
		if err != nil {
			return err
		}
		q := question{batch: step.Number, positives: step.Span.Len()}
		q.queries = append(q.queries, step.Batch.Queries...)
		all = append(all, q)
		lengths[step.Number%len(lengths)] += len(q.queries)
		t.hash.add(q.queries, q.positives)
		t.asked += q.positives
		if step.Other {
			continue
		}
		n := len(own)
		own = append(own, make([]float32, len(q.queries))...)
		if err := s.Score(step.Batch, own[n:]); err != nil {
			return fmt.Errorf("score batch %d: %w", q.batch, err)
		}
	}
	scores := make([][]float32, len(lengths))
	into := make([][]byte, len(lengths))
	for i, n := range lengths {
		scores[i] = make([]float32, n)
		into[i] = collective.Bytes(scores[i])
	}
	if err := t.ranks.AllGatherFixed(ctx, collective.Bytes(own), into); err != nil {
		return err
	}
	for i := range all {
		q, from := &all[i], &scores[i%len(scores)]
		q.scores, *from = (*from)[:len(q.queries)], (*from)[len(q.queries):]
		if err := t.measure(q); err != nil {
			return err
		}
	}
	return nil
}
