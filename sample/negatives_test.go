package sample_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/internal/golden"
	"github.com/dygmamba/dygmamba/internal/streamtest"
	"github.com/dygmamba/dygmamba/protocol"
	"github.com/dygmamba/dygmamba/sample"
)

func TestNegativesOfTheToyGraph(t *testing.T) {
	graph, _ := golden.Models(t)
	log, err := event.FromColumns(event.Columns{Src: graph.Src, Dst: graph.Dst, Time: graph.Time, Edge: graph.Edge})
	if err != nil {
		t.Fatal(err)
	}
	draws := golden.Draws(t)
	for strategy, want := range map[protocol.Negatives]golden.ToyNegatives{
		protocol.HistoricalNegatives: draws.Historical, protocol.InductiveNegatives: draws.Inductive,
	} {
		n := negatives(t, log, sample.NegativeOptions{Strategy: strategy, Seed: want.Seed, Observed: want.Observed})
		for b := range want.Batches {
			lo := 30 + 15*b
			compare(t, fmt.Sprintf("%s batch %d", strategy, b), draw(n, log.Span(lo, lo+15)), want.Batches[b])
		}
	}
	n := negatives(t, log, sample.NegativeOptions{})
	for b, want := range draws.Random {
		lo := 10 * b
		span := log.Span(lo, lo+10)
		compare(t, fmt.Sprintf("random batch %d", b), draw(n, span), [2][]int32{span.Src, want[1]})
	}
}

func compare(t *testing.T, what string, got []sample.Query, want [2][]int32) {
	t.Helper()
	var src, dst []int32
	for _, q := range got {
		src, dst = append(src, q.Src), append(dst, q.Dst)
	}
	if diff := cmp.Diff(want, [2][]int32{src, dst}); diff != "" {
		t.Errorf("%s: %s", what, diff)
	}
}

func TestNegativesOfWholeDataSets(t *testing.T) {
	sets := golden.DrawsOnRealData(t)
	for _, name := range slices.Sorted(maps.Keys(sets)) {
		t.Run(name, func(t *testing.T) {
			full, want := streamtest.Real(t, name), sets[name]
			cut := newCut(full, want)
			for _, c := range []struct {
				strategy  protocol.Negatives
				from, pos *event.Log
				want      golden.RealNegatives
			}{
				{protocol.RandomNegatives, full, cut.test, want.Random},
				{protocol.HistoricalNegatives, full, cut.test, want.Historical},
				{protocol.InductiveNegatives, full, cut.test, want.Inductive},
				{protocol.RandomNegatives, cut.newTest, cut.newTest, want.NewTestRandom},
				{protocol.InductiveNegatives, cut.newTest, cut.newTest, want.NewTestInductive},
			} {
				o := sample.NegativeOptions{Strategy: c.strategy, Seed: c.want.Seed, Observed: cut.observed}
				n := negatives(t, c.from, o)
				sum := sha256.New()
				batch := 0
				for span := range c.pos.Batches(0, c.pos.Len(), 200) {
					qs := draw(n, span)
					if batch < len(c.want.First) {
						for i, want := range c.want.First[batch] {
							if qs[i].Src != want[0] || qs[i].Dst != want[1] {
								t.Fatalf("%s of %d events, batch %d: negative %d is %v, want %v",
									c.strategy, c.pos.Len(), batch, i, qs[i], want)
							}
						}
					}
					batch++
					write(sum, qs)
				}
				if got := hex.EncodeToString(sum.Sum(nil)); got != c.want.Hash {
					t.Errorf("%s of %d events: hash %s, want %s", c.strategy, c.pos.Len(), got, c.want.Hash)
				}
			}
		})
	}
}

// cut is the test period of a data set, found from the sizes alone: these files have no ties across the cuts.
type cut struct {
	test, newTest *event.Log
	observed      event.Time
}

func newCut(full *event.Log, want golden.RealDraws) cut {
	first := full.Len() - want.Sizes.Test
	c := cut{test: full.Select(func(i int) bool { return i >= first }), observed: full.At(first - 1).Time}
	c.newTest = c.test.Select(func(i int) bool {
		e := c.test.At(i)
		_, src := slices.BinarySearch(want.NewNodes, e.Src)
		_, dst := slices.BinarySearch(want.NewNodes, e.Dst)
		return src || dst
	})
	return c
}

func write(sum hash.Hash, qs []sample.Query) {
	for i, q := range qs {
		if i > 0 {
			sum.Write([]byte{';'})
		}
		fmt.Fprintf(sum, "%d,%d", q.Src, q.Dst)
	}
	sum.Write([]byte{'\n'})
}

func negatives(t testing.TB, from *event.Log, o sample.NegativeOptions) sample.Negatives {
	t.Helper()
	n, err := sample.NewNegatives(from, o)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func draw(n sample.Negatives, pos event.Span) []sample.Query {
	out := make([]sample.Query, pos.Len())
	n.Draw(pos, out)
	return out
}
