package pairs_test

import (
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"github.com/dygmamba/dygmamba/internal/pairs"
)

// Numbers are those of a table that saw the events one after another.
func TestNumber(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 400_000).Draw(t, "events") // several parts
		most := rapid.Int32Range(1, 1000).Draw(t, "nodes")
		gen := rand.New(rand.NewPCG(uint64(n), uint64(most)))
		src, dst := make([]int32, n), make([]int32, n)
		keys, want := make([]uint64, n), make([]int32, n)
		for i := range src {
			src[i], dst[i] = gen.Int32N(most), gen.Int32N(most)
			keys[i] = pairs.Key(src[i], dst[i])
		}
		var table pairs.Table
		table.Add(keys, want)
		got := pairs.Number(src, dst)
		if got.Len() != table.Len() || pairs.Distinct(src, dst) != table.Len() || got.Table().Len() != table.Len() {
			t.Fatalf("%d, %d and %d pairs, want %d", got.Len(), pairs.Distinct(src, dst), got.Table().Len(),
				table.Len())
		}
		seen := int32(0)
		for i, number := range got.Of {
			if number != want[i] || got.Keys[number] != keys[i] {
				t.Fatalf("event %d of pair %d, want %d", i, number, want[i])
			}
			if number == seen {
				if seen++; got.First[number] != int32(i) {
					t.Fatalf("pair %d met first in event %d, want %d", number, got.First[number], i)
				}
			}
		}
	})
}

func BenchmarkNumber(b *testing.B) {
	gen := rand.New(rand.NewPCG(1, 2))
	src, dst := make([]int32, 10_000_000), make([]int32, 10_000_000)
	for i := range src {
		src[i], dst[i] = gen.Int32N(1<<20), gen.Int32N(1<<3)
	}
	for b.Loop() {
		pairs.Number(src, dst)
	}
	b.ReportMetric(float64(b.N)*float64(len(src))/b.Elapsed().Seconds(), "events/s")
}
