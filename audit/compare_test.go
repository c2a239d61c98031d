package audit

import (
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"strings"
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

// By hand: the mean of two seeds, batch by batch; validation as far as both went.
func TestMean(t *testing.T) {
	a := Compared{Run: "x/seed-0", AP: 0.5, AUC: 0.7, Batches: []float64{0.25, 0.75}, Validation: []float64{0.5, 1}}
	b := Compared{Run: "x/seed-1", Seed: 1, AP: 0.75, AUC: 0.8, Batches: []float64{0.5, 1}, Validation: []float64{0.25},
		CutShort: "stopped"}
	m, err := Mean("x", []Compared{a, b})
	want := Compared{Run: "x", AP: 0.625, AUC: 0.75, Batches: []float64{0.375, 0.875}, Validation: []float64{0.375},
		CutShort: "stopped", Seeds: []Seed{{0, 0.5, 0.7}, {1, 0.75, 0.8}}}
	if err != nil || !reflect.DeepEqual(m, want) {
		t.Errorf("%+v, %v, want %+v", m, err, want)
	}
	if a.Batches[0] != 0.25 || a.Validation[0] != 0.5 {
		t.Error("the mean changed what it is of")
	}
	if one, err := Mean("x", []Compared{a}); err != nil || one.Run != a.Run || one.Seeds != nil {
		t.Errorf("of one seed: %+v, %v", one, err)
	}
	b.negatives = "other"
	if _, err := Mean("x", []Compared{a, b}); err == nil {
		t.Error("seeds that were asked about other negatives have a mean")
	}
}

// Twenty batches that are all better: chance gives as much in two of a million draws. JSON has the number.
func TestChanceIsNeverNothing(t *testing.T) {
	one := Compared{Run: "a", Batches: slices.Repeat([]float64{0.75}, 20)}
	two := Compared{Run: "b", Batches: slices.Repeat([]float64{0.5}, 20)}
	d, err := one.Against(two)
	if err != nil || d.Chance() != "< 0.0001" {
		t.Errorf("p is %s (%v, %v)", d.Chance(), d.P, err)
	}
	for p, want := range map[float64]string{0.0001: "0.0001", 0.25: "0.2500", 1: "1.0000", 0.00009999: "< 0.0001"} {
		if got := (Difference{P: p}).Chance(); got != want {
			t.Errorf("p = %v is written %s, want %s", p, got, want)
		}
	}
	c := Comparison{Runs: []Compared{two, one}, Differences: []Difference{d}}
	raw, err := json.Marshal(c)
	if want := `"p":0.00004999`; err != nil || !strings.Contains(string(raw), want) {
		t.Errorf("%s has no %s (%v)", raw, want, err)
	}
}
