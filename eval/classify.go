package eval

import (
	"context"
	"errors"
	"fmt"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/replay"
)

// ErrNoLabels says that there is nothing to classify.
var ErrNoLabels = errors.New("all have the same label")

// classify replays events and measures how well the scores tell their labels. Labels are rare, so AP and AUC are of all
// events at once; a batch may have no positive at all.
func (p *Protocol) classify(ctx context.Context, s replay.Scorer, pass replay.Pass, part Part) (Result, error) {
	pass.Negatives = nil
	var pos, neg []float32
	loss := 0.0
	for step, err := range pass.Batches(ctx, s, p.parts[part].All()) {
		a := Answers{}
		if err == nil {
			a = Answers{Batch: step.Number, Queries: step.Batch.Queries, Logits: make([]float32, step.Span.Len())}
			err = s.Score(step.Batch, a.Logits)
		}
		if err != nil {
			return Result{}, fmt.Errorf("classify: %w", err)
		}
		for i, x := range a.Logits {
			if x != x {
				return Result{}, fmt.Errorf("classify: event %d got NaN, must be a number", len(pos)+len(neg))
			}
			probability, label := Sigmoid(x), step.Span.Label(i) != 0
			a.Scores, a.Right = append(a.Scores, probability), append(a.Right, label)
			loss += Loss(probability, label)
			if label {
				pos = append(pos, probability)
			} else {
				neg = append(neg, probability)
			}
		}
		if tell := p.options.OnAnswers; tell != nil {
			tell(a)
		}
		if over(p.until) {
			break
		}
	}
	n := len(pos) + len(neg)
	r := Result{Positives: len(pos), Events: n, Batches: batches(n, BatchSize)}
	if n == 0 {
		return r, nil
	}
	r.note(p.asked(part, n), nil, nil)
	loss /= float64(n)
	r.Loss = &loss
	r.atOnce(pos, neg)
	return r, nil
}

func (r *Result) atOnce(pos, neg []float32) {
	var m Meter
	r.AP, r.AUC = m.Score(pos, neg)
	r.GlobalAP, r.GlobalAUC = r.AP, r.AUC
}

// labelled reports whether events have labels of two classes.
func labelled(events event.Span, c *dataset.Classes) bool {
	first := -1
	for i := range events.Len() {
		class := c.Of(events.Label(i))
		if class >= 0 && first >= 0 && class != first {
			return true
		}
		if class >= 0 {
			first = class
		}
	}
	return false
}
