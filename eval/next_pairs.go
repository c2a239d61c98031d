package eval

import (
	"context"
	"errors"
	"fmt"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/index"
	"github.com/dygmamba/dygmamba/internal/next"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/replay"
	"github.com/dygmamba/dygmamba/sample"
)

// A model of the task "next" that compares pairs is asked about the few of a short list, with what it remembers of the
// events before. Questions come in the order of time.

// pairAsker asks a scorer about pairs as time goes on.
type pairAsker struct {
	ctx       context.Context
	scorer    replay.Scorer
	questions replay.Questions
	events    event.Span // from where the scorer's memory ends
	memory    replay.Memory
	pass      replay.Pass
	done      int // events that were remembered
	last      event.Time
}

// withPairs does something that asks a net, whose model may compare pairs and then looks back on a past. It remembers
// events as time reaches them, and is taken back to what it remembered before.
func (p *Protocol) withPairs(ctx context.Context, net *model.Net, past func() index.View, events event.Span,
	do func() error) error {
	if net.Shortlist() == 0 {
		return do()
	}
	s := net.Scorer()
	if s == nil {
		return errors.New("the model compares pairs, and nothing answers for it")
	}
	return rewound(s, true, func() error {
		a := &pairAsker{ctx: ctx, scorer: s, events: events, pass: p.pass(past(), nil, 1)}
		a.pass.OnBatch = nil
		a.memory, _ = s.(replay.Memory)
		plan, most := alone{s}.Plan(), 0
		for _, d := range plan.Draws {
			if d.RowLen == 0 { // rows are as long as the longest of a batch
				most = 1
			}
		}
		if err := a.questions.Prepare(a.pass, plan, most); err != nil {
			return err
		}
		before, _ := net.Pairs()
		net.AskPairs(a.ask)
		defer net.AskPairs(before)
		return do()
	})
}

func (a *pairAsker) ask(src event.Node, at event.Time, nodes []event.Node) ([]float32, error) {
	if err := a.reach(at); err != nil {
		return nil, err
	}
	qs := make([]sample.Query, len(nodes))
	for i, v := range nodes {
		qs[i] = sample.Query{Src: src, Dst: v, Time: at}
	}
	out, done := make([]float32, len(qs)), 0
	for b, err := range a.questions.Batches(a.ctx, qs) {
		if err != nil {
			return nil, err
		}
		n := len(b.Queries)
		if err := a.scorer.Score(b, out[done:done+n]); err != nil {
			return nil, err
		}
		done += n
	}
	for i, x := range out {
		if x-x != 0 {
			return nil, fmt.Errorf("%d and %d at %v got %v, must be a number", src, nodes[i], at, x)
		}
	}
	return out, nil
}

// reach lets the model remember the units that end before a time: in strict order nothing of its own instant is known.
func (a *pairAsker) reach(at event.Time) error {
	if a.memory == nil {
		return nil
	}
	if at < a.last {
		return fmt.Errorf("asked about the time %v after %v, want questions in the order of time", at, a.last)
	}
	a.last = at
	size := a.pass.BatchSize
	if size == 0 {
		size = BatchSize
	}
	for a.done < a.events.Len() {
		end := min(a.done+size, a.events.Len())
		if a.events.Time[end-1] >= at {
			return nil
		}
		if err := a.pass.Remember(a.ctx, a.memory, a.events.Slice(a.done, end)); err != nil {
			return err
		}
		a.done = end
	}
	return nil
}

// BeforeVal does something that begins where validation does, with a model that may remember: it goes through the
// training events first, and is taken back to what it remembered before.
func (p *Protocol) BeforeVal(ctx context.Context, net *model.Net, do func() error) error {
	s := net.Scorer()
	m, remembers := s.(model.StatefulScorer)
	if !remembers {
		return do()
	}
	return rewound(s, true, func() error {
		if err := p.warm(ctx, m, Val); err != nil {
			return err
		}
		return do()
	})
}

// RememberVal lets a model that compares pairs, and remembers, go on to the end of validation, where the test begins.
func (p *Protocol) RememberVal(ctx context.Context, net *model.Net) error {
	m, remembers := net.Scorer().(replay.Memory)
	if !remembers {
		return nil
	}
	pass := p.pass(p.full(), nil, 1)
	pass.OnBatch = nil
	return pass.Remember(ctx, m, p.split.Val.All())
}

var _ next.PairNet = (*model.Net)(nil)
