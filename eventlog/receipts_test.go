package eventlog

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
)

func TestReceiptsForgetTheOldest(t *testing.T) {
	r := NewReceipts(3)
	for i := range 8 {
		key := fmt.Sprint(i)
		if _, ok := r.Find(key); ok {
			t.Errorf("%s is known", key)
		}
		r.Add(key, Receipt{Last: uint64(i), Accepted: i})
		r.Add("", Receipt{Last: 99})
		for j := range i + 1 {
			got, ok := r.Find(fmt.Sprint(j))
			if want := i-j < 3; ok != want || ok && got != (Receipt{Last: uint64(j), Accepted: j, Again: true}) {
				t.Errorf("after %d, %d: %+v, %v", i, j, got, ok)
			}
		}
	}
	if _, ok := r.Find(""); ok || r.Len() != 3 {
		t.Errorf("no key is known, %v; %d keys, want 3", ok, r.Len())
	}
}

// The largest answer comes back as it was.
func TestReceiptsKeepLargeAnswers(t *testing.T) {
	r, want := NewReceipts(1), Receipt{Last: 1<<43 - 1, Accepted: MaxEvents}
	r.Add("key", want)
	want.Again = true
	if got, ok := r.Find("key"); !ok || got != want {
		t.Errorf("%+v, %v", got, ok)
	}
}

// A table of any size remembers what a plain list of the latest keys does, when it grows and when keys move up.
func TestReceiptsAreThoseOfAList(t *testing.T) {
	for _, limit := range []int{1, 5, 48, 49, 1000, keyChunk + 1} {
		r, rng := NewReceipts(limit), rand.New(rand.NewPCG(uint64(limit), 28))
		var list []string
		for i := range 3 * limit {
			key := fmt.Sprint(limit, " ", i)
			r.Add(key, Receipt{Last: uint64(i), Accepted: 1})
			list = append(list, key)
			for range 3 {
				n := rng.IntN(len(list))
				got, ok := r.Find(list[n])
				if want := len(list)-n <= limit; ok != want || ok && got.Last != uint64(n) {
					t.Fatalf("limit %d, after %d: key %d is %+v, %v", limit, i, n, got, ok)
				}
			}
		}
		for n, key := range list {
			if _, ok := r.Find(key); ok != (len(list)-n <= limit) {
				t.Errorf("limit %d: key %d is known: %v", limit, n, ok)
			}
		}
	}
}

// A key takes about 40 bytes, however many there are.
func TestReceiptsAreSmall(t *testing.T) {
	used := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before, r := used(), NewReceipts(KeptKeys)
	for i := range 240_000 {
		r.Add(fmt.Sprint(i), Receipt{Last: uint64(i)})
		if n := i + 1; n%60_000 == 0 {
			if each := float64(used()-before) / float64(n); each > 50 {
				t.Errorf("a key takes %.0f bytes of %d", each, n)
			}
		}
	}
	runtime.KeepAlive(r)
}
