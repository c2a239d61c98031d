package audit

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/dygmamba/dygmamba/eval"
)

// Both implementations say the same of scores with many ties, and of sides that are empty.
func TestMeasureAgreesWithEval(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		pos, neg := make([]float32, rng.IntN(30)), make([]float32, rng.IntN(30))
		for _, side := range [][]float32{pos, neg} {
			for i := range side {
				side[i] = float32(rng.IntN(8)) - 3
			}
		}
		var m eval.Meter
		ap, auc := measure(pos, neg)
		wantAP, wantAUC := m.Score(pos, neg)
		if math.Abs(ap-wantAP) > 1e-12 || math.Abs(auc-wantAUC) > 1e-12 {
			t.Fatalf("%v against %v: AP %v, AUC %v, eval says %v, %v", pos, neg, ap, auc, wantAP, wantAUC)
		}
	}
	// By hand: thresholds 3 (a hit), 2 (a miss), 1 (a hit and a miss).
	ap, auc := measure([]float32{3, 1}, []float32{2, 1})
	if math.Abs(ap-(0.5*1+0.5*0.5)) > 1e-12 || math.Abs(auc-2.5/4) > 1e-12 {
		t.Errorf("by hand: AP %v, AUC %v", ap, auc)
	}
}

func TestRegroupKeepsPairs(t *testing.T) {
	cut := regroup([]scored{{[]float32{1, 2, 3}, []float32{4, 5, 6}}, {[]float32{7}, []float32{8}}}, 2)
	if len(cut) != 2 || cut[1].pos[0] != 3 || cut[1].neg[0] != 6 || cut[1].neg[1] != 8 {
		t.Errorf("cut into %v", cut)
	}
}
