package eval

import (
	"cmp"
	"context"
	"errors"
	"runtime"
	"slices"
	"sort"
	"sync"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/index"
	"github.com/dygmamba/dygmamba/internal/await"
	"github.com/dygmamba/dygmamba/internal/memory"
	"github.com/dygmamba/dygmamba/protocol"
	"github.com/dygmamba/dygmamba/replay"
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
	tested, err := await.Do(ctx, func() (*counted, error) { return p.countTrained(), nil })
	if err != nil {
		return nil, err
	}
	var rows sync.WaitGroup
	var telling sync.Mutex // guards done and OnBatch
	done, errs := 0, make([]error, len(all))
	turns := make(chan struct{}, runtime.GOMAXPROCS(0))
	for i := range all {
		rows.Go(func() {
			turns <- struct{}{}
			defer func() { <-turns }()
			errs[i] = p.history(ctx, &all[i], tested, func(n int) {
				telling.Lock()
				defer telling.Unlock()
				if done += n; p.options.OnBatch != nil {
					p.options.OnBatch(done, total)
				}
			})
		})
	}
	rows.Wait()
	return all, cmp.Or(ctx.Err(), errors.Join(errs...))
}

// history fills in a row and tells of the events of every batch.
func (p *Protocol) history(ctx context.Context, h *History, tested *counted, tell func(events int)) error {
	part, _ := PartOf(h.Scenario)
	pass, err := await.Do(ctx, func() (replay.Pass, error) { return p.questions(part, h.Strategy) })
	if err != nil {
		return err
	}
	pass.Negatives.Reset()
	earlier, ahead := p.earlier(tested)
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
		ahead(span, drawn)
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
// time goes on, so no question may be about an earlier time than the one before, nor about one before the test. Ahead
// is told who will be asked about.
func (p *Protocol) earlier(
	tested *counted,
) (count func(event.Node, event.Time) int, ahead func(event.Span, []sample.Query)) {
	if tested == nil {
		past := p.full()
		return func(n event.Node, t event.Time) int { return past.Before(n, t).Len() },
			func(event.Span, []sample.Query) {}
	}
	all, own := p.split.Full.All(), tested.clone()
	return func(n event.Node, t event.Time) int {
		own.goOn(all, t)
		return int(own.counts[n])
	}, own.ahead
}

// NegativesHash is Result.Negatives of an evaluation, found without asking a scorer; "" where there are none.
func (p *Protocol) NegativesHash(ctx context.Context, part Part, strategy protocol.Negatives) (string, error) {
	if p.Task() != protocol.LinkPrediction {
		return "", nil
	}
	pass, err := p.questions(part, strategy)
	if err != nil {
		return "", err
	}
	pass.Negatives.Reset()
	h := newNegativesHash()
	for step, err := range pass.Batches(ctx, onlooker{}, p.Events(part).All()) {
		if err != nil {
			return "", err
		}
		h.add(step.Batch.Queries, step.Span.Len())
	}
	return h.String(), nil
}

// onlooker wants nothing gathered.
type onlooker struct{}

func (onlooker) Plan() sample.Plan { return sample.Plan{} }

// counted is how many interactions each node has among the first events.
type counted struct {
	counts  []uint32
	done    int
	touched uint32 // of no meaning: what ahead read
}

// countTrained counts the events before the test, which all rows have in common; nil where events are in no order.
func (p *Protocol) countTrained() *counted {
	full := p.split.Full
	if !full.Sorted() {
		return nil
	}
	c := &counted{}
	if test := p.split.Test.All(); test.Len() > 0 {
		c.done = sort.SearchFloat64s(full.All().Time, test.Time[0])
	}
	c.counts = index.Totals(full, c.done)
	return c
}

func (c *counted) clone() *counted {
	own := &counted{counts: memory.Huge(make([]uint32, len(c.counts))), done: c.done}
	copy(own.counts, c.counts)
	return own
}

// ahead reads the counts of a batch before any is needed, so that the waits for memory overlap.
func (c *counted) ahead(events event.Span, drawn []sample.Query) {
	for i, u := range events.Src {
		c.touched += c.counts[u] + c.counts[events.Dst[i]]
	}
	for _, q := range drawn {
		c.touched += c.counts[q.Src] + c.counts[q.Dst]
	}
}

// goOn counts the events before a time.
func (c *counted) goOn(all event.Span, t event.Time) {
	for ; c.done < all.Len() && all.Time[c.done] < t; c.done++ {
		c.counts[all.Src[c.done]]++
		c.counts[all.Dst[c.done]]++
	}
}
