package predict

import (
	"fmt"
	"slices"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/index"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/sample"
	"github.com/dygmamba/dygmamba/tensor"
)

// sight is what the model says about a batch of n queries.
type sight struct {
	logits  []float32   // [n]
	weights [][]float32 // of each draw [rows, steps], nil for those without; nil: the model has none
	steps   []int       // of each draw
}

// row is the weights of row i of a draw.
func (s sight) row(draw, i int) []float32 {
	if draw < 0 || draw >= len(s.weights) || s.weights[draw] == nil {
		return nil
	}
	return s.weights[draw][i*s.steps[draw] : (i+1)*s.steps[draw]]
}

func (p *Predictor) weigh(b *sample.Batch) (s sight, err error) {
	guarded := tensor.Guard(func() {
		tape := p.freshTape()
		var logits *tensor.Tensor    // [n, 1]
		var weights []*tensor.Tensor // [rows, steps] each
		if w, ok := p.model.(model.Weigher); ok {
			var e model.Embedding
			e, weights = w.Weigh(tape, b)
			logits = p.head.Logit(tape, e)
		} else {
			logits, _ = model.Logits(tape, p.model, p.head, b)
		}
		s.logits = p.host(logits)
		for _, w := range weights {
			if w == nil {
				s.weights, s.steps = append(s.weights, nil), append(s.steps, 0)
			} else {
				s.weights, s.steps = append(s.weights, p.host(w)), append(s.steps, w.Dim(1))
			}
		}
	})
	if guarded != nil {
		return s, guarded
	}
	if i := slices.IndexFunc(s.logits, notFinite); i >= 0 {
		return s, fmt.Errorf("query %d of a batch got %v, want a number; the weights may be broken", i, s.logits[i])
	}
	return s, nil
}

// freshTape is a tape without gradients, at its beginning.
func (p *Predictor) freshTape() *grad.Tape {
	if p.tape == nil {
		p.tape = grad.NewTape(p.model.Params().Device(), false)
	}
	p.tape.Reset(0)
	return p.tape
}

// host copies a tensor from the device.
func (p *Predictor) host(t *tensor.Tensor) []float32 {
	x := make([]float32, t.Len())
	p.model.Params().Device().Read(x, t.Data)
	return x
}

// counterfactuals are questions in which something is withheld, put together until there are enough for a batch.
type counterfactuals struct {
	p     *Predictor
	plan  sample.Plan
	alike sample.Plan // the same with rows as long as those of the batch that is explained
	// the draw whose row of a source, and of a destination, is all that the model looks at; −1: none
	shown   [2]int
	joins   bool // questions can be put together
	one     sample.Batch
	batch   sample.Batch
	effects []effect // [queries of batch]
}

// effect is where an answer goes, and what it is compared with.
type effect struct {
	to    *Effect
	logit float32
}

func newCounterfactuals(p *Predictor) *counterfactuals {
	d := &counterfactuals{p: p, plan: p.model.Plan(), shown: [2]int{-1, -1}}
	d.plan.ByCall = false                                 // a batch is one call
	d.joins = !d.plan.Distinct && len(d.plan.Extras) == 0 // each has a table of its own
	d.alike = d.plan.AtMost()
	for i, draw := range d.plan.Draws {
		if draw.Of > sample.Dst { // hops do not go together
			d.joins = false
			continue
		}
		// Of several that are as long, what is drawn last is what a model looks at last: TGAT's upper layer.
		if at := &d.shown[draw.Of]; *at < 0 || draw.Neighbors >= d.plan.Draws[*at].Neighbors {
			*at = i
		}
	}
	return d
}

// pad lets questions have rows as long as those of a batch. Where padding is seen, an answer must not change because
// what is withheld made a row shorter.
func (d *counterfactuals) pad(b *sample.Batch) {
	for i := range b.Rows {
		d.alike.Draws[i].RowLen = b.Rows[i].Len
	}
}

// raise withholds one thing after another of what an explanation rests on.
func (d *counterfactuals) raise(e *Explanation) (err error) {
	srcAll, dstAll := e.Source.without(nothing), e.Destination.without(nothing)
	if len(e.Gaps) > 0 {
		if e.WithoutGaps, err = d.ask(e, srcAll, dstAll, nil); err != nil {
			return err
		}
	}
	withDst, withSrc := meetings(e.Query.Dst), meetings(e.Query.Src)
	if len(e.Gaps) > 0 || e.Source.shows(withDst) || e.Destination.shows(withSrc) {
		src, dst := e.Source.without(withDst), e.Destination.without(withSrc)
		if e.WithoutMeetings, err = d.ask(e, src, dst, nil); err != nil {
			return err
		}
	}
	for i := range e.Facts {
		f := &e.Facts[i]
		if f.Without, err = d.ask(e, srcAll, dstAll, e.Gaps, f.Withhold); err != nil {
			return err
		}
	}
	if !e.Weighted {
		return nil
	}
	for _, k := range e.Source.top(d.p.Top) {
		e.Source.Patches[k].Without, err = d.ask(e, e.Source.without(patch(k)), dstAll, e.Gaps)
		if err != nil {
			return err
		}
	}
	for _, k := range e.Destination.top(d.p.Top) {
		src, dst := srcAll, e.Destination.without(patch(k))
		if e.Query.Src == e.Query.Dst {
			src = dst
		}
		e.Destination.Patches[k].Without, err = d.ask(e, src, dst, e.Gaps)
		if err != nil {
			return err
		}
	}
	return nil
}

// What can be missing from a side.

func nothing(int, PastEvent) bool { return false }

func patch(k int) func(int, PastEvent) bool { return func(at int, _ PastEvent) bool { return at == k } }

func meetings(with event.Node) func(int, PastEvent) bool {
	return func(_ int, e PastEvent) bool { return e.Other == with }
}

// shows says whether a side has an event that would be missing.
func (s *Side) shows(missing func(patch int, e PastEvent) bool) bool {
	return slices.ContainsFunc(s.Patches, func(p Patch) bool {
		return slices.ContainsFunc(p.Events, func(e PastEvent) bool { return missing(0, e) })
	})
}

// olderPatch is the patch of events that the model did not look at.
const olderPatch = -1

// without is the history of a side without what is missing. As many older events come in.
func (s *Side) without(missing func(patch int, e PastEvent) bool) index.History {
	var kept []PastEvent
	for k, p := range s.Patches {
		for _, e := range p.Events {
			if !missing(k, e) {
				kept = append(kept, e)
			}
		}
	}
	var older []PastEvent // the latest first
	for i := s.older.Len() - 1; i >= 0 && len(older) < s.Events-len(kept); i-- {
		e := PastEvent{Other: s.older.Node[i], Edge: s.older.Edge[i], Time: s.older.Time[i]}
		if !missing(olderPatch, e) {
			older = append(older, e)
		}
	}
	slices.Reverse(older)
	var h index.History
	for _, e := range append(older, kept...) {
		h.Node, h.Edge, h.Time = append(h.Node, e.Other), append(h.Edge, e.Edge), append(h.Time, e.Time)
	}
	return h
}

// pair is a past in which the two nodes of a query, at its time, have done other things.
type pair struct {
	index.View
	Query
	src, dst index.History
}

// Before is the history of one of the two; a node that is asked about itself has that of the source. What others have
// done, and what the two had done by an earlier time, stays.
func (p *pair) Before(n event.Node, t event.Time) index.History {
	switch {
	case t != p.Time || n != p.Src && n != p.Dst:
		return p.View.Before(n, t)
	case n == p.Src:
		return p.src
	}
	return p.dst
}

// Events are those of the past as it was: what is withheld is withheld from the two histories.
func (p *pair) Events() *event.Log {
	if l, ok := p.View.(index.Logged); ok {
		return l.Events()
	}
	return nil
}

// ask notes a question, and asks all that were noted if that makes a batch. The effect is known once they were. Hide
// takes away more of what is asked.
func (d *counterfactuals) ask(
	e *Explanation, src, dst index.History, gaps []float32, hide ...func(*sample.Batch),
) (*Effect, error) {
	plan := d.alike
	plan.Picker = nil // histories are as they were picked
	d.one.Positives = 1
	sample.Gatherer{Threads: 1}.Gather(&pair{d.p.view(), e.Query, src, dst}, plan, []Query{e.Query}, &d.one)
	unknown := len(d.one.Gaps) - len(gaps)
	for i := range d.one.Gaps {
		d.one.Gaps[i] = sample.Never
		if i >= unknown {
			d.one.Gaps[i] = gaps[i-unknown]
		}
	}
	for _, hide := range hide {
		hide(&d.one)
	}
	to := new(Effect)
	d.effects = append(d.effects, effect{to, e.Logit})
	if !d.joins {
		return to, d.answer(&d.one)
	}
	join(&d.batch, &d.one)
	if len(d.effects) >= d.p.spec.Training.BatchSize {
		return to, d.settle()
	}
	return to, nil
}

// settle asks what was noted.
func (d *counterfactuals) settle() error {
	if len(d.effects) == 0 {
		return nil
	}
	err := d.answer(&d.batch)
	d.batch = sample.Batch{}
	return err
}

func (d *counterfactuals) answer(b *sample.Batch) error {
	seen, err := d.p.weigh(b)
	if err != nil {
		return err
	}
	for i, e := range d.effects {
		logit := seen.logits[i]
		*e.to = Effect{Logit: logit, Probability: d.p.Probability(logit), Change: logit - e.logit}
	}
	d.effects = d.effects[:0]
	return nil
}

// join appends the queries of a batch to another one whose rows are as long.
func join(to, from *sample.Batch) {
	to.Queries = append(to.Queries, from.Queries...)
	to.Positives = len(to.Queries)
	to.Gaps = append(to.Gaps, from.Gaps...)
	for i, list := range from.States {
		to.States[i] = append(to.States[i], list...)
	}
	if to.Rows == nil {
		to.Rows = make([]sample.Rows, len(from.Rows))
	}
	for i, r := range from.Rows {
		all := &to.Rows[i]
		all.Len = r.Len
		all.Node, all.Edge = append(all.Node, r.Node...), append(all.Edge, r.Edge...)
		all.Time, all.Delta = append(all.Time, r.Time...), append(all.Delta, r.Delta...)
		all.Count, all.State = append(all.Count, r.Count...), append(all.State, r.State...)
	}
}
