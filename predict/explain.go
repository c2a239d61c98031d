package predict

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/index"
	"github.com/dygmamba/dygmamba/internal/jsonobject"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/protocol"
	"github.com/dygmamba/dygmamba/sample"
)

// Explanation says what an answer rests on. Its JSON form is that of predict --explain.
type Explanation struct {
	Query       Query   `json:"-"`
	Logit       float32 `json:"logit"`
	Probability float64 `json:"probability"`

	// Gaps are the times between the pair's own meetings, oldest first, and from the last one to the query: as many as
	// the model looks at, or as there are.
	Gaps []float32 `json:"gaps"`
	// WithoutGaps is the answer of a model that does not know the gaps, WithoutMeetings that of one that does not know
	// of the pair's meetings at all: they are missing from both histories too. Nil where there was nothing to withhold.
	WithoutGaps     *Effect `json:"without_gaps"`
	WithoutMeetings *Effect `json:"without_meetings"`

	// Facts are what the model knows beside histories and gaps. In JSON each stands under its own key.
	Facts []Fact `json:"-"`

	Weighted    bool `json:"weighted"` // the model weighs patches; otherwise weights are 0 and no patch is withheld
	Source      Side `json:"source"`
	Destination Side `json:"destination"`

	Curve []CurvePoint `json:"curve,omitempty"` // the same pair around that time, if Predictor.CurvePoints asks for it
}

// Fact is something that the model knows beside histories and gaps, and the answer without it.
type Fact struct {
	model.Fact
	Without *Effect
}

// MarshalJSON adds the answer without a fact to what the fact says.
func (f Fact) MarshalJSON() ([]byte, error) {
	return jsonobject.Join(f.Fact, map[string]*Effect{"without": f.Without})
}

// MarshalJSON adds facts under their keys.
func (e Explanation) MarshalJSON() ([]byte, error) {
	type plain Explanation
	facts := map[string]Fact{}
	for _, f := range e.Facts {
		facts[f.Key()] = f
	}
	return jsonobject.Join(plain(e), facts)
}

// Side is what one of the query's two nodes had done.
type Side struct {
	Node    event.Node `json:"-"`
	Name    string     `json:"node"`
	Events  int        `json:"events"` // that the model looks at
	Patches []Patch    `json:"patches"`

	older index.History // events before these, which come in when some of these are missing
}

// Patch is a stretch of a history that the model looks at as a whole, from the oldest to the newest. Short histories
// begin with patches of padding alone, which have weights too; the last patch ends with the node itself.
type Patch struct {
	Weight float32     `json:"weight"` // the model's β; those of a side add up to 1
	Events []PastEvent `json:"events"`
	// Without is the answer when this patch's events are missing from this side's history, as if they had not happened:
	// older ones take their place, and the gaps stay. It is known for the most weighted patches that have events.
	Without *Effect `json:"without,omitempty"`
}

// PastEvent is an interaction of a side's node.
type PastEvent struct {
	Other event.Node `json:"-"`
	Name  string     `json:"node"` // the other one
	Time  event.Time `json:"time"`
	Edge  event.Edge `json:"edge"`
	Kind  string     `json:"kind,omitempty"` // where events have kinds
}

// Effect is what an answer becomes when something is withheld.
type Effect struct {
	Logit       float32 `json:"logit"`
	Probability float64 `json:"probability"`
	Change      float32 `json:"change"` // of the logit: negative if what was withheld spoke for a meeting
}

// Explain answers queries as Score does, and says why. It asks the model again for everything that is withheld: with
// weights of patches, up to 3 + 2·Top times as much work as scoring, and 1 + 2·CurvePoints times for a curve.
// What a model remembers cannot be withheld, only what it looks up.
func (p *Predictor) Explain(ctx context.Context, qs []Query) ([]Explanation, error) {
	if err := checkQueries(qs); err != nil {
		return nil, err
	}
	all, err := byGroup(ctx, p, qs, func(some []Query, done int) ([]Explanation, error) {
		return p.explainAll(ctx, some, done, len(qs))
	})
	if err != nil || p.CurvePoints < 1 {
		return all, err
	}
	curves, err := p.Curves(ctx, qs, p.CurvePoints)
	for i, c := range curves {
		all[i].Curve = c
	}
	return all, err
}

// ExplainNow is Explain with what the model remembers at this moment, whatever the times of the queries. An evaluation
// has an order of its own in which a model learns of events, and this is how to ask within it.
func (p *Predictor) ExplainNow(ctx context.Context, qs []Query) ([]Explanation, error) {
	if err := checkQueries(qs); err != nil {
		return nil, err
	}
	return p.explainAll(ctx, qs, 0, len(qs))
}

// explainAll explains queries batch by batch, with the model as it is now. Before are the queries of the whole that are
// done already.
func (p *Predictor) explainAll(ctx context.Context, qs []Query, before, total int) ([]Explanation, error) {
	if err := p.oneLogit("explain"); err != nil {
		return nil, err
	}
	qs = p.subjects(qs)
	altered := newCounterfactuals(p)
	all := make([]Explanation, 0, len(qs))
	for b, err := range p.gather(ctx, qs, altered.plan) {
		var found []Explanation
		if err == nil {
			found, err = p.explain(b, altered)
		}
		if err != nil {
			return nil, fmt.Errorf("explain: %w", err)
		}
		all = append(all, found...)
		if tell := p.options.OnBatch; tell != nil {
			tell(before+len(all), total)
		}
	}
	return all, nil
}

func (p *Predictor) explain(b *sample.Batch, d *counterfactuals) ([]Explanation, error) {
	seen, err := p.weigh(b)
	if err != nil {
		return nil, err
	}
	d.pad(b)
	found := make([]Explanation, len(b.Queries))
	for i := range found {
		found[i] = p.describe(b, i, seen, d)
		if err := d.raise(&found[i]); err != nil {
			return nil, err
		}
	}
	return found, d.settle()
}

// describe puts down what is known of query i of a batch before anything is withheld.
func (p *Predictor) describe(b *sample.Batch, i int, seen sight, d *counterfactuals) Explanation {
	q := b.Queries[i]
	return Explanation{
		Query: q, Logit: seen.logits[i], Probability: p.Probability(seen.logits[i]), Gaps: gapsOf(b, i),
		Facts: p.facts(b, i), Weighted: seen.weights != nil,
		Source:      p.side(q.Src, q.Time, b, d.shown[sample.Src], i, seen),
		Destination: p.side(q.Dst, q.Time, b, d.shown[sample.Dst], i, seen),
	}
}

// facts are what the model knows of query i beside histories and gaps.
func (p *Predictor) facts(b *sample.Batch, i int) (list []Fact) {
	if m, ok := p.model.(model.Explainer); ok {
		for _, f := range m.Facts(b, i, p.nameOf) {
			list = append(list, Fact{Fact: f})
		}
	}
	return list
}

// gapsOf are those of query i that there are.
func gapsOf(b *sample.Batch, i int) []float32 {
	each := len(b.Gaps) / len(b.Queries)
	row := b.Gaps[i*each : (i+1)*each]
	for len(row) > 0 && row[0] == sample.Never {
		row = row[1:]
	}
	return append([]float32{}, row...)
}

// side is row i of a draw as the model sees it; without weights every event stands for itself.
func (p *Predictor) side(n event.Node, at event.Time, b *sample.Batch, draw, i int, seen sight) Side {
	weights := seen.row(draw, i)
	times := map[event.Edge]event.Time{} // the row's are rounded
	h := p.view().Before(n, at)
	for k, edge := range h.Edge {
		times[edge] = h.Time[k]
	}
	s := Side{Node: n, Name: p.nameOf(n), Patches: make([]Patch, len(weights))}
	for k, w := range weights {
		s.Patches[k] = Patch{Weight: w, Events: []PastEvent{}}
	}
	if draw < 0 { // the model looks nothing up
		return s
	}
	r := &b.Rows[draw]
	row := i * r.Len
	for k, edge := range r.Edge[row : row+r.Len] {
		if edge == 0 {
			continue // padding, or the node itself
		}
		if weights == nil {
			s.Patches = append(s.Patches, Patch{})
		}
		patch := &s.Patches[len(s.Patches)-1]
		if weights != nil {
			patch = &s.Patches[k*len(weights)/r.Len]
		}
		other := r.Node[row+k]
		patch.Events = append(patch.Events, PastEvent{other, p.nameOf(other), times[edge], edge,
			p.kindOf(edge, times[edge])})
		s.Events++
	}
	if p.model.Plan().Picker == nil { // otherwise others would have been picked
		s.older = olderThan(s, h)
	}
	return s
}

// olderThan is what a history has before the events of a side, if these are its latest.
func olderThan(s Side, h index.History) index.History {
	n := h.Len() - s.Events
	i := n
	for _, patch := range s.Patches {
		for _, e := range patch.Events {
			if i < 0 || h.Edge[i] != e.Edge {
				return index.History{}
			}
			i++
		}
	}
	return index.History{Node: h.Node[:n], Edge: h.Edge[:n], Time: h.Time[:n]}
}

// kindOf is the name of the kind of an event, "" where events have none.
func (p *Predictor) kindOf(edge event.Edge, at event.Time) string {
	if p.log == nil || p.options.Set == nil || len(p.options.Set.Kinds) == 0 {
		return ""
	}
	all := p.log.All()
	i := 0 // late events may stand anywhere
	if p.log.Sorted() {
		i, _ = slices.BinarySearch(all.Time, at)
	}
	for ; i < all.Len(); i++ {
		if all.Edge(i) == edge {
			return p.options.Set.KindName(all.Kind(i))
		}
	}
	return ""
}

func (p *Predictor) nameOf(n event.Node) string {
	switch o := p.options; {
	case o.Names != nil:
		return o.Names.Name(n)
	case o.Set != nil:
		return o.Set.Names.Name(n)
	}
	return fmt.Sprint(n)
}

// top are the most weighted patches that have events.
func (s *Side) top(n int) []int {
	var list []int
	for k, p := range s.Patches {
		if len(p.Events) > 0 {
			list = append(list, k)
		}
	}
	slices.SortStableFunc(list, func(a, b int) int { return cmp.Compare(s.Patches[b].Weight, s.Patches[a].Weight) })
	return list[:min(max(n, 0), len(list))]
}

// CurvePoint is the answer about a query's pair at another time.
type CurvePoint struct {
	Time        event.Time `json:"time"`
	Probability float64    `json:"probability"`
}

// Curves asks about the pair of each query again and again, at this many points before its time and as many after it,
// and at its own: over a week either way where times are dates, otherwise over a twentieth of what the stream lasts.
// Each answer rests on the events strictly before its own time. In the order of arrival a model that remembers cannot
// be asked about what was, so that times up to the last event are left out.
func (p *Predictor) Curves(ctx context.Context, qs []Query, points int) ([][]CurvePoint, error) {
	if err := checkQueries(qs); err != nil {
		return nil, err
	}
	curves := make([][]CurvePoint, len(qs))
	reach := p.reach()
	if points < 1 || reach == 0 || p.spec.Task.OfEvents() {
		return curves, nil
	}
	after := math.Inf(-1)
	if p.stream != nil && p.spec.Order == protocol.Arrival && p.log.Len() > 0 {
		after = slices.Max(p.log.All().Time)
	}
	var asked []Query
	for i, q := range qs {
		for k := -points; k <= points; k++ {
			at := q
			at.Time += reach * float64(k) / float64(points)
			if at.Time > after {
				asked, curves[i] = append(asked, at), append(curves[i], CurvePoint{Time: at.Time})
			}
		}
	}
	tell := p.options.OnBatch
	p.options.OnBatch = nil // who listens counts queries
	logits, err := p.Score(ctx, asked)
	p.options.OnBatch = tell
	if err != nil {
		return nil, fmt.Errorf("curve: %w", err)
	}
	for _, c := range curves {
		for k := range c {
			c[k].Probability, logits = p.Probability(logits[0]), logits[1:]
		}
	}
	return curves, nil
}

// reach is how far a curve goes, 0 where nobody knows the stream.
func (p *Predictor) reach() float64 {
	if p.options.Set != nil && p.options.Set.Clock().Known() {
		const week = 7 * 24 * 3600
		return week * p.options.Set.Clock().Second()
	}
	if p.log == nil || p.log.Len() == 0 {
		return 0
	}
	times := p.log.All().Time
	return (slices.Max(times) - slices.Min(times)) / 20
}
