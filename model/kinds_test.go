package model

import (
	"slices"
	"testing"

	"github.com/dygmamba/dygmamba/event"
)

// TestKindsAreTold: every kind that is known has numbers of its own, others none.
func TestKindsAreTold(t *testing.T) {
	for _, k := range []Kinds{1, 3, 64, 65, 1000} {
		seen := map[string]bool{}
		for kind := event.Kind(1); Kinds(kind) <= k; kind++ {
			row := make([]float32, k.Width())
			k.Put(kind, row)
			var text []byte
			for _, x := range row {
				text = append(text, byte(x))
			}
			seen[string(text)] = true
		}
		if len(seen) != int(k) || k.Width() > 64 {
			t.Errorf("%d kinds in %d numbers look like %d", k, k.Width(), len(seen))
		}
		none := make([]float32, k.Width())
		k.Put(0, none)
		k.Put(event.Kind(k)+1, none)
		if slices.Max(none) != 0 {
			t.Errorf("of %d kinds, none and a new one are %v", k, none)
		}
	}
	row := Kinds(3).AppendRow([]float32{9}, []float32{1, 2}, 2, 2)
	if !slices.Equal(row, []float32{9, 1, 2, 0, 1, 0}) ||
		!slices.Equal(Kinds(1).AppendRow(nil, nil, 2, 1), []float32{0, 0, 1}) {
		t.Errorf("a row is %v", row)
	}
}
