package pyset

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
)

// orders.json was written by orders.py beside it; CPython 3.8 to 3.12 agree on it.
func TestOrderIsThatOfCPython(t *testing.T) {
	raw, err := os.ReadFile("testdata/orders.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Kind                    string
		N, Bound, Size          int
		Set, Copy, Union, Minus string
		MinusFew                string `json:"minus_few"`
		MinusTwice              string `json:"minus_twice"`
		MinusThenFew            string `json:"minus_then_few"`
		MinusSelf               string `json:"minus_self"`
		MinusQuarter            string `json:"minus_quarter"`
		FewByFew                string `json:"few_by_few"`
	}
	if err := json.Unmarshal(raw, &cases); err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		t.Run(fmt.Sprintf("%s/%d/%d", c.Kind, c.N, c.Bound), func(t *testing.T) {
			pairs := c.Kind == "pairs"
			first := generated(c.N, c.Bound, 1)
			second := generated(c.N/3+2, c.Bound, 2)
			if pairs {
				first = zip(first, generated(c.N, c.Bound, 3))
				second = zip(second, generated(c.N, c.Bound, 4))
			}
			fill := func(keys []uint64) *Set {
				s := &Set{pairs: pairs}
				for _, k := range keys {
					s.Add(k)
				}
				return s
			}
			minus := func(a, b *Set) *Set {
				s := &Set{pairs: pairs}
				s.Add(5) // what was there before must not matter
				s.Minus(a, b)
				return s
			}
			x, y := fill(first), fill(second)
			few := fill(second[:min(len(second), c.N/9)])
			if x.Len() != c.Size {
				t.Errorf("%d keys, want %d", x.Len(), c.Size)
			}
			duplicate, union, late := &Set{pairs: pairs}, &Set{pairs: pairs}, &Set{pairs: pairs}
			duplicate.Merge(x)
			union.Merge(x)
			union.Merge(y)
			head := x.AppendTo(nil)
			late.Merge(fill(head[:min(5, len(head))]))
			late.Merge(few)
			quarter := fill(head[:len(head)>>2])
			for _, check := range []struct {
				name string
				got  *Set
				want string
			}{
				{"set", x, c.Set},
				{"copy", duplicate, c.Copy},
				{"union", union, c.Union},
				{"minus", minus(x, y), c.Minus},
				{"minus few", minus(x, few), c.MinusFew},
				{"minus twice", minus(minus(x, late), y), c.MinusTwice},
				{"minus, then few", minus(minus(x, y), few), c.MinusThenFew},
				{"minus itself", minus(x, x), c.MinusSelf},
				{"minus a quarter", minus(x, quarter), c.MinusQuarter},
				{"minus few, minus few", minus(minus(x, few), late), c.FewByFew},
			} {
				if got := digest(check.got); got != check.want {
					t.Errorf("%s: order %s, want %s", check.name, got, check.want)
				}
			}
		})
	}
}

func TestHas(t *testing.T) {
	var s Set
	if s.Has(3) {
		t.Error("an empty set has 3")
	}
	for k := range uint64(1000) {
		if !s.Add(3*k) || s.Add(3*k) {
			t.Fatalf("key %d must be new once", 3*k)
		}
	}
	for k := range uint64(3000) {
		if s.Has(k) != (k%3 == 0) {
			t.Fatalf("Has(%d) = %v", k, s.Has(k))
		}
	}
}

func FuzzDifference(f *testing.F) {
	f.Add([]byte("abcabcxyz"), []byte("bz"))
	f.Add([]byte{}, []byte{1})
	f.Fuzz(func(t *testing.T, a, b []byte) {
		var x, y, d Set
		in := map[uint64]bool{}
		for _, k := range a {
			x.Add(uint64(k))
			in[uint64(k)] = true
		}
		for _, k := range b {
			y.Add(uint64(k))
			delete(in, uint64(k))
		}
		d.Minus(&x, &y)
		keys := d.AppendTo(nil)
		if len(keys) != len(in) || d.Len() != len(in) {
			t.Fatalf("%d keys of length %d, want %d", len(keys), d.Len(), len(in))
		}
		for _, k := range keys {
			if !in[k] || !d.Has(k) {
				t.Fatalf("key %d does not belong", k)
			}
		}
	})
}

func BenchmarkBuildPairs(b *testing.B) {
	s := NewPairs()
	for b.Loop() {
		s.Clear()
		for u := range int32(1000) {
			for v := range int32(500) {
				s.Add(Pair(u, v))
			}
		}
	}
	b.ReportMetric(500_000*float64(b.N)/b.Elapsed().Seconds(), "pairs/s")
}

func generated(n, bound int, seed uint64) []uint64 {
	out := make([]uint64, n)
	for i := range out {
		seed = seed*6364136223846793005 + 1442695040888963407
		out[i] = seed >> 33 % uint64(bound)
	}
	return out
}

func zip(u, v []uint64) []uint64 {
	out := make([]uint64, min(len(u), len(v)))
	for i := range out {
		out[i] = Pair(int32(u[i]), int32(v[i]))
	}
	return out
}

func digest(s *Set) string {
	var text strings.Builder
	for i, k := range s.AppendTo(nil) {
		if i > 0 {
			text.WriteByte(';')
		}
		if s.pairs {
			u, v := Split(k)
			fmt.Fprintf(&text, "%d,%d", u, v)
		} else {
			text.WriteString(strconv.FormatUint(k, 10))
		}
	}
	sum := sha256.Sum256([]byte(text.String()))
	return hex.EncodeToString(sum[:8])
}
