package eval_test

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/dygmamba/dygmamba/eval"
	"github.com/dygmamba/dygmamba/internal/golden"
)

func TestMeterAgainstTheReference(t *testing.T) {
	want := golden.Draws(t).Metrics
	var pos, neg, equal []float32
	for i, y := range want.Label {
		if equal = append(equal, 0.3); y == 1 {
			pos = append(pos, want.Score[i])
		} else {
			neg = append(neg, want.Score[i])
		}
	}
	var m eval.Meter
	if ap, auc := m.Score(pos, neg); ap != want.AP || auc != want.AUC {
		t.Errorf("AP %v AUC %v, want %v and %v", ap, auc, want.AP, want.AUC)
	}
	if ap, auc := m.Score(equal[:len(pos)], equal[:len(neg)]); ap != want.EqualAP || auc != want.EqualAUC {
		t.Errorf("all equal: AP %v AUC %v, want %v and %v", ap, auc, want.EqualAP, want.EqualAUC)
	}
}

func TestMeterByHand(t *testing.T) {
	inf := float32(math.Inf(1))
	zero := float32(0)
	for name, c := range map[string]struct {
		pos, neg []float32
		ap, auc  float64
	}{
		"perfect":              {[]float32{3, 2}, []float32{1, -1}, 1, 1},
		"reversed":             {[]float32{1}, []float32{2, 3}, 1. / 3, 0},
		"nothing":              {nil, nil, 0, 0},
		"no negatives":         {[]float32{1, 2}, nil, 1, 0},
		"no positives":         {nil, []float32{1}, 0, 0},
		"infinite":             {[]float32{inf, -inf}, []float32{0, -inf}, 0.5 + 0.5*0.5, 0.625},
		"zeros have no sign":   {[]float32{-zero}, []float32{0}, 0.5, 0.5},
		"negative scores":      {[]float32{-1, -3}, []float32{-2}, 0.5 + 0.5*2/3, 0.5},
		"tiny differences":     {[]float32{math.SmallestNonzeroFloat32}, []float32{0}, 1, 1},
		"around the zero line": {[]float32{math.SmallestNonzeroFloat32}, []float32{-math.SmallestNonzeroFloat32}, 1, 1},
	} {
		var m eval.Meter
		if ap, auc := m.Score(c.pos, c.neg); math.Abs(ap-c.ap) > 1e-15 || math.Abs(auc-c.auc) > 1e-15 {
			t.Errorf("%s: AP %v AUC %v, want %v and %v", name, ap, auc, c.ap, c.auc)
		}
	}
}

// Few distinct scores, so that most are tied.
func scores(t *rapid.T, name string) []float32 {
	return rapid.SliceOfN(rapid.Map(rapid.IntRange(-4, 4), func(i int) float32 { return float32(i) / 3 }), 1, 40).
		Draw(t, name)
}

func TestMeterIsItsDefinition(t *testing.T) {
	var m eval.Meter
	rapid.Check(t, func(t *rapid.T) {
		pos, neg := scores(t, "positives"), scores(t, "negatives")
		ap, auc := m.Score(pos, neg)
		wantAP, wantAUC := definition(pos, neg)
		if math.Abs(ap-wantAP) > 1e-12 || math.Abs(auc-wantAUC) > 1e-12 {
			t.Fatalf("AP %v AUC %v, want %v and %v", ap, auc, wantAP, wantAUC)
		}
		shuffledPos, shuffledNeg := rapid.Permutation(pos).Draw(t, "shuffled positives"),
			rapid.Permutation(neg).Draw(t, "shuffled negatives")
		if ap2, auc2 := m.Score(shuffledPos, shuffledNeg); ap2 != ap || auc2 != auc {
			t.Fatalf("shuffling moved AP from %v to %v, AUC from %v to %v", ap, ap2, auc, auc2)
		}
		_, backwards := m.Score(neg, pos)
		if math.Abs(auc+backwards-1) > 1e-12 {
			t.Fatalf("AUC %v, and %v with the sides exchanged", auc, backwards)
		}
	})
}

// definition counts pairs, and walks all thresholds from the highest.
func definition(pos, neg []float32) (ap, auc float64) {
	for _, p := range pos {
		for _, n := range neg {
			if p > n {
				auc++
			} else if p == n {
				auc += 0.5
			}
		}
	}
	thresholds := slices.Concat(pos, neg)
	slices.Sort(thresholds)
	thresholds = slices.Compact(thresholds)
	recall := 0.0
	for _, t := range slices.Backward(thresholds) {
		hits, wrong := atLeast(pos, t), atLeast(neg, t)
		now := hits / float64(len(pos))
		ap += (now - recall) * hits / (hits + wrong)
		recall = now
	}
	return ap, auc / float64(len(pos)*len(neg))
}

func atLeast(scores []float32, t float32) (n float64) {
	for _, s := range scores {
		if s >= t {
			n++
		}
	}
	return n
}

func TestRankHalvesTies(t *testing.T) {
	for _, c := range []struct {
		neg  []float32
		want float64
	}{{nil, 1}, {[]float32{1, 0}, 1}, {[]float32{3, 4, 1}, 3}, {[]float32{2, 2, 3}, 3}} {
		if got := eval.Rank(2, c.neg); got != c.want {
			t.Errorf("2 among %v: rank %v, want %v", c.neg, got, c.want)
		}
	}
}

func TestLossIsClamped(t *testing.T) {
	for _, c := range []struct {
		logit    float32
		happened bool
		want     float64
	}{{0, true, math.Ln2}, {0, false, math.Ln2}, {200, true, 0}, {200, false, 100}, {-200, true, 100},
		{-1, true, math.Log(1 + math.E)}} {
		if got := eval.Loss(eval.Sigmoid(c.logit), c.happened); math.Abs(got-c.want) > 1e-6 {
			t.Errorf("logit %v, happened %v: loss %v, want %v", c.logit, c.happened, got, c.want)
		}
	}
}

func TestMeterDoesNotAllocate(t *testing.T) {
	var m eval.Meter
	pos, neg := make([]float32, 200), make([]float32, 200)
	m.Score(pos, neg)
	if n := testing.AllocsPerRun(10, func() { m.Score(pos, neg) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkMeter(b *testing.B) {
	pos, neg := make([]float32, 200), make([]float32, 200)
	x := uint32(1)
	for i := range pos {
		for _, s := range [][]float32{pos, neg} {
			x = x*1664525 + 1013904223
			s[i] = float32(x) / (1 << 32)
		}
	}
	var m eval.Meter
	for b.Loop() {
		m.Score(pos, neg)
	}
}
