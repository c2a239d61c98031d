package sample

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/dygmamba/dygmamba/index"
	"github.com/dygmamba/dygmamba/internal/mersenne"
)

// Where numbers are clear of all boundaries, they fall where the softmax itself puts them. Half of them are drawn next
// to a boundary, in steps that its rounding can and cannot bridge.
func TestClearNumbersFallWhereTheSoftmaxPutsThem(t *testing.T) {
	clear := 0
	rapid.Check(t, func(t *rapid.T) {
		m := rapid.IntRange(1, 3000).Draw(t, "entries")
		h := index.History{Time: make([]float64, m)}
		gap := rapid.SampledFrom([]float64{0, 0.01, 3, 500}).Draw(t, "gap")
		gen := mersenne.New(rapid.Uint32().Draw(t, "seed"))
		for j := 1; j < m; j++ {
			h.Time[j] = h.Time[j-1] + math.Floor(gap*2*gen.Float64())
		}
		p := newTimeAware(generator(nil), nil, PickerOptions{Scale: 0.01})
		s := p.shares(1, h)
		m = 1 + int(gen.Below(uint32(m)))
		sums := s.softmax(m, nil)
		numbers := make([]float64, 1)
		out, want := make([]int32, 1), make([]int32, 1)
		for i := range 200 {
			numbers[0] = gen.Float64()
			if i%2 == 0 {
				border := sums[gen.Below(uint32(m))] / sums[m-1]
				numbers[0] = min(max(0, border*(1+0x1p-24*(6*gen.Float64()-3))), math.Nextafter(1, 0))
			}
			want[0] = mersenne.Weighted(sums, numbers[0])
			if s.clear(m, numbers, out) {
				clear++
				if !slices.Equal(out, want) {
					t.Fatalf("%v of %d entries falls on %d, want %d", numbers[0], m, out[0], want[0])
				}
			}
		}
	})
	if clear < 1000 {
		t.Errorf("only %d numbers were clear", clear)
	}
}
