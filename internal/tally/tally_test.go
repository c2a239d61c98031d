package tally

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/index"
	"github.com/dygmamba/dygmamba/sample"
)

// TestCountsAreThoseBefore: what a query gets follows from the events strictly before it, by the definition, also from
// a part of the log and after the log has grown.
func TestCountsAreThoseBefore(t *testing.T) {
	rng, log, extra := rand.New(rand.NewPCG(1, 2)), event.NewLog(0), new(Kinds)
	for round := range 3 {
		for range 150 {
			e := event.Event{Src: 1 + rng.Int32N(4), Dst: 1 + rng.Int32N(6), Time: float64(log.Len() / 3),
				Kind: event.Kind(rng.IntN(4))}
			if _, err := log.Append(e); err != nil {
				t.Fatal(err)
			}
		}
		part := log.Select(func(i int) bool { return i%3 != 0 })
		for _, of := range []*event.Log{log.Now(), part} {
			var qs []sample.Query
			for range 60 {
				qs = append(qs, sample.Query{Src: 1 + rng.Int32N(4), Dst: 1 + rng.Int32N(6),
					Time: float64(rng.IntN(60 * (round + 1))), Kind: event.Kind(rng.IntN(4))})
			}
			b := new(sample.Batch)
			past := index.Freeze(of)
			if err := extra.Check(past); err != nil {
				t.Fatal(err)
			}
			sample.Gatherer{Threads: 2}.Gather(past, sample.Plan{Extras: []sample.Extra{extra}}, qs, b)
			for i, q := range qs {
				if got, want := In(b).X[i*Width:(i+1)*Width], plainCount(of, q); !slices.Equal(got, want) {
					t.Fatalf("%+v of %d events:\ngot  %v\nwant %v", q, of.Len(), got, want)
				}
			}
		}
	}
}

// plainCount is the definition: the latest event first, through the whole log.
func plainCount(log *event.Log, q sample.Query) []float32 {
	out := make([]float32, Width)
	if q.Kind == 0 {
		return out
	}
	var c [groups]counts
	for i := log.Len() - 1; i >= 0; i-- {
		e := log.At(i)
		if e.Time >= q.Time || e.Kind == 0 {
			continue
		}
		is := e.Kind == q.Kind
		for group, in := range []bool{e.Src == q.Src, e.Dst == q.Dst, e.Src == q.Src && e.Dst == q.Dst,
			e.Dst == q.Src && e.Src != q.Src, e.Src == q.Dst && e.Dst != q.Dst} {
			if in {
				c[group].add(is)
			}
			if in && e.Src == e.Dst && group < 3 { // a history has both ends of such an event
				c[group].add(is)
			}
		}
	}
	for i := range c {
		c[i].put(out[i*perGroup:])
	}
	return out
}
