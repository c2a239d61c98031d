package eval

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/replay"
)

// ValueMeter measures how far values were off.
type ValueMeter struct {
	n                int
	absolute, square float64 // sums
}

// Add takes what was said of a value, and what it was.
func (m *ValueMeter) Add(said, value float64) {
	m.n++
	m.absolute += math.Abs(said - value)
	m.square += (said - value) * (said - value)
}

// Errors are the mean absolute error and the root of the mean squared error; nil where nothing was asked.
func (m *ValueMeter) Errors() (mae, rmse *float64) {
	if m.n == 0 {
		return nil, nil
	}
	a, r := m.absolute/float64(m.n), math.Sqrt(m.square/float64(m.n))
	return &a, &r
}

// NewTarget is the value of events that a model learns to tell: their mean and deviation in a training.
func NewTarget(set *dataset.Set, events event.Span) (*model.Target, error) {
	if set.Values == nil {
		return nil, fmt.Errorf("%s: %w; data import --value names their column", set.Name, ErrNoValues)
	}
	t := &model.Target{Column: set.ValueColumn()}
	n := float64(max(1, events.Len()))
	for i := range events.Len() {
		t.Mean += set.Values[events.Edge(i)] / n
	}
	for i := range events.Len() {
		off := set.Values[events.Edge(i)] - t.Mean
		t.Deviation += off * off / n
	}
	if t.Deviation = math.Sqrt(t.Deviation); !(t.Deviation > 0) || math.IsInf(t.Deviation, 0) {
		return nil, fmt.Errorf("%s: the values of %s have mean %g and deviation %g in the training part, want values "+
			"that differ and can be squared", set.Name, t.Column, t.Mean, t.Deviation)
	}
	return t, nil
}

// regress replays events and measures how far the scores are from their values. Scores are deviations from the mean.
func (p *Protocol) regress(ctx context.Context, s replay.Scorer, pass replay.Pass, part Part) (Result, error) {
	var meter ValueMeter
	asked, target := newAsked(p), p.options.Target
	var said []float32
	for step, err := range pass.Batches(ctx, s, p.parts[part].All()) {
		if err == nil {
			said = slices.Grow(said[:0], step.Span.Len())[:step.Span.Len()]
			err = s.Score(step.Batch, said)
		}
		if err != nil {
			return Result{}, fmt.Errorf("tell values: %w", err)
		}
		for i, x := range said {
			if x != x {
				return Result{}, fmt.Errorf("tell values: event %d got NaN, must be a number", meter.n)
			}
			edge := step.Span.Edge(i)
			meter.Add(target.Value(x), p.values[edge])
			asked.note(edge)
		}
		if over(p.until) {
			break
		}
	}
	r := Result{Positives: meter.n, Events: meter.n, Batches: batches(meter.n, BatchSize)}
	if r.MAE, r.RMSE = meter.Errors(); r.RMSE == nil {
		return r, nil
	}
	r.note(p.asked(part, meter.n), nil, nil)
	loss := *r.RMSE / target.Deviation
	loss *= loss
	r.Loss = &loss
	if part == Test || part == NewTest {
		rules := valueRules{values: p.values, mean: target.Mean, pairs: map[[2]event.Node]float64{},
			sources: map[event.Node]float64{}}
		asked.replay(rules.ask, rules.learn)
		r.Rules = rules.scores()
	}
	return r, nil
}

// valueRules are two: the last value, of the pair, or else of the source, or else the mean; and the mean of the
// training events.
type valueRules struct {
	values  []float64
	mean    float64
	pairs   map[[2]event.Node]float64
	sources map[event.Node]float64
	last    ValueMeter
	always  ValueMeter
}

func (v *valueRules) ask(e event.Event) {
	value := v.values[e.Edge]
	said, known := v.pairs[[2]event.Node{e.Src, e.Dst}]
	if !known {
		said, known = v.sources[e.Src]
	}
	if !known {
		said = v.mean
	}
	v.last.Add(said, value)
	v.always.Add(v.mean, value)
}

func (v *valueRules) learn(e event.Event) {
	value := v.values[e.Edge]
	v.pairs[[2]event.Node{e.Src, e.Dst}], v.sources[e.Src] = value, value
}

func (v *valueRules) scores() []RuleScore {
	last, mean := RuleScore{Rule: "last"}, RuleScore{Rule: "mean"}
	last.MAE, last.RMSE = v.last.Errors()
	mean.MAE, mean.RMSE = v.always.Errors()
	return []RuleScore{last, mean}
}
