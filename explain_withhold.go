package dygmamba

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
	logits  []float32 // [n]
	weights []float32 // [2n, patches], sources first; nil: none
	patches int
}

func (s sight) row(i int) []float32 {
	if s.weights == nil {
		return nil
	}
	return s.weights[i*s.patches : (i+1)*s.patches]
}

// weigh asks the model.
func (p *Predictor) weigh(b *sample.Batch) (s sight, err error) {
	guarded := tensor.Guard(func() {
		dev := p.model.Params().Device()
		if p.tape == nil {
			p.tape = grad.NewTape(dev, false)
		}
		p.tape.Reset(0)
		var logits, weights *tensor.Tensor // [n, 1], [2n, patches]
		if w, ok := p.model.(model.Weigher); ok {
			logits, weights = w.Weigh(p.tape, b)
		} else {
			logits = p.model.Score(p.tape, b)
		}
		s.logits = make([]float32, logits.Len())
		dev.Read(s.logits, logits.Data)
		if weights != nil {
			s.weights, s.patches = make([]float32, weights.Len()), weights.Dim(1)
			dev.Read(s.weights, weights.Data)
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

// doubts are questions in which something is withheld, put together until there are enough for a batch.
type doubts struct {
	p       *Predictor
	plan    sample.Plan
	one     sample.Batch
	batch   sample.Batch
	effects []effect // [queries of batch]
}

// effect is where an answer goes, and what it is compared with.
type effect struct {
	to    *Effect
	logit float32
}

func newDoubts(p *Predictor, plan sample.Plan) *doubts {
	plan.Picker = nil // histories are as they were picked
	return &doubts{p: p, plan: plan}
}

// raise withholds one thing after another of what an explanation rests on.
func (d *doubts) raise(e *Explanation) (err error) {
	if len(e.Gaps) > 0 {
		if e.WithoutGaps, err = d.ask(e, e.Source.without(nothing), e.Destination.without(nothing), nil); err != nil {
			return err
		}
	}
	src := e.Source.without(meetings(e.Query.Dst))
	dst := e.Destination.without(meetings(e.Query.Src))
	if len(e.Gaps) > 0 || src.Len() < e.Source.Events || dst.Len() < e.Destination.Events {
		if e.WithoutMeetings, err = d.ask(e, src, dst, nil); err != nil {
			return err
		}
	}
	if !e.Weighted {
		return nil
	}
	for _, k := range e.Source.top(d.p.Top) {
		if e.Source.Patches[k].Without, err = d.ask(e, e.Source.without(patch(k)), e.Destination.without(nothing), e.Gaps); err != nil {
			return err
		}
	}
	for _, k := range e.Destination.top(d.p.Top) {
		if e.Destination.Patches[k].Without, err = d.ask(e, e.Source.without(nothing), e.Destination.without(patch(k)), e.Gaps); err != nil {
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

// without is the history that is left of a side.
func (s *Side) without(missing func(patch int, e PastEvent) bool) index.History {
	var h index.History
	for k, p := range s.Patches {
		for _, e := range p.Events {
			if !missing(k, e) {
				h.Node, h.Edge, h.Time = append(h.Node, e.Other), append(h.Edge, e.Edge), append(h.Time, e.Time)
			}
		}
	}
	return h
}

// pair is a past that knows the two nodes of a query only.
type pair struct {
	Query
	src, dst index.History
}

// Before is the history of one of the two. A node that is asked about itself has one history: what is missing from either side is missing.
func (p *pair) Before(n event.Node, _ event.Time) index.History {
	if n == p.Dst && (p.Src != p.Dst || p.dst.Len() < p.src.Len()) {
		return p.dst
	}
	return p.src
}

// NumNodes is 1 + the larger of the two ids.
func (p *pair) NumNodes() int { return int(max(p.Src, p.Dst)) + 1 }

// ask notes a question, and asks all that were noted if that makes a batch. The effect is known once they were.
func (d *doubts) ask(e *Explanation, src, dst index.History, gaps []float32) (*Effect, error) {
	sample.Gatherer{Threads: 1}.Gather(&pair{e.Query, src, dst}, d.plan, []Query{e.Query}, &d.one)
	unknown := len(d.one.Gaps) - len(gaps)
	for i := range d.one.Gaps {
		d.one.Gaps[i] = noGap
		if i >= unknown {
			d.one.Gaps[i] = gaps[i-unknown]
		}
	}
	join(&d.batch, &d.one)
	to := new(Effect)
	d.effects = append(d.effects, effect{to, e.Logit})
	if len(d.effects) >= d.p.spec.Training.BatchSize || d.plan.RowLen == 0 { // rows without a fixed length do not go together
		return to, d.settle()
	}
	return to, nil
}

// settle asks what was noted.
func (d *doubts) settle() error {
	if len(d.effects) == 0 {
		return nil
	}
	seen, err := d.p.weigh(&d.batch)
	if err != nil {
		return err
	}
	for i, e := range d.effects {
		logit := seen.logits[i]
		*e.to = Effect{Logit: logit, Probability: Probability(logit), Change: logit - e.logit}
	}
	d.effects = d.effects[:0]
	d.batch = sample.Batch{}
	return nil
}

// join appends the queries of a batch to another one whose rows are as long.
func join(to, from *sample.Batch) {
	to.Queries = append(to.Queries, from.Queries...)
	to.Gaps = append(to.Gaps, from.Gaps...)
	joinRows(&to.Src, &from.Src)
	joinRows(&to.Dst, &from.Dst)
}

func joinRows(to, from *sample.Rows) {
	to.Len = from.Len
	to.Node = append(to.Node, from.Node...)
	to.Edge = append(to.Edge, from.Edge...)
	to.Time = append(to.Time, from.Time...)
	to.Delta = append(to.Delta, from.Delta...)
	to.Count = append(to.Count, from.Count...)
}
