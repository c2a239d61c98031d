package rng

import (
	"math"
	"testing"
)

// The first numbers of a stream are part of every result drawn from it: they must never change.
func TestStreamIsFixed(t *testing.T) {
	s := New(7, "negatives")
	got := []uint64{s.Uint64(), s.Uint64(), uint64(s.Below(1000)), uint64(s.Below(1 << 40))}
	want := []uint64{18232773652261335825, 16423041329849893954, 103, 764038278989}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("draw %d: %d, want %d", i, got[i], want[i])
		}
	}
	if f := s.Float64(); f != 0.038610897686372825 {
		t.Errorf("float: %v, want 0.038610897686372825", f)
	}
}

func TestNamesAndSeedsSeparateStreams(t *testing.T) {
	first := map[uint64]string{}
	for seed := range uint64(50) {
		for _, name := range []string{"a", "b", "negatives", "picker"} {
			x := New(seed, name).Uint64()
			if other, taken := first[x]; taken {
				t.Errorf("seed %d %q starts like %s", seed, name, other)
			}
			first[x] = name
		}
	}
}

func TestBelowIsEven(t *testing.T) {
	s := New(1, "even")
	const n, draws = 7, 70000
	var count [n]float64
	for range draws {
		count[s.Below(n)]++
	}
	chi := 0.0
	for _, c := range count {
		chi += (c - draws/n) * (c - draws/n) / (draws / n)
	}
	if chi > 22.5 { // 6 degrees of freedom, one in a thousand
		t.Errorf("chi² %.1f over counts %v", chi, count)
	}
}

func TestFloat64StaysBelowOne(t *testing.T) {
	s := New(1, "float")
	low, high, sum := math.Inf(1), 0.0, 0.0
	for range 100000 {
		x := s.Float64()
		low, high, sum = min(low, x), max(high, x), sum+x
	}
	if low < 0 || high >= 1 || math.Abs(sum/100000-0.5) > 0.005 {
		t.Errorf("from %v to %v, mean %v", low, high, sum/100000)
	}
}

func TestStateContinuesAndResetStartsOver(t *testing.T) {
	s := New(3, "x")
	start := s.Uint64()
	state := s.State()
	next := s.Uint64()
	other := New(9, "y")
	if err := other.SetState(state); err != nil {
		t.Fatal(err)
	}
	if got := other.Uint64(); got != next {
		t.Errorf("after SetState %d, want %d", got, next)
	}
	s.Reset()
	if got := s.Uint64(); got != start {
		t.Errorf("after Reset %d, want %d", got, start)
	}
	if err := s.SetState([]byte("nonsense")); err == nil {
		t.Error("a nonsense state was accepted")
	}
}
