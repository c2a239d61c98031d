package dataset

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestSaveShop(t *testing.T) {
	dir := t.TempDir()
	save := func(name string, o ShopOptions) *Set {
		t.Helper()
		path := filepath.Join(dir, name)
		last := 0
		if err := SaveShop(t.Context(), path, o, func(n int) { last = n }); err != nil {
			t.Fatal(err)
		}
		if o.Events > 1<<16 && last == 0 {
			t.Error("no progress")
		}
		s, err := OpenNative(path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		return s
	}
	s := save("a.dgm", ShopOptions{Events: 100_000, Users: 3000, Items: 700, Seed: 1})
	i := Stats(s)
	if i.Events != 100_000 || i.MaxNode != 3700 || !i.Bipartite || i.Sources < 2900 || i.Targets < 690 ||
		i.Repeats < 0.45 || i.Repeats > 0.8 || s.Names.Name(3000) != "u3000" || s.Names.Name(3001) != "i1" {
		t.Errorf("%+v", i)
	}
	const day = 24 * 3600
	if FormatTime(i.First, i.TimeFormat)[:10] != "2024-01-01" || math.Abs(i.Last-i.First-365*day) > 10*day {
		t.Errorf("times from %v to %v", i.First, i.Last)
	}
	counts := make([]int, 3001)
	for _, u := range s.Log.All().Src {
		counts[u]++
	}
	slices.Sort(counts)
	if top := counts[3000]; top < 20*counts[1500] {
		t.Errorf("the most active user has %d events, the median one %d", top, counts[1500])
	}
	if save("b.dgm", ShopOptions{Events: 100_000, Users: 3000, Items: 700, Seed: 1}).Hash() != s.Hash() {
		t.Error("another stream from the same seed")
	}
	if save("c.dgm", ShopOptions{Events: 100_000, Users: 3000, Items: 700, Seed: 2}).Hash() == s.Hash() {
		t.Error("the same stream from another seed")
	}
	if one := save("d.dgm", ShopOptions{Events: 1}); one.Log.Len() != 1 || one.NumNodes() != 3 {
		t.Errorf("%d events of %d nodes", one.Log.Len(), one.NumNodes())
	}
	for _, o := range []ShopOptions{{}, {Events: 5, Users: -1}, {Events: 5, Users: 1 << 31, Items: 1}} {
		if err := SaveShop(t.Context(), filepath.Join(dir, "e.dgm"), o, nil); err == nil {
			t.Errorf("%+v was taken", o)
		}
	}
	ended, end := context.WithCancel(t.Context())
	end()
	err := SaveShop(ended, filepath.Join(dir, "e.dgm"), ShopOptions{Events: 5}, nil)
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*e.dgm*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	if _, err := os.Stat(filepath.Join(dir, "e.dgm")); err == nil {
		t.Error("half a file")
	}
}
