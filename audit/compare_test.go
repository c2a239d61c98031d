package audit

import (
	"math"
	"testing"
)

// By hand: of the 8 ways to sign 1, 1 and 1 two are as far from 0, of those of 1, −1 and 0 all are.
func TestSignFlips(t *testing.T) {
	for _, tt := range []struct {
		diffs []float64
		want  float64
	}{{[]float64{1, 1, 1}, 0.25}, {[]float64{-1, -1, -1, -1}, 0.125}, {[]float64{1, -1, 0}, 1}, {nil, 1}} {
		if p := signFlips(tt.diffs); math.Abs(p-tt.want) > 0.01 {
			t.Errorf("%v: p is %v, want %v", tt.diffs, p, tt.want)
		}
	}
}

func TestAgainst(t *testing.T) {
	a := Compared{Run: "a", Batches: []float64{0.5, 0.75, 0.5}, negatives: "x"}
	b := Compared{Run: "b", Batches: []float64{0.25, 0.75, 0.75}, negatives: "x"}
	d, err := a.Against(b)
	if err != nil || math.Abs(d.AP) > 1e-12 || d.Better != 1 || d.Worse != 1 || d.Batches != 3 || d.P != 1 {
		t.Errorf("%+v, %v", d, err)
	}
	b.negatives = "y"
	if _, err := a.Against(b); err == nil {
		t.Error("runs that were asked about other negatives are compared")
	}
}
