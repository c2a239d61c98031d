package eval

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/internal/next"
	"github.com/dygmamba/dygmamba/protocol"
	"github.com/dygmamba/dygmamba/sample"
)

// Links lets a model of the task "next" answer whether two nodes interact. Where a destination of group g has the
// probability p = P(g)·P(v | g) among n destinations, of which |g| are in the group, ln(p·n) is the log-odds of an
// event against a destination drawn from all alike. Its two parts are weighed by a Relation.
//
// Each question is answered from what was strictly before its time, whatever else is asked with it.
type Links struct {
	relation Relation
	ask      *next.Asker
	walk     *next.Walk
	view     *next.View
	order    []int
	share    map[event.Node]float64
	parts    []linkParts
	kept     *[]linkBatch // what Fit listens to; nil: nobody does
}

// Relation is how the groups stand to each other. With both weights at 1 scores are log-odds. Then the question whether
// two have met may decide so much that the order of first meetings is lost among returning pairs that are not due.
type Relation struct {
	First   float64 `json:"first"`   // of ln(P(v | g)·|g|) where the two have not met; 1 where they have
	Between float64 `json:"between"` // of ln(P(g)·n/|g|)
}

// linkParts are the parts of a score.
type linkParts struct {
	within, between float64
	met             bool
}

func (x linkParts) score(r Relation) float32 {
	if x.met {
		return float32(x.within + r.Between*x.between)
	}
	return float32(r.First*x.within + r.Between*x.between)
}

// linkBatch is what was said of a batch, of which the first are positives.
type linkBatch struct {
	parts     []linkParts
	positives int
}

// NewLinks makes a scorer that looks back on events, which are in the order of time. Features are computed on this many
// threads; 0: as many as Go may use.
func NewLinks(net next.Net, setup next.Setup, events event.Span, threads int) *Links {
	return &Links{relation: Relation{1, 1}, ask: next.NewAsker(net, threads), walk: next.NewWalk(events, setup),
		share: map[event.Node]float64{}}
}

// Plan asks for nothing: counts have their own past.
func (l *Links) Plan() sample.Plan { return sample.Plan{} }

// RankOnly says that scores are no log-odds, as they are for the relation 1, 1 alone.
func (l *Links) RankOnly() {}

// Relation is the one that scores are made with.
func (l *Links) Relation() Relation { return l.relation }

// Score writes the scores of queries, which need not be in order.
func (l *Links) Score(b *sample.Batch, out []float32) error {
	l.order = l.order[:0]
	for i := range b.Queries {
		l.order = append(l.order, i)
	}
	slices.SortStableFunc(l.order, func(i, j int) int {
		x, y := b.Queries[i], b.Queries[j]
		return cmp.Or(cmp.Compare(x.Time, y.Time), cmp.Compare(x.Src, y.Src))
	})
	l.parts = slices.Grow(l.parts[:0], len(b.Queries))[:len(b.Queries)]
	for k := 0; k < len(l.order); { // the queries of one source at one time share an answer
		q := b.Queries[l.order[k]]
		of, err := l.about(q.Src, q.Time)
		if err != nil {
			return fmt.Errorf("source %d at %v: %w", q.Src, q.Time, err)
		}
		for ; k < len(l.order); k++ {
			i := l.order[k]
			if other := b.Queries[i]; other.Src != q.Src || other.Time != q.Time {
				break
			}
			l.parts[i] = of(b.Queries[i].Dst)
			out[i] = l.parts[i].score(l.relation)
		}
	}
	if l.kept != nil {
		*l.kept = append(*l.kept, linkBatch{slices.Clone(l.parts), b.Positives})
	}
	return nil
}

// about asks about all destinations of a source and returns the parts of the score of one of them.
func (l *Links) about(src event.Node, at event.Time) (func(event.Node) linkParts, error) {
	c := l.walk.Before(at)
	w := c.At(l.view, src, at)
	l.view = w
	s, err := l.ask.Shares(w)
	if err != nil {
		return nil, err
	}
	groups, err := l.ask.Groups(w)
	if err != nil {
		return nil, err
	}
	clear(l.share)
	var size [next.Groups]float64
	for i, v := range s.Nodes {
		l.share[v] = s.Share[i]
		size[w.GroupOf(v)]++
	}
	size[next.New] = c.Unseen() // nobody knows how many there are
	all := size[next.Returning] + size[next.First] + size[next.New]
	return func(dst event.Node) linkParts {
		g := w.GroupOf(dst)
		p, seen := l.share[dst]
		if !seen {
			p = s.New / size[next.New]
		}
		log := func(x float64) float64 { return math.Log(max(x, 1e-300)) }
		return linkParts{within: log(p) - log(groups[g]) + log(size[g]), between: log(groups[g]) + log(all/size[g]),
			met: w.Met(dst)}
	}, nil
}

// What Fit tries.
var (
	firstWeights   = []float64{1, 1.2, 1.4, 1.7, 2.2}
	betweenWeights = []float64{1, 0.8, 0.6, 0.4}
)

const (
	relationEvents = 10000 // validation events that are asked about
	firstWorth     = 0.25  // of a point of first meetings' AP, in points of all events' AP
)

// Fit chooses the relation on validation events of a protocol of links, against random negatives. A point of the AP
// of all events is worth four of that of first meetings.
func (l *Links) Fit(ctx context.Context, p *Protocol) error {
	pass, err := p.Pass(Val, protocol.RandomNegatives)
	if err != nil {
		return err
	}
	var kept []linkBatch
	l.kept = &kept
	defer func() { l.kept = nil }()
	events := p.parts[Val]
	if chosen := drawn(events.Len(), relationEvents); len(chosen) < events.Len() {
		events = events.Select(func(i int) bool { _, found := slices.BinarySearch(chosen, int32(i)); return found })
	}
	if err := run(ctx, l, pass, events, newTally(l)); err != nil {
		return fmt.Errorf("relation of the groups: %w", err)
	}
	l.relation = relationOf(kept)
	return nil
}

// relationOf is the best relation for some batches.
func relationOf(kept []linkBatch) Relation {
	var chosen Relation
	best := math.Inf(-1)
	for _, first := range firstWeights {
		for _, between := range betweenWeights {
			r := Relation{first, between}
			ap, firstAP := r.measure(kept)
			if worth := ap + firstWorth*firstAP; worth > best {
				best, chosen = worth, r
			}
		}
	}
	return chosen
}

// measure is the AP of all events, as a mean over batches, and that of first meetings, pooled.
func (r Relation) measure(kept []linkBatch) (ap, first float64) {
	var m Meter
	var firstPos, firstNeg []float32
	for _, b := range kept {
		scores := make([]float32, len(b.parts))
		for i, x := range b.parts {
			scores[i] = x.score(r)
		}
		pos, neg := scores[:b.positives], scores[b.positives:]
		one, _ := m.Score(pos, neg)
		ap += one / float64(len(kept))
		for i, score := range pos {
			if !b.parts[i].met {
				firstPos, firstNeg = append(firstPos, score), append(firstNeg, neg[i])
			}
		}
	}
	if len(firstPos) > 0 {
		first, _ = m.Score(firstPos, firstNeg)
	}
	return ap, first
}
