package eval

import (
	"cmp"
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/protocol"
	"github.com/dygmamba/dygmamba/sample"
)

// History is how much of the past there is to answer the queries of a scenario from, under one kind of negatives.
type History struct {
	Scenario protocol.Scenario
	Strategy protocol.Negatives
	dataset.Availability
}

// Histories measures the history of all test queries, in one walk over the events for every row, on all processors.
// Scenarios without events are left out. OnBatch is told of the events of all rows together.
func (p *Protocol) Histories(ctx context.Context) ([]History, error) {
	var all []History
	total := 0
	for _, scenario := range protocol.Scenarios() {
		part, _ := PartOf(scenario)
		for _, strategy := range protocol.Published() {
			if n := p.Events(part).Len(); n > 0 {
				all = append(all, History{Scenario: scenario, Strategy: strategy})
				total += n
			}
		}
	}
	var rows sync.WaitGroup
	var telling sync.Mutex // guards done and OnBatch
	done, errs := 0, make([]error, len(all))
	turns := make(chan struct{}, runtime.GOMAXPROCS(0))
	for i := range all {
		rows.Go(func() {
			turns <- struct{}{}
			defer func() { <-turns }()
			errs[i] = p.history(ctx, &all[i], func(n int) {
				telling.Lock()
				defer telling.Unlock()
				if done += n; p.options.OnBatch != nil {
					p.options.OnBatch(done, total)
				}
			})
		})
	}
	rows.Wait()
	return all, errors.Join(errs...)
}

// history fills in a row and tells of the events of every batch.
func (p *Protocol) history(ctx context.Context, h *History, tell func(events int)) error {
	part, _ := PartOf(h.Scenario)
	pass, err := p.questions(part, h.Strategy)
	if err != nil {
		return err
	}
	pass.Negatives.Reset()
	earlier := p.earlier()
	drawn := make([]sample.Query, BatchSize)
	add := func(u, v event.Node, t event.Time) { h.Count(earlier(u, t), earlier(v, t)) }
	for span := range p.Events(part).All().Batches(cmp.Or(pass.BatchSize, BatchSize)) {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, rounds := span.Len(), max(1, pass.PerPositive)
		drawn = slices.Grow(drawn[:0], n*rounds)[:n*rounds]
		for r := range rounds {
			pass.Negatives.Draw(span, drawn[r*n:(r+1)*n])
		}
		for i, t := range span.Time {
			add(span.Src[i], span.Dst[i], t)
			for r := range rounds {
				q := drawn[r*n+i]
				add(q.Src, q.Dst, t)
			}
		}
		tell(n)
	}
	return nil
}

// earlier counts the interactions of nodes strictly before a time. Where events are in the order of time it counts as
// time goes on, so no question may be about an earlier time than the one before.
func (p *Protocol) earlier() func(event.Node, event.Time) int {
	if !p.split.Full.Sorted() {
		past := p.full()
		return func(n event.Node, t event.Time) int { return past.Before(n, t).Len() }
	}
	all, done := p.split.Full.All(), 0
	counts := make([]int32, p.split.Full.NumNodes())
	return func(n event.Node, t event.Time) int {
		for ; done < all.Len() && all.Time[done] < t; done++ {
			counts[all.Src[done]]++
			counts[all.Dst[done]]++
		}
		return int(counts[n])
	}
}
