package sequence

import "testing"

// TestRatio: whatever division rounds to, a width is found again.
func TestRatio(t *testing.T) {
	for g := 1; g <= 200; g++ {
		for d := 1; d <= 200; d++ {
			if int(ratio(g, d)*float64(d)) != g {
				t.Fatalf("γ = %v makes %d·γ %d, want %d", ratio(g, d), d, int(ratio(g, d)*float64(d)), g)
			}
		}
	}
}
