package sample_test

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/internal/mersenne"
	"github.com/dygmamba/dygmamba/internal/pyset"
	"github.com/dygmamba/dygmamba/internal/streamtest"
	"github.com/dygmamba/dygmamba/protocol"
	"github.com/dygmamba/dygmamba/sample"
)

type pair [2]event.Node

// definition is what a strategy may draw for a batch, computed the long way.
type definition struct {
	wanted map[pair]bool // historical or inductive pairs
	other  map[pair]bool // all pairs but the positives
}

func define(events []event.Event, pos event.Span, o sample.NegativeOptions) definition {
	first, last := pos.Time[0], pos.Time[pos.Len()-1]
	d := definition{map[pair]bool{}, map[pair]bool{}}
	for _, e := range events {
		if e.Time <= first {
			d.wanted[pair{e.Src, e.Dst}] = true
		}
		for _, f := range events {
			d.other[pair{e.Src, f.Dst}] = true
		}
	}
	for _, e := range events {
		if e.Time >= first && e.Time <= last || o.Strategy == protocol.InductiveNegatives && e.Time <= o.Observed {
			delete(d.wanted, pair{e.Src, e.Dst})
		}
	}
	for i, u := range pos.Src {
		delete(d.other, pair{u, pos.Dst[i]})
	}
	return d
}

func options(t *rapid.T) sample.NegativeOptions {
	o := sample.NegativeOptions{
		Strategy: rapid.SampledFrom(protocol.Published()).Draw(t, "strategy"),
		Sampling: rapid.SampledFrom([]protocol.Sampling{protocol.Reference, protocol.Native}).Draw(t, "sampling"),
		Seed:     uint64(rapid.Uint32().Draw(t, "seed")),
		Observed: float64(rapid.IntRange(-3, 7).Draw(t, "observed")),
	}
	if o.Strategy == protocol.RandomNegatives && o.Sampling == protocol.Native {
		o.Avoid = rapid.Bool().Draw(t, "avoid")
	}
	return o
}

func TestNegativesObeyTheirDefinition(t *testing.T) { rapid.Check(t, obeyDefinition) }

func FuzzNegativesObeyTheirDefinition(f *testing.F) { f.Fuzz(rapid.MakeFuzz(obeyDefinition)) }

func obeyDefinition(t *rapid.T) {
	events, o := streamtest.Few(t), options(t)
	log := streamtest.Log(t, events)
	n, err := sample.NewNegatives(log, o)
	if err != nil {
		t.Fatal(err)
	}
	if log.Len() == 0 {
		return
	}
	size := rapid.IntRange(1, 40).Draw(t, "batch")
	for pos := range log.Batches(0, log.Len(), size) {
		out := draw(n, pos)
		for i, q := range out {
			if q.Time != pos.Time[i] {
				t.Fatalf("negative %d at %v, its positive at %v", i, q.Time, pos.Time[i])
			}
		}
		if o.Strategy == protocol.RandomNegatives {
			checkRandom(t, events, pos, out, o)
		} else {
			checkPairs(t, define(events, pos, o), pos, out)
		}
	}
}

func checkRandom(t *rapid.T, events []event.Event, pos event.Span, out []sample.Query, o sample.NegativeOptions) {
	other := define(events, pos, o).other
	for i, q := range out {
		if q.Src != pos.Src[i] {
			t.Fatalf("negative %d has source %d, its positive %d", i, q.Src, pos.Src[i])
		}
		if !slices.ContainsFunc(events, func(e event.Event) bool { return e.Dst == q.Dst }) {
			t.Fatalf("negative %d has destination %d, which is none", i, q.Dst)
		}
		free := slices.ContainsFunc(events, func(e event.Event) bool { return other[pair{q.Src, e.Dst}] })
		if o.Avoid && free && !other[pair{q.Src, q.Dst}] {
			t.Fatalf("negative %d is a positive: %v", i, q)
		}
	}
}

func checkPairs(t *rapid.T, d definition, pos event.Span, out []sample.Query) {
	count := map[pair]int{}
	rest := 0 // draws that are not of the wanted kind
	for _, q := range out {
		p := pair{q.Src, q.Dst}
		count[p]++
		if !d.wanted[p] {
			rest++
			if !d.other[p] && len(d.other) > 0 {
				t.Fatalf("%v is neither wanted nor a random pair", p)
			}
		}
	}
	missing := max(0, len(out)-len(d.wanted))
	if missing == 0 {
		if rest > 0 || len(count) != len(out) {
			t.Fatalf("%d wanted pairs for %d negatives, but %d are others and %d distinct",
				len(d.wanted), len(out), rest, len(count))
		}
		return
	}
	if rest > missing {
		t.Fatalf("%d other pairs, at most %d are needed", rest, missing)
	}
	for p := range d.wanted {
		if count[p]--; count[p] < 0 {
			t.Fatalf("wanted pair %v was left out", p)
		}
	}
	if len(d.other) < missing {
		return
	}
	for p, n := range count { // what is left are the random ones, each once
		if n > 1 {
			t.Fatalf("random pair %v was drawn %d times", p, n)
		}
	}
}

// The reference fills all of its sets anew for every batch; so does this.
func TestReferenceNegativesFromScratch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		events, o := streamtest.Few(t), options(t)
		slices.SortStableFunc(events, func(a, b event.Event) int { return cmp.Compare(a.Time, b.Time) })
		o.Sampling, o.Avoid = protocol.Reference, false
		o.Strategy = rapid.SampledFrom([]protocol.Negatives{"historical", "inductive"}).Draw(t, "which")
		log := streamtest.Log(t, events)
		n, err := sample.NewNegatives(log, o)
		if err != nil {
			t.Fatal(err)
		}
		gen := mersenne.New(uint32(o.Seed))
		size := rapid.IntRange(1, 12).Draw(t, "batch")
		for range 2 { // the second time the past begins again
			for pos := range log.Batches(0, log.Len(), size) {
				if len(define(events, pos, o).other) == 0 {
					return // the reference fails here
				}
				want := scratch(events, pos, o, gen)
				for i, q := range draw(n, pos) {
					if (pair{q.Src, q.Dst}) != want[i] {
						t.Fatalf("negative %d is %v, want %v", i, q, want[i])
					}
				}
			}
		}
	})
}

func scratch(events []event.Event, pos event.Span, o sample.NegativeOptions, gen *mersenne.Twister) []pair {
	between := func(lo, hi event.Time) *pyset.Set {
		s := pyset.NewPairs()
		for _, e := range events {
			if e.Time >= lo && e.Time <= hi {
				s.Add(pyset.Pair(e.Src, e.Dst))
			}
		}
		return s
	}
	minus := func(a, b *pyset.Set) *pyset.Set {
		s := pyset.NewPairs()
		s.Minus(a, b)
		return s
	}
	choose := func(s *pyset.Set, n int) []pair {
		pick := make([]int32, n)
		if s.Len() >= n {
			gen.Choose(s.Len(), pick, new([]uint32))
		} else {
			gen.Integers(s.Len(), pick)
		}
		keys := s.AppendTo(nil)
		out := make([]pair, n)
		for i, j := range pick {
			out[i][0], out[i][1] = pyset.Split(keys[j])
		}
		return out
	}
	first := pos.Time[0]
	set := between(math.Inf(-1), first)
	if o.Strategy == protocol.InductiveNegatives {
		set = minus(set, between(math.Inf(-1), o.Observed))
	}
	set = minus(set, between(first, pos.Time[pos.Len()-1]))
	if set.Len() >= pos.Len() {
		return choose(set, pos.Len())
	}
	every, batch := pyset.NewPairs(), pyset.NewPairs()
	for u := event.Node(1); u < 20; u++ {
		for v := event.Node(1); v < 20; v++ {
			if slices.ContainsFunc(events, func(e event.Event) bool { return e.Src == u }) &&
				slices.ContainsFunc(events, func(e event.Event) bool { return e.Dst == v }) {
				every.Add(pyset.Pair(u, v))
			}
		}
	}
	for i, u := range pos.Src {
		batch.Add(pyset.Pair(u, pos.Dst[i]))
	}
	out := choose(minus(every, batch), pos.Len()-set.Len())
	for k := range set.All() {
		u, v := pyset.Split(k)
		out = append(out, pair{u, v})
	}
	return out
}

func TestNegativesResetAndResume(t *testing.T) {
	log := streamtest.Generate(streamtest.Shape{Events: 3000, Sources: 40, Dests: 30, Instants: 2000, Repeat: 0.5}, 1)
	for _, sampling := range []protocol.Sampling{protocol.Reference, protocol.Native} {
		for _, strategy := range protocol.Published() {
			o := sample.NegativeOptions{Strategy: strategy, Sampling: sampling, Seed: 3, Observed: log.At(1500).Time}
			n := negatives(t, log, o)
			spans := slices.Collect(log.Batches(2000, 3000, 200))
			first := draw(n, spans[0])
			state := n.(sample.Resumable).State()
			second := draw(n, spans[1])
			if slices.Equal(first, draw(n, spans[0])) {
				t.Errorf("%s %s: drew the same twice", sampling, strategy)
			}
			n.Reset()
			if !slices.Equal(first, draw(n, spans[0])) {
				t.Errorf("%s %s: Reset does not start over", sampling, strategy)
			}
			later := negatives(t, log, o)
			if err := later.(sample.Resumable).SetState(state); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(second, draw(later, spans[1])) {
				t.Errorf("%s %s: SetState does not continue", sampling, strategy)
			}
			later.Reset()
			if !slices.Equal(first, draw(later, spans[0])) {
				t.Errorf("%s %s: Reset after SetState does not start over", sampling, strategy)
			}
			if err := later.(sample.Resumable).SetState([]byte("no state")); err == nil {
				t.Errorf("%s %s: a nonsense state was accepted", sampling, strategy)
			}
		}
	}
}

func TestNegativesOfNothing(t *testing.T) {
	pos := streamtest.Generate(streamtest.Shape{Events: 10, Sources: 4, Dests: 3, Instants: 9}, 1).All()
	one := streamtest.Log(t, []event.Event{{Src: 1, Dst: 2, Time: 1}})
	for _, sampling := range []protocol.Sampling{protocol.Reference, protocol.Native} {
		for _, strategy := range protocol.Published() {
			o := sample.NegativeOptions{Strategy: strategy, Sampling: sampling}
			for i, q := range draw(negatives(t, event.NewLog(0), o), pos) {
				if q != (sample.Query{Src: pos.Src[i], Dst: pos.Dst[i], Time: pos.Time[i]}) {
					t.Errorf("%s %s from an empty log: %v", sampling, strategy, q)
				}
			}
			if q := draw(negatives(t, one, o), one.All())[0]; q != (sample.Query{Src: 1, Dst: 2, Time: 1}) {
				t.Errorf("%s %s with one pair, which is positive: %v", sampling, strategy, q)
			}
			if got := draw(negatives(t, one, o), pos.Slice(0, 0)); len(got) != 0 {
				t.Errorf("%s %s for no positives: %v", sampling, strategy, got)
			}
		}
	}
}

func TestNegativesRefuseNonsense(t *testing.T) {
	for _, o := range []sample.NegativeOptions{
		{Strategy: "hard"}, {Sampling: "numpy"}, {Seed: 1 << 32}, {Avoid: true},
	} {
		if _, err := sample.NewNegatives(event.NewLog(0), o); err == nil {
			t.Errorf("%+v was accepted", o)
		}
	}
	wide := event.NewLog(100_000)
	for i := range event.Node(100_000) {
		if _, err := wide.Append(event.Event{Src: i + 1, Dst: i + 1, Time: float64(i)}); err != nil {
			t.Fatal(err)
		}
	}
	o := sample.NegativeOptions{Strategy: protocol.HistoricalNegatives}
	if _, err := sample.NewNegatives(wide, o); err == nil {
		t.Error("10¹⁰ pairs were accepted in reference mode")
	}
	o.Sampling = protocol.Native
	if _, err := sample.NewNegatives(wide, o); err != nil {
		t.Error(err)
	}
}

func BenchmarkNegatives(b *testing.B) {
	log := streamtest.Generate(streamtest.MOOC, 1)
	for _, sampling := range []protocol.Sampling{protocol.Reference, protocol.Native} {
		for _, strategy := range protocol.Published() {
			b.Run(fmt.Sprint(sampling, "/", strategy), func(b *testing.B) {
				o := sample.NegativeOptions{Strategy: strategy, Sampling: sampling, Observed: log.At(350_000).Time}
				n := negatives(b, log, o)
				out := make([]sample.Query, 200)
				for i := 350_000; b.Loop(); i += 200 {
					if i+200 > log.Len() {
						i = 350_000
					}
					n.Draw(log.Span(i, i+200), out)
				}
				b.ReportMetric(200*float64(b.N)/b.Elapsed().Seconds(), "negatives/s")
			})
		}
	}
}
