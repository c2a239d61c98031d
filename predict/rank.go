package predict

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/internal/shortlist"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/sample"
)

// ErrNoRank says that a model does not answer whom a node will meet.
var ErrNoRank = errors.New("cannot rank")

// Partner is a candidate and how likely the source meets it.
type Partner struct {
	Node        event.Node
	Logit       float32
	Probability float64
	Meetings    int // of the two before that time
}

// Rank gives the k most likely partners of a source at a time, the best first; below 1 is all of them. Those with
// equal scores stay in the order of the candidates, of which each counts once. Nil candidates are all nodes that were
// a destination before that time, in the order of their ids, without the source itself unless it has met itself.
//
// A candidate has the score that Score gives if it is asked about nothing else, also where neighbours are picked at
// random or rows are as long as the longest of their batch. On the CPU it is the same to the last digit.
func (p *Predictor) Rank(ctx context.Context, src event.Node, at event.Time, candidates []event.Node, k int,
) ([]Partner, error) {
	return p.RankOf(ctx, Query{Src: src, Time: at}, candidates, k)
}

// RankOf is Rank for the source, time and kind of a query; its destination is not looked at.
func (p *Predictor) RankOf(ctx context.Context, q Query, candidates []event.Node, k int) ([]Partner, error) {
	found, err := p.ranking(ctx, q, candidates, k, false)
	return found.Partners, err
}

// Ranking is the best partners of a source, the best first, and how they were found.
type Ranking struct {
	Partners   []Partner
	Candidates int // that there were
	Scored     int // by the model; fewer than Candidates: the others were judged by facts that are cheap to know
}

// Best is Rank without asking the model about every candidate. It asks about those that are likely to be among the best
// k, judging by what it has said of others, until few of the best are expected to be missing: see package
// internal/shortlist. Logits are the model's own. Few candidates, and k below 1, are all asked about. What is found
// depends on the events before the time alone, so that a server finds the same.
func (p *Predictor) Best(ctx context.Context, src event.Node, at event.Time, candidates []event.Node, k int,
) (Ranking, error) {
	return p.BestOf(ctx, Query{Src: src, Time: at}, candidates, k)
}

// BestOf is Best for the source, time and kind of a query; its destination is not looked at.
func (p *Predictor) BestOf(ctx context.Context, q Query, candidates []event.Node, k int) (Ranking, error) {
	return p.ranking(ctx, q, candidates, k, k > 0)
}

// ranking finds the best k candidates, of a short list where that is allowed.
func (p *Predictor) ranking(ctx context.Context, q Query, candidates []event.Node, k int, short bool,
) (found Ranking, err error) {
	src, at := q.Src, q.Time
	if p.spec.Task.OfEvents() {
		return found, fmt.Errorf("%w: %s was trained on the task %s, want a model of links", ErrNoRank, p.name,
			p.spec.Task)
	}
	if err := checkQueries([]Query{{Src: src, Dst: src, Time: at}}); err != nil {
		return found, err
	}
	if candidates == nil {
		if p.log == nil {
			return found, fmt.Errorf("%w: no data set tells who was a destination, want candidates", ErrNoRank)
		}
		candidates = p.destinations(src, at)
	} else if candidates, err = distinctCandidates(src, at, candidates); err != nil {
		return found, err
	}
	found.Candidates = len(candidates)
	if len(candidates) == 0 {
		found.Partners = []Partner{}
		return found, nil
	}
	ask := func([]int) (err error) {
		found.Partners, err = p.rank(ctx, q, candidates, k, short)
		return err
	}
	if p.stream == nil {
		err = ask(nil)
	} else {
		err = p.stream.visit(ctx, []Query{{Src: src, Dst: src, Time: at}}, ask)
	}
	if err != nil {
		return Ranking{}, err
	}
	found.Scored = len(found.Partners)
	slices.SortStableFunc(found.Partners, func(a, b Partner) int { return cmp.Compare(b.Logit, a.Logit) })
	if k > 0 {
		found.Partners = found.Partners[:min(k, len(found.Partners))]
	}
	p.countMeetings(src, at, found.Partners)
	return found, nil
}

// distinctCandidates lists candidates, each once.
func distinctCandidates(src event.Node, at event.Time, candidates []event.Node) ([]event.Node, error) {
	listed := make(map[event.Node]bool, len(candidates))
	list := make([]event.Node, 0, len(candidates))
	for i, n := range candidates {
		if err := (event.Event{Src: src, Dst: n, Time: at}).Check(); err != nil {
			return nil, fmt.Errorf("candidates: row %d: %w", i, err)
		}
		if !listed[n] {
			listed[n] = true
			list = append(list, n)
		}
	}
	return list, nil
}

// countMeetings fills in how often partners met the source.
func (p *Predictor) countMeetings(src event.Node, at event.Time, partners []Partner) {
	met := map[event.Node]int{}
	for _, n := range p.view().Before(src, at).Node {
		met[n]++
	}
	for i := range partners {
		partners[i].Meetings = met[partners[i].Node]
	}
}

// rank scores candidates with the model as it is now: all of them, or those of a short list for the best k.
func (p *Predictor) rank(ctx context.Context, of Query, candidates []event.Node, k int, short bool) ([]Partner, error) {
	list := make([]Partner, 0, len(candidates))
	add := func(n event.Node, logit float32) {
		list = append(list, Partner{Node: n, Logit: logit, Probability: p.Probability(logit)})
	}
	if !short {
		logits, err := p.rankAlike(ctx, of, candidates)
		for i, x := range logits {
			add(candidates[i], x)
		}
		return list, err
	}
	q := shortlist.Question{Past: p.view(), Src: of.Src, At: of.Time, Candidates: candidates, Best: k}
	for _, d := range p.model.Plan().Draws {
		q.Reads = max(q.Reads, d.Neighbors)
	}
	var asked []shortlist.Asked
	var err error
	guarded := event.Guard(func() {
		asked, err = shortlist.Find(q, func(places []int) ([]float32, error) {
			nodes := make([]event.Node, len(places))
			for i, place := range places {
				nodes[i] = candidates[place]
			}
			return p.rankAlike(ctx, of, nodes)
		})
	})
	for _, a := range asked {
		add(candidates[a.Place], a.Logit)
	}
	return list, cmp.Or(guarded, err)
}

// LogitsNow gives the logit of a source with each candidate, as Rank would find it, with what the model remembers for
// an evaluation at this moment, whatever the time: as ExplainNow does.
func (p *Predictor) LogitsNow(ctx context.Context, src event.Node, at event.Time, candidates []event.Node,
) ([]float32, error) {
	if p.stream != nil {
		if err := p.stream.give(); err != nil {
			return nil, err
		}
	}
	return p.rankAlike(ctx, Query{Src: src, Time: at}, candidates)
}

// rankAlike scores candidates in an order of its own: that of how much they have done. Rows of one batch are then
// alike, and a model that computes what is equal only once has the least to do.
func (p *Predictor) rankAlike(ctx context.Context, of Query, candidates []event.Node) ([]float32, error) {
	src, at := of.Src, of.Time
	plan, sided := p.scorer.SidedPlan()
	plan.Alone, plan.ByCall = true, false // what follows sees to it that no candidate matters to another
	order, lengths := p.byLength(plan, at, candidates)
	qs := make([]Query, len(order))
	for i, c := range order {
		qs[i] = Query{Src: src, Dst: candidates[c], Time: at, Kind: of.Kind}
	}
	size := 2 * p.spec.Training.BatchSize // a step of training has as many: events and what did not happen
	parts, score := slices.Chunk(qs, size), p.scorer.ScoreAlike
	switch {
	case sided:
		parts, score = pairedChunks(src, qs, size), p.scorer.ScorePaired
	case slices.ContainsFunc(plan.Draws, func(d sample.Draw) bool { return d.RowLen == 0 }): // as long as the longest
		parts = evenChunks(qs, lengths, size)
	}
	logits, done := make([]float32, len(qs)), 0
	for b, err := range p.gatherParts(ctx, parts, min(size, len(qs)), plan) {
		if err != nil {
			return nil, fmt.Errorf("rank: %w", err)
		}
		n := len(b.Queries)
		if sided {
			n = min(2*n-1, len(logits)-done)
		}
		if err := score(b, logits[done:done+n]); err != nil {
			return nil, fmt.Errorf("rank: %w", err)
		}
		done += n
		if tell := p.options.OnBatch; tell != nil {
			tell(done, len(qs))
		}
	}
	found := make([]float32, len(qs))
	for i, c := range order {
		if notFinite(logits[i]) {
			return nil, fmt.Errorf("rank: %d and %d at %v got %v, want a number; the weights may be broken",
				src, candidates[c], at, logits[i])
		}
		found[c] = logits[i]
	}
	return found, nil
}

// pairedChunks cuts queries into batches of pairs of their destinations, each begun by the source.
func pairedChunks(src event.Node, qs []Query, size int) iter.Seq[[]Query] {
	return func(yield func([]Query) bool) {
		for part := range slices.Chunk(qs, 2*size-1) {
			nodes := append([]Query{{Dst: src, Time: part[0].Time}}, part...)
			if !yield(model.Pair(nodes)) {
				return
			}
		}
	}
}

// byLength orders nodes by how much of their past the plan looks at, which lengths tells in that order.
func (p *Predictor) byLength(plan sample.Plan, at event.Time, nodes []event.Node) (order, lengths []int) {
	most := 0
	for _, d := range plan.Draws {
		most = max(most, d.Neighbors)
	}
	of := make([]int, len(nodes))
	for i, n := range nodes {
		if most > 0 {
			of[i] = min(most, p.view().Before(n, at).Len())
		}
	}
	order = sorted(len(nodes), func(a, b int) int { return cmp.Compare(of[a], of[b]) })
	for _, c := range order {
		lengths = append(lengths, of[c])
	}
	return order, lengths
}

// evenChunks cuts queries into batches of one length each: no row is longer there than it would be alone.
func evenChunks(qs []Query, lengths []int, size int) iter.Seq[[]Query] {
	return func(yield func([]Query) bool) {
		for lo := 0; lo < len(qs); {
			hi := lo + 1
			for hi < len(qs) && hi-lo < size && lengths[hi] == lengths[lo] {
				hi++
			}
			if !yield(qs[lo:hi]) {
				return
			}
			lo = hi
		}
	}
}

// Destinations are the candidates of a ranking that names none: see Rank. There are none without a data set.
func (p *Predictor) Destinations(src event.Node, at event.Time) []event.Node {
	if p.log == nil {
		return nil
	}
	return p.destinations(src, at)
}

// destinations are the nodes that others met before a time, and the source itself if it met itself.
func (p *Predictor) destinations(src event.Node, at event.Time) []event.Node {
	fresh := p.log.Span(p.noticed, p.log.Len())
	for i, n := range fresh.Dst {
		for int(n) >= len(p.seen) {
			p.seen = append(p.seen, math.Inf(1))
		}
		p.seen[n] = min(p.seen[n], fresh.Time[i])
	}
	p.noticed = p.log.Len()
	var list []event.Node
	for n, first := range p.seen {
		if first < at && event.Node(n) != src {
			list = append(list, event.Node(n))
		}
	}
	if slices.Contains(p.view().Before(src, at).Node, src) {
		at, _ := slices.BinarySearch(list, src)
		list = slices.Insert(list, at, src)
	}
	return list
}
