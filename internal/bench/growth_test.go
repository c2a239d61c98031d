package bench

import (
	"math"
	"testing"
)

func TestFitGrowth(t *testing.T) {
	x := []float64{64, 128, 1024, 8192}
	var straight, bent []float64
	for _, v := range x {
		straight, bent = append(straight, 3+0.025*v), append(bent, v*v)
	}
	if g := fitGrowth(x, straight); math.Abs(g.Base-3) > 1e-6 || math.Abs(g.Each-0.025) > 1e-9 || g.Off > 1e-6 {
		t.Errorf("a straight line: %+v", g)
	}
	if g := fitGrowth(x, bent); g.Off < 0.5 || g.Base < 0 {
		t.Errorf("a square passes as a line: %+v", g)
	}
	if g := fitGrowth(x[:2], straight[:2]); g != nil {
		t.Errorf("two measurements show no growth: %+v", g)
	}
}
