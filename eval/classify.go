package eval

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/replay"
)

// ErrNoLabels says that there is nothing to classify.
var ErrNoLabels = errors.New("all events have the same label")

// classify replays events and measures how well the scores tell their labels. Labels are rare, so AP and AUC are of all
// events at once; a batch may have no positive at all.
func classify(
	ctx context.Context, s replay.Scorer, p replay.Pass, events *event.Log, tell func(Answers),
) (Result, error) {
	p.Negatives = nil
	var scores []float32
	batch := make([]float32, 0, BatchSize)
	for step, err := range p.Batches(ctx, s, events.All()) {
		if err == nil {
			batch = append(batch[:0], make([]float32, len(step.Batch.Queries))...)
			err = s.Score(step.Batch, batch)
		}
		if err != nil {
			return Result{}, fmt.Errorf("classify: %w", err)
		}
		scores = append(scores, batch...)
		if tell != nil {
			tell(labelAnswers(step, batch))
		}
	}
	return classified(events.All(), scores)
}

// labelAnswers are the answers of a batch; logits are overwritten.
func labelAnswers(step *replay.Step, logits []float32) Answers {
	a := Answers{Batch: step.Number, Queries: step.Batch.Queries, Scores: logits, Logits: slices.Clone(logits)}
	for i, x := range logits {
		a.Scores[i] = Sigmoid(x)
		a.Right = append(a.Right, step.Span.Label(i) != 0)
	}
	return a
}

func classified(events event.Span, scores []float32) (Result, error) {
	var pos, neg []float32
	loss := 0.0
	for i, x := range scores {
		if x != x {
			return Result{}, fmt.Errorf("classify: event %d got NaN, must be a number", i)
		}
		probability, label := Sigmoid(x), events.Label(i) != 0
		loss += Loss(probability, label)
		if label {
			pos = append(pos, probability)
		} else {
			neg = append(neg, probability)
		}
	}
	r := Result{Positives: len(pos), Events: len(scores), Batches: (len(scores) + BatchSize - 1) / BatchSize}
	if len(scores) == 0 {
		return r, nil
	}
	loss /= float64(len(scores))
	r.Loss = &loss
	var m Meter
	r.AP, r.AUC = m.Score(pos, neg)
	r.GlobalAP, r.GlobalAUC = r.AP, r.AUC
	return r, nil
}

// labelled reports whether events have both labels.
func labelled(events event.Span) bool {
	for i := range events.Len() {
		if (events.Label(i) != 0) != (events.Label(0) != 0) {
			return true
		}
	}
	return false
}
