package audit

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"

	"github.com/dygmamba/dygmamba/eval"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/index"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/protocol"
	"github.com/dygmamba/dygmamba/replay"
	"github.com/dygmamba/dygmamba/sample"
	"github.com/dygmamba/dygmamba/tensor"
)

// mostChange is how far a probability may move when nothing should: sums of float32 in batches of another shape.
const mostChange = 1e-5

var unchanged = fmt.Sprintf("no probability moves by more than %.0e", mostChange)

// probes is how many batches are looked at closely.
const probes = 6

// prober asks a model the same in other circumstances. Neighbours that are picked at random are drawn for each query
// from the start, so that chance is not taken for a leak.
type prober struct {
	scorer replay.Scorer
	pass   replay.Pass
	test   test
	tell   func(done, total int)

	start []tensor.Named // what a model that remembers knows before the test
	nodes []event.Node   // with the longest histories
	found map[string]*change
}

// change is the most that a probability moved.
type change struct {
	most  float64
	moved int
	asked int
	where string
}

// look makes all checks on batches spread over the test.
func (p *prober) look(ctx context.Context, r *Report) error {
	p.found = map[string]*change{}
	memory, remembers := p.scorer.(model.StatefulScorer)
	if remembers {
		var err error
		if p.start, err = memory.Snapshot(); err != nil {
			return err
		}
		defer memory.Restore(p.start)
	}
	p.busiest()
	list := spread(len(p.test.questions))
	for i, k := range list {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := p.batch(k); err != nil {
			return fmt.Errorf("look for leaks in batch %d: %w", k, err)
		}
		if p.tell != nil {
			p.tell(i+1, len(list))
		}
	}
	for _, name := range []string{asAsked, blind, shuffled, cutApart, otherQueries} {
		c := p.found[name]
		if c == nil {
			r.tell(name, "not looked at: neighbours are picked at random, in the order of the queries")
			continue
		}
		found := fmt.Sprintf("%d of %d moved, at most by %.2g", c.moved, c.asked, c.most)
		if c.moved > 0 {
			found += ": " + c.where
		}
		r.leak(name, c.moved == 0, found, unchanged)
	}
	return nil
}

// spread is the numbers of batches to look at: the first two, the last, and some between.
func spread(n int) []int {
	var list []int
	for i := range probes - 1 {
		list = append(list, i*(n-1)/(probes-2))
	}
	list = slices.DeleteFunc(append(list, 1), func(k int) bool { return k < 0 || k >= n })
	slices.Sort(list)
	return slices.Compact(list)
}

func (p *prober) busiest() {
	if p.pass.Past == nil {
		return
	}
	length := func(n event.Node) int { return p.pass.Past.Before(n, math.Inf(1)).Len() }
	for n := range p.pass.Past.NumNodes() {
		p.nodes = append(p.nodes, event.Node(n))
	}
	slices.SortStableFunc(p.nodes, func(a, b event.Node) int { return length(b) - length(a) })
	p.nodes = slices.Clone(p.nodes[:min(16, len(p.nodes))])
}

// batch asks about one batch in all circumstances.
func (p *prober) batch(k int) error {
	q := p.test.questions[k]
	n := q.events.Len()
	if err := p.recall(k, math.Inf(1)); err != nil {
		return err
	}
	usual, err := p.ask(p.pass.Past, q.queries, n)
	if err != nil {
		return err
	}
	plan := p.scorer.Plan()
	if plan.Picker == nil {
		p.compare(asAsked, k, q.queries, slices.Concat(p.test.answers[k].pos, p.test.answers[k].neg), usual, nil)
	}
	if err := p.amongOthers(k, usual); err != nil {
		return err
	}
	for _, at := range []event.Time{q.events.Time[0], q.events.Time[n/2], q.events.Time[n-1]} {
		if err := p.recall(k, at); err != nil {
			return err
		}
		now, err := p.ask(cut{p.pass.Past, at}, q.queries, n)
		if err != nil {
			return err
		}
		p.compare(blind, k, q.queries, usual, now, func(i int) bool { return q.queries[i].Time <= at })
	}
	return nil
}

// amongOthers asks about the queries of a batch among others.
func (p *prober) amongOthers(k int, usual []float32) error {
	q := p.test.questions[k]
	n := q.events.Len()
	order := rand.New(rand.NewPCG(1, uint64(k))).Perm(len(q.queries))
	mixed := make([]sample.Query, len(order))
	for to, from := range order {
		mixed[to] = q.queries[from]
	}
	answers, err := p.ask(p.pass.Past, mixed, len(mixed)) // and nobody says which of them happened
	if err != nil {
		return err
	}
	back := make([]float32, len(order))
	for to, from := range order {
		back[from] = answers[to]
	}
	p.compare(shuffled, k, q.queries, usual, back, nil)

	parts := make([]float32, 0, len(usual))
	var negatives []float32
	against := q.queries[n:] // as many, or none at all
	for lo := 0; lo < n; lo += max(1, (n+2)/3) {
		hi := min(n, lo+max(1, (n+2)/3))
		some, err := p.ask(p.pass.Past, slices.Concat(q.queries[lo:hi],
			against[min(lo, len(against)):min(hi, len(against))]), hi-lo)
		if err != nil {
			return err
		}
		parts, negatives = append(parts, some[:hi-lo]...), append(negatives, some[hi-lo:]...)
	}
	p.compare(cutApart, k, q.queries, usual, append(parts, negatives...), nil)

	var guests []sample.Query
	for i, u := range p.nodes {
		guests = append(guests, sample.Query{Src: u, Dst: p.nodes[len(p.nodes)-1-i], Time: q.events.Time[n-1]})
	}
	guests = slices.DeleteFunc(guests, func(g sample.Query) bool { return g.Src == 0 || g.Dst == 0 })
	// Some among the positives, as many among the negatives: where these are two calls, both have guests.
	more, err := p.ask(p.pass.Past, slices.Concat(q.queries[:n], guests, against, guests), n+len(guests))
	if err != nil {
		return err
	}
	p.compare(otherQueries, k, q.queries, usual, slices.Concat(more[:n],
		more[n+len(guests):n+len(guests)+len(against)]), nil)
	return nil
}

// ask asks about queries as the model is now, looking back on a past.
func (p *prober) ask(past index.View, qs []sample.Query, positives int) ([]float32, error) {
	b := sample.Batch{Positives: positives}
	p.gather(past, p.scorer.Plan(), qs, &b)
	out := make([]float32, len(qs))
	if err := p.scorer.Score(&b, out); err != nil {
		return nil, err
	}
	if _, ranks := p.scorer.(replay.Ranker); !ranks {
		for i, x := range out {
			out[i] = eval.Sigmoid(x)
		}
	}
	return out, nil
}

func (p *prober) gather(past index.View, plan sample.Plan, qs []sample.Query, b *sample.Batch) {
	if plan.Picker != nil {
		plan.Picker, plan.Alone = sample.Bind(plan.Picker, p.pass.Past, p.pass.Sampling, p.pass.Seed), true
	}
	sample.Gatherer{Threads: p.pass.Threads}.Gather(past, plan, qs, b)
}

// recall makes a model remember what it does before batch k of the test, less all events at or after a time.
func (p *prober) recall(k int, at event.Time) error {
	memory, remembers := p.scorer.(model.StatefulScorer)
	if !remembers {
		return nil
	}
	if err := memory.Restore(p.start); err != nil {
		return err
	}
	begins := p.test.questions[k].events.Time[0]
	for _, q := range p.test.questions[:k] {
		unit := q.events
		if p.pass.Order != protocol.Arrival && unit.Time[unit.Len()-1] >= begins {
			break
		}
		n, _ := slices.BinarySearch(unit.Time, at)
		if n == 0 {
			break
		}
		b := sample.Batch{Positives: n, Events: unit.Slice(0, n)}
		p.gather(cut{p.pass.Past, at}, memory.UnitPlan(), q.queries[:n], &b)
		if err := memory.Commit(&b); err != nil {
			return err
		}
	}
	return nil
}

// compare counts what moved, of the queries that are asked for.
func (p *prober) compare(name string, k int, qs []sample.Query, was, is []float32, of func(i int) bool) {
	c := p.found[name]
	if c == nil {
		c = new(change)
		p.found[name] = c
	}
	for i, q := range qs {
		if of != nil && !of(i) {
			continue
		}
		c.asked++
		d := math.Abs(float64(was[i]) - float64(is[i]))
		if d <= mostChange {
			c.most = max(c.most, d)
			continue
		}
		if c.moved++; d > c.most || c.moved == 1 || d != d {
			c.most = d
			c.where = fmt.Sprintf("%d and %d at %s in batch %d, %.5f and then %.5f", q.Src, q.Dst,
				strconv.FormatFloat(q.Time, 'f', -1, 64), k, was[i], is[i])
		}
	}
}

// cut is a past without what lies at or after a time, whatever the view beneath it lets through.
type cut struct {
	index.View
	at event.Time
}

// Events are those before that time.
func (c cut) Events() *event.Log {
	l, ok := c.View.(index.Logged)
	if !ok {
		return nil
	}
	all := l.Events()
	return all.Select(func(i int) bool { return all.All().Time[i] < c.at })
}

func (c cut) Before(n event.Node, t event.Time) index.History {
	h := c.View.Before(n, t)
	keep := len(h.Time)
	for keep > 0 && h.Time[keep-1] >= c.at {
		keep--
	}
	return index.History{Node: h.Node[:keep], Edge: h.Edge[:keep], Time: h.Time[:keep]}
}
