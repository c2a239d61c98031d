package dygmamba

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/index"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/replay"
	"github.com/dygmamba/dygmamba/sample"
)

// Query asks whether Src and Dst interact at Time.
type Query = sample.Query

// Predictor answers queries with a trained model. One goroutine at a time may use it.
type Predictor struct {
	Top int // so many of each side's most weighted patches are withheld by Explain; Load sets 3

	options LoadOptions
	name    string
	spec    model.Spec
	past    index.View // nil: not asked for yet
	model   model.Model
	memory  replay.Stateful // the model, when it remembers
	scorer  *model.Scorer
	tape    *grad.Tape    // of Explain, once that was asked for
	own     device.Device // opened by Load
}

// Model is the model's name in the catalogue.
func (p *Predictor) Model() string { return p.name }

// Spec is the model's configuration. Queries are scored in batches of its batch size.
func (p *Predictor) Spec() model.Spec { return p.spec }

// Known says whether a node occurs in the past at all. Others may be asked about too; nothing is known of them but the query.
func (p *Predictor) Known(n event.Node) bool { return p.view().Before(n, math.Inf(1)).Len() > 0 }

// Score gives one logit for every query, in their order, which may be any. A query at t is answered from the events strictly before t,
// all of them, and may lie after the last. Which others are asked about at the same time makes no difference, unless the model picks neighbours
// at random or pads rows to the longest.
//
// A model that remembers is shown the events in batches, as in training, and answers a query at t with those whole batches behind it
// that lie before t.
func (p *Predictor) Score(ctx context.Context, qs []Query) ([]float32, error) {
	logits := make([]float32, len(qs))
	if p.memory != nil {
		return logits, p.relive(ctx, qs, logits)
	}
	return logits, p.score(ctx, qs, logits, 0, len(qs))
}

// Probability is what a logit means: how likely the two interact.
func Probability(logit float32) float64 { return 1 / (1 + math.Exp(-float64(logit))) }

// Scorer is the model for an evaluation, with what its checkpoint remembers of training and validation.
func (p *Predictor) Scorer() replay.Scorer {
	if p.memory != nil {
		return remembering{p.scorer, p.memory}
	}
	return p.scorer
}

// remembering is a scorer whose model remembers.
type remembering struct {
	*model.Scorer
	replay.Stateful
}

// Close gives back the memory that the predictor holds.
func (p *Predictor) Close() error {
	if p.tape != nil {
		p.tape.Close()
	}
	if p.scorer != nil {
		p.scorer.Close()
	}
	if c, ok := p.model.(interface{ Close() }); ok {
		c.Close()
	}
	if p.own != nil {
		return p.own.Close()
	}
	return nil
}

// score asks the model as it is now. Before are the queries of the whole that are done already.
func (p *Predictor) score(ctx context.Context, qs []Query, logits []float32, before, total int) error {
	log, err := asked(qs)
	if err != nil {
		return err
	}
	pass := replay.Pass{Past: p.view(), BatchSize: p.spec.Training.BatchSize, Seed: 1, Threads: p.options.Threads}
	if tell := p.options.OnBatch; tell != nil {
		pass.OnBatch = func(done, _ int) { tell(before+done, total) }
	}
	for step, err := range pass.Batches(ctx, p.scorer, log.All()) {
		if err != nil {
			return fmt.Errorf("score: %w", err)
		}
		n := len(step.Batch.Queries)
		if err := p.scorer.Score(step.Batch, logits[:n]); err != nil {
			return fmt.Errorf("score: %w", err)
		}
		if i := slices.IndexFunc(logits[:n], notFinite); i >= 0 {
			q := step.Batch.Queries[i]
			return fmt.Errorf("score: %d and %d at %v got %v, want a number; the weights may be broken", q.Src, q.Dst, q.Time, logits[i])
		}
		logits = logits[n:]
	}
	return nil
}

// view is what queries look back on. An evaluation does not need it.
func (p *Predictor) view() index.View {
	if p.past == nil {
		p.past = index.Freeze(p.options.Set.Log)
	}
	return p.past
}

func notFinite(x float32) bool { return x-x != 0 }

// asked are the queries as events, so that they can be replayed.
func asked(qs []Query) (*event.Log, error) {
	c := event.Columns{Src: make([]event.Node, len(qs)), Dst: make([]event.Node, len(qs)), Time: make([]event.Time, len(qs))}
	for i, q := range qs {
		c.Src[i], c.Dst[i], c.Time[i] = q.Src, q.Dst, q.Time
	}
	log, err := event.FromColumns(c)
	if err != nil {
		return nil, fmt.Errorf("queries: %w", err)
	}
	return log, nil
}

// relive lets the model remember the stream from its beginning and asks on the way, so that it never knows more than it may.
func (p *Predictor) relive(ctx context.Context, qs []Query, logits []float32) (err error) {
	if p.options.Set == nil {
		return fmt.Errorf("score: %s remembers events and needs them from the beginning, want a data set", p.name)
	}
	now := p.memory.Snapshot()
	defer func() { err = errors.Join(err, p.memory.Restore(now)) }()
	if err := p.memory.Restore(nil); err != nil {
		return err
	}
	order := make([]int, len(qs))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(qs[i].Time, qs[j].Time) })
	events, done := p.options.Set.Log.All(), 0
	for len(order) > 0 {
		next := events.Slice(0, min(p.spec.Training.BatchSize, events.Len()))
		group := order
		if next.Len() > 0 {
			last := next.Time[next.Len()-1]
			n, _ := slices.BinarySearchFunc(order, last, func(i int, t event.Time) int {
				if qs[i].Time <= t {
					return -1
				}
				return 1
			})
			group = order[:n]
		}
		if err := p.group(ctx, qs, group, logits, done); err != nil {
			return err
		}
		done, order = done+len(group), order[len(group):]
		if len(order) > 0 {
			p.memory.Observe(next)
			events = events.Slice(next.Len(), events.Len())
		}
	}
	return nil
}

// group asks some of the queries, and puts their logits where they belong.
func (p *Predictor) group(ctx context.Context, qs []Query, group []int, logits []float32, done int) error {
	if len(group) == 0 {
		return ctx.Err()
	}
	some, out := make([]Query, len(group)), make([]float32, len(group))
	for k, i := range group {
		some[k] = qs[i]
	}
	if err := p.score(ctx, some, out, done, len(qs)); err != nil {
		return err
	}
	for k, i := range group {
		logits[i] = out[k]
	}
	return nil
}
