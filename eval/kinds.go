package eval

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/protocol"
	"github.com/dygmamba/dygmamba/replay"
	"github.com/dygmamba/dygmamba/sample"
)

// MostKinds is how many kinds of events WhichKind tells apart at most: it asks about every one of them.
const MostKinds = 32

// KindResult is how well somebody tells which kind an event will be, given that it happens.
type KindResult struct {
	Events   int       `json:"events"`
	Accuracy float64   `json:"accuracy"` // the likeliest kind is right
	MeanAP   float64   `json:"mean_ap"`  // over the kinds that occur
	AP       []float64 `json:"ap"`       // of each kind against the others, as the data set lists them; 0: none occurs
}

// KindRule is what a simple rule achieves on the same events.
type KindRule struct {
	Rule string `json:"rule"`
	KindResult
}

// WhichKind measures how well a scorer tells the kinds of a part's events: it asks about every kind. What the scorer
// remembers is rewound.
func (p *Protocol) WhichKind(ctx context.Context, s replay.Scorer, part Part) (r KindResult, err error) {
	kinds := p.kinds()
	if kinds < 2 || kinds > MostKinds {
		return r, fmt.Errorf("which kind: the events have %d kinds, must be from 2 to %d", kinds, MostKinds)
	}
	pass, err := p.passFor(s, part, protocol.KindNegatives)
	if err != nil {
		return r, err
	}
	others := &sample.EveryKind{Kinds: kinds}
	pass.Negatives, pass.PerPositive, pass.Kinds = others, others.Rounds(), true
	scores := newKindScores(kinds)
	err = rewound(s, true, func() error { return scores.ask(ctx, s, pass, p.parts[part].All()) })
	return scores.result(), err
}

// kindScores collects how likely each kind of each event was said to be.
type kindScores struct {
	kinds  int
	truth  []event.Kind
	shares []float32 // [events, kinds]
}

func newKindScores(kinds int) *kindScores { return &kindScores{kinds: kinds} }

func (t *kindScores) ask(ctx context.Context, s replay.Scorer, pass replay.Pass, events event.Span) error {
	var logits []float32
	row := make([]float64, t.kinds)
	for step, err := range pass.Batches(ctx, s, events) {
		if err != nil {
			return fmt.Errorf("which kind: %w", err)
		}
		n := step.Span.Len()
		logits = slices.Grow(logits[:0], len(step.Batch.Queries))[:len(step.Batch.Queries)]
		if err := s.Score(step.Batch, logits); err != nil {
			return fmt.Errorf("which kind: %w", err)
		}
		for i := range n {
			for j := i; j < len(logits); j += n {
				if logits[j] != logits[j] {
					return fmt.Errorf("which kind: event %d got NaN, must be a number", len(t.truth))
				}
				row[step.Batch.Queries[j].Kind-1] = float64(logits[j])
			}
			softmax(row)
			t.add(step.Span.Kind(i), row)
		}
	}
	return nil
}

// softmax turns logits into shares.
func softmax(row []float64) {
	most, sum := slices.Max(row), 0.0
	for i, x := range row {
		row[i] = math.Exp(x - most)
		sum += row[i]
	}
	for i := range row {
		row[i] /= sum
	}
}

func (t *kindScores) add(truth event.Kind, shares []float64) {
	t.truth = append(t.truth, truth)
	for _, x := range shares {
		t.shares = append(t.shares, float32(x))
	}
}

func (t *kindScores) result() KindResult {
	r := KindResult{Events: len(t.truth), AP: make([]float64, t.kinds)}
	if r.Events == 0 {
		return r
	}
	right := 0
	for i, truth := range t.truth {
		row := t.shares[i*t.kinds : (i+1)*t.kinds]
		if most := slices.Max(row); truth > 0 && slices.Index(row, most) == int(truth)-1 {
			right++
		}
	}
	r.Accuracy = float64(right) / float64(r.Events)
	var m Meter
	occur := 0
	for k := range t.kinds {
		var pos, neg []float32
		for i, truth := range t.truth {
			if x := t.shares[i*t.kinds+k]; int(truth) == k+1 {
				pos = append(pos, x)
			} else {
				neg = append(neg, x)
			}
		}
		if len(pos) == 0 {
			continue
		}
		r.AP[k], _ = m.Score(pos, neg)
		r.MeanAP += r.AP[k]
		occur++
	}
	r.MeanAP /= float64(max(1, occur))
	return r
}

// KindRules measures rules that count, on the events of a part: each sees the events strictly before its time.
func (p *Protocol) KindRules(part Part) []KindRule {
	kinds := p.kinds()
	asked := map[event.Edge]bool{}
	for i, all := 0, p.parts[part].All(); i < all.Len(); i++ {
		asked[all.Edge(i)] = true
	}
	rules := newKindCounts(kinds)
	all := p.whole.Full.All()
	for lo := 0; lo < all.Len(); {
		hi := lo + 1
		for hi < all.Len() && all.Time[hi] == all.Time[lo] {
			hi++
		}
		for i := lo; i < hi; i++ {
			if asked[all.Edge(i)] {
				rules.ask(all.At(i))
			}
		}
		for i := lo; i < hi; i++ {
			rules.learn(all.At(i))
		}
		lo = hi
	}
	return rules.results()
}

// kindCounts is what rules know: how often each kind was, in all, of each source and destination, and the last kind of
// each source and pair.
type kindCounts struct {
	all              []float64
	sources, targets map[event.Node][]float64
	last             map[event.Node]event.Kind
	pairs            map[[2]event.Node]event.Kind
	byRule           []*kindScores // by rule
	row              []float64
}

var kindRuleNames = []string{"majority", "source_last", "source_majority", "destination_majority", "pair_last"}

func newKindCounts(kinds int) *kindCounts {
	c := &kindCounts{all: make([]float64, kinds), sources: map[event.Node][]float64{},
		targets: map[event.Node][]float64{}, last: map[event.Node]event.Kind{},
		pairs: map[[2]event.Node]event.Kind{}, row: make([]float64, kinds)}
	for range kindRuleNames {
		c.byRule = append(c.byRule, newKindScores(kinds))
	}
	return c
}

func (c *kindCounts) learn(e event.Event) {
	if e.Kind == 0 {
		return
	}
	for _, m := range []struct {
		of   map[event.Node][]float64
		node event.Node
	}{{c.sources, e.Src}, {c.targets, e.Dst}} {
		if m.of[m.node] == nil {
			m.of[m.node] = make([]float64, len(c.all))
		}
		m.of[m.node][e.Kind-1]++
	}
	c.all[e.Kind-1]++
	c.last[e.Src], c.pairs[[2]event.Node{e.Src, e.Dst}] = e.Kind, e.Kind
}

// ask lets every rule tell the kind of an event. One that knows nothing of it says what the next wider one does.
func (c *kindCounts) ask(e event.Event) {
	c.byRule[0].add(e.Kind, c.shares(c.all, nil))
	c.byRule[1].add(e.Kind, c.one(c.last[e.Src], c.all))
	c.byRule[2].add(e.Kind, c.shares(c.sources[e.Src], c.all))
	c.byRule[3].add(e.Kind, c.shares(c.targets[e.Dst], c.all))
	if kind := c.pairs[[2]event.Node{e.Src, e.Dst}]; kind != 0 {
		c.byRule[4].add(e.Kind, c.one(kind, nil))
	} else {
		c.byRule[4].add(e.Kind, c.shares(c.sources[e.Src], c.all))
	}
}

// shares are those of counts, or of others where there are none. They are valid until the next call.
func (c *kindCounts) shares(counts, others []float64) []float64 {
	if counts == nil {
		counts = others
	}
	sum := 0.0
	for _, n := range counts {
		sum += n
	}
	for i := range c.row {
		c.row[i] = 0
		if sum > 0 {
			c.row[i] = counts[i] / sum
		}
	}
	return c.row
}

// one is all of one kind, or the shares of counts where it is not known.
func (c *kindCounts) one(kind event.Kind, counts []float64) []float64 {
	if kind == 0 {
		return c.shares(counts, nil)
	}
	clear(c.row)
	c.row[kind-1] = 1
	return c.row
}

func (c *kindCounts) results() []KindRule {
	var list []KindRule
	for i, name := range kindRuleNames {
		list = append(list, KindRule{name, c.byRule[i].result()})
	}
	return list
}
