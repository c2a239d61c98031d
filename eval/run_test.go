package eval_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/dygmamba/dygmamba/eval"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/internal/streamtest"
	"github.com/dygmamba/dygmamba/replay"
	"github.com/dygmamba/dygmamba/sample"
)

// scorer answers with a function of the query and its label.
type scorer struct {
	answer func(q sample.Query, positive bool) float32
	fails  error
}

func (s *scorer) Plan() sample.Plan { return sample.Plan{} }

func (s *scorer) Score(b *sample.Batch, out []float32) error {
	for i, q := range b.Queries {
		out[i] = s.answer(q, i < b.Positives)
	}
	return s.fails
}

var stream = streamtest.Generate(streamtest.Shape{Events: 450, Sources: 20, Dests: 15, Instants: 900}, 1)

func pass(t testing.TB) replay.Pass {
	t.Helper()
	n, err := sample.NewNegatives(stream, sample.NegativeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return replay.Pass{Negatives: n}
}

func TestRunMeasures(t *testing.T) {
	knows := &scorer{answer: func(_ sample.Query, positive bool) float32 {
		if positive {
			return 2
		}
		return -1
	}}
	p := pass(t)
	got, err := eval.Run(t.Context(), knows, p, stream)
	if err != nil {
		t.Fatal(err)
	}
	loss := (math.Log(1+math.Exp(-2)) + math.Log(1+math.Exp(-1))) / 2
	if got.AP != 1 || got.AUC != 1 || got.GlobalAP != 1 || got.GlobalAUC != 1 || got.Batches != 3 ||
		got.Positives != 450 || math.Abs(*got.Loss-loss) > 1e-6 || got.Ranking != nil {
		t.Errorf("%+v, loss %v, want %v", got, *got.Loss, loss)
	}
	again, err := eval.Run(t.Context(), knows, p, stream)
	if err != nil || again.Negatives != got.Negatives || len(got.Negatives) != 64 {
		t.Errorf("negatives %s, then %s, error %v", got.Negatives, again.Negatives, err)
	}
}

// Batches of 200, 200 and 50 weigh the same; the global value weighs events.
func TestRunAveragesBatches(t *testing.T) {
	last := stream.At(400).Time
	late := &scorer{answer: func(q sample.Query, positive bool) float32 {
		if positive == (q.Time >= last) {
			return 1
		}
		return 0
	}}
	got, err := eval.Run(t.Context(), late, pass(t), stream)
	if err != nil {
		t.Fatal(err)
	}
	if math.Abs(got.AUC-1./3) > 1e-12 || math.Abs(got.GlobalAUC-50*50./(450*450)-400*50./(450*450)) > 1e-12 {
		t.Errorf("AUC %v, global %v", got.AUC, got.GlobalAUC)
	}
}

func TestRunSaturatesLikeFloat32(t *testing.T) {
	sure := &scorer{answer: func(q sample.Query, positive bool) float32 {
		if positive {
			return 40
		}
		return 20 // also a probability of 1 in float32
	}}
	got, err := eval.Run(t.Context(), sure, pass(t), stream)
	if err != nil || got.AUC != 0.5 {
		t.Errorf("AUC %v, want 0.5; error %v", got.AUC, err)
	}
}

// byDst prefers destinations by number and has no idea of probabilities.
type byDst struct{ scorer }

func (byDst) RankOnly() {}

func TestRunRanks(t *testing.T) {
	p := pass(t)
	p.PerPositive = 9
	s := &byDst{scorer{answer: func(q sample.Query, positive bool) float32 {
		if positive {
			return 0.5
		}
		return float32(int(q.Dst) % 2)
	}}}
	got, err := eval.Run(t.Context(), s, p, stream)
	if err != nil {
		t.Fatal(err)
	}
	if got.Loss != nil || got.Ranking == nil {
		t.Fatalf("%+v", got)
	}
	// A positive's rank is 1 + the number of its nine negatives with an odd destination.
	want := eval.Ranking{}
	p.Negatives.Reset()
	for span := range stream.Batches(0, stream.Len(), 200) {
		odd := make([]int, span.Len())
		for range 9 {
			out := make([]sample.Query, span.Len())
			p.Negatives.Draw(span, out)
			for i, q := range out {
				odd[i] += int(q.Dst) % 2
			}
		}
		for _, n := range odd {
			rank := float64(1 + n)
			want.MRR += 1 / rank / 450
			for most, share := range map[float64]*float64{1: &want.Hits1, 3: &want.Hits3, 10: &want.Hits10} {
				if rank <= most {
					*share += 1. / 450
				}
			}
		}
	}
	for _, c := range [][2]float64{{got.Ranking.MRR, want.MRR}, {got.Ranking.Hits1, want.Hits1},
		{got.Ranking.Hits3, want.Hits3}, {got.Ranking.Hits10, want.Hits10}} {
		if math.Abs(c[0]-c[1]) > 1e-9 {
			t.Errorf("%+v, want %+v", *got.Ranking, want)
		}
	}
}

func TestRunReportsFailure(t *testing.T) {
	zero := func(sample.Query, bool) float32 { return 0 }
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := eval.Run(ctx, &scorer{answer: zero}, pass(t), stream); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	broken := errors.New("broken")
	if _, err := eval.Run(t.Context(), &scorer{answer: zero, fails: broken}, pass(t), stream); !errors.Is(err, broken) {
		t.Errorf("broken: %v", err)
	}
	nan := &scorer{answer: func(q sample.Query, _ bool) float32 { return float32(math.NaN()) }}
	if _, err := eval.Run(t.Context(), nan, pass(t), stream); err == nil || !strings.Contains(err.Error(), "NaN") {
		t.Errorf("NaN: %v", err)
	}
	if _, err := eval.Run(t.Context(), &scorer{answer: zero}, replay.Pass{}, stream); err == nil {
		t.Error("an evaluation without negatives was accepted")
	}
	empty, err := eval.Run(t.Context(), &scorer{answer: zero}, pass(t), event.NewLog(0))
	if err != nil || empty.Batches != 0 || empty.AP != 0 || empty.Loss != nil {
		t.Errorf("nothing to evaluate: %+v, %v", empty, err)
	}
}
