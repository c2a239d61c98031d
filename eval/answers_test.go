package eval_test

import (
	"math"
	"testing"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/eval"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/protocol"
	"github.com/dygmamba/dygmamba/sample"
)

// A listener hears every answer once: what it was told gives the measures that came out.
func TestAnswersAreTheMeasuredOnes(t *testing.T) {
	split, err := dataset.NewSplit(stream, dataset.SplitOptions{})
	if err != nil {
		t.Fatal(err)
	}
	half := &scorer{answer: func(q sample.Query, positive bool) float32 {
		x := float32(q.Src%5) - 2
		if positive {
			x += 1.5
		}
		return x
	}}
	var m eval.Meter
	ap, queries := 0.0, 0
	var all [2][]float32 // wrong, right
	o := eval.Options{BatchSize: 16, PerPositive: 2, OnAnswers: func(a eval.Answers) {
		if len(a.Queries) != 3*a.Paired || len(a.Right) != len(a.Queries) || len(a.Scores) != len(a.Queries) {
			t.Fatalf("%d queries, %d in pairs, %d scores", len(a.Queries), a.Paired, len(a.Scores))
		}
		for i, q := range a.Queries {
			if a.Right[i] != (i < a.Paired) || a.Scores[i] != eval.Sigmoid(half.answer(q, a.Right[i])) {
				t.Fatalf("query %d, right %v, got %v", i, a.Right[i], a.Scores[i])
			}
			if q.Time != a.Queries[i%a.Paired].Time {
				t.Fatal("a negative does not stand behind its positive")
			}
			k := 0
			if a.Right[i] {
				k = 1
			}
			all[k] = append(all[k], a.Scores[i])
		}
		one, _ := m.Score(a.Scores[:a.Paired], a.Scores[a.Paired:])
		ap += one
		queries += len(a.Queries)
	}}
	r, err := eval.NewProtocol(split, o).Evaluate(t.Context(), half, eval.Test, protocol.RandomNegatives)
	if err != nil {
		t.Fatal(err)
	}
	global, _ := m.Score(all[1], all[0])
	if math.Abs(ap/float64(r.Batches)-r.AP) > 1e-12 || global != r.GlobalAP || queries != 3*r.Positives ||
		r.Batches < 3 {
		t.Errorf("heard %d queries with AP %v and %v, measured %+v", queries, ap/float64(r.Batches), global, r)
	}
}

// The same for labels, where the right answer is the event's own.
func TestAnswersOfLabels(t *testing.T) {
	labelled := event.NewLog(stream.Len())
	for i := range stream.Len() {
		e := stream.At(i)
		if e.Src%3 == 0 {
			e.Label = 1
		}
		if _, err := labelled.Append(e); err != nil {
			t.Fatal(err)
		}
	}
	split, err := dataset.NewLabelSplit(labelled, dataset.SplitOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s := &scorer{answer: func(q sample.Query, _ bool) float32 { return float32(q.Dst%7) - 3 }}
	var pos, neg []float32
	o := eval.Options{Task: protocol.NodeClassification, BatchSize: 16, OnAnswers: func(a eval.Answers) {
		for i, q := range a.Queries {
			if a.Paired != 0 || a.Right[i] != (q.Src%3 == 0) {
				t.Fatalf("source %d: right %v, pairs %d", q.Src, a.Right[i], a.Paired)
			}
			if a.Right[i] {
				pos = append(pos, a.Scores[i])
			} else {
				neg = append(neg, a.Scores[i])
			}
		}
	}}
	r, err := eval.NewProtocol(split, o).Evaluate(t.Context(), s, eval.Test, "")
	if err != nil {
		t.Fatal(err)
	}
	var m eval.Meter
	ap, auc := m.Score(pos, neg)
	if ap != r.AP || auc != r.AUC || len(pos) != r.Positives || len(pos)+len(neg) != r.Events || r.Positives == 0 {
		t.Errorf("heard AP %v and AUC %v of %d, measured %+v", ap, auc, len(pos)+len(neg), r)
	}
}
