package pairs_test

import (
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"github.com/dygmamba/dygmamba/internal/pairs"
)

// A table is a map from keys to numbers, whatever was truncated before.
func TestTableIsAMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var table pairs.Table
		number := map[uint64]int32{}
		var keys []uint64
		batch := rapid.SliceOfN(rapid.Uint64Range(0, 999), 0, 600)
		for range rapid.IntRange(1, 6).Draw(t, "rounds") {
			add := batch.Draw(t, "keys")
			got := make([]int32, len(add))
			table.Add(add, got)
			for i, k := range add {
				want, known := number[k]
				if !known {
					want = int32(len(keys))
					number[k], keys = want, append(keys, k)
				}
				if got[i] != want || table.Key(int(want)) != k {
					t.Fatalf("key %d has number %d, want %d", k, got[i], want)
				}
			}
			keep := rapid.IntRange(0, len(keys)).Draw(t, "keep")
			for _, k := range keys[keep:] {
				delete(number, k)
			}
			keys = keys[:keep]
			table.Truncate(keep)
			check(t, &table, number)
		}
	})
}

// Bits of the hash in a slot are few where a table is large: keys that only look alike are told apart.
func TestLargeTable(t *testing.T) {
	var table pairs.Table
	gen := rand.New(rand.NewPCG(1, 2))
	const n = 1 << 19
	keys, numbers := make([]uint64, n), make([]int32, n)
	number := map[uint64]int32{}
	for i := range keys {
		keys[i] = pairs.Key(gen.Int32N(1<<12), gen.Int32N(1<<12))
		if _, known := number[keys[i]]; !known {
			number[keys[i]] = int32(len(number))
		}
	}
	table.Add(keys, numbers)
	check(t, &table, number)
	half := len(number) / 2
	table.Truncate(half)
	for k, at := range number {
		if int(at) >= half {
			delete(number, k)
		}
	}
	check(t, &table, number)
	table.Find(keys, numbers)
	for i, k := range keys {
		want, known := number[k]
		if !known {
			want = pairs.None
		}
		if numbers[i] != want {
			t.Fatalf("key %d was found as %d, want %d", k, numbers[i], want)
		}
	}
	if each := float64(table.Bytes()) / float64(table.Len()); each > 40 {
		t.Errorf("%.1f bytes for each of %d keys", each, table.Len())
	}
}

func check(t interface {
	Fatalf(string, ...any)
}, table *pairs.Table, want map[uint64]int32) {
	if table.Len() != len(want) {
		t.Fatalf("%d keys, want %d", table.Len(), len(want))
	}
	var got [1]int32
	for k, number := range want {
		if table.Find([]uint64{k}, got[:]); got[0] != number {
			t.Fatalf("key %d has number %d, want %d", k, got[0], number)
		}
	}
}

func TestKeys(t *testing.T) {
	if u, v := pairs.Split(pairs.Key(7, 1<<30)); u != 7 || v != 1<<30 {
		t.Errorf("(%d, %d), want (7, 2^30)", u, v)
	}
	if pairs.Unordered(3, 2) != pairs.Key(2, 3) {
		t.Error("an unordered pair has two keys")
	}
}

func BenchmarkAdd(b *testing.B) {
	gen := rand.New(rand.NewPCG(1, 2))
	keys, numbers := make([]uint64, 200), make([]int32, 200)
	var table pairs.Table
	for b.Loop() {
		for i := range keys {
			keys[i] = pairs.Key(gen.Int32N(1<<20), gen.Int32N(1<<6))
		}
		table.Add(keys, numbers)
	}
	b.ReportMetric(float64(b.N)*200/b.Elapsed().Seconds(), "keys/s")
}

// A column that was extended has zeros, also where something was truncated.
func TestExtend(t *testing.T) {
	var c pairs.Column[int]
	for i := range 100_000 {
		c.Append(i + 1)
	}
	c.Truncate(40_000)
	c.Extend(150_000)
	c.Append(7)
	if c.Len() != 150_001 || *c.At(150_000) != 7 || *c.At(39_999) != 40_000 {
		t.Fatalf("%d entries", c.Len())
	}
	for i := 40_000; i < 150_000; i++ {
		if *c.At(i) != 0 {
			t.Fatalf("entry %d is %d", i, *c.At(i))
		}
	}
}
