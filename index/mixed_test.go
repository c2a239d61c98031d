package index

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"github.com/dygmamba/dygmamba/event"
)

// sorted is one node's past as the plainest program keeps it: a slice, into which each entry goes after all that are
// not later.
type sorted []entry

type entry struct {
	node event.Node
	edge event.Edge
	at   event.Time
}

func (s *sorted) add(e entry) {
	i := len(*s)
	for i > 0 && (*s)[i-1].at > e.at {
		i--
	}
	*s = slices.Insert(*s, i, e)
}

func (h History) clone() History {
	return History{slices.Clone(h.Node), slices.Clone(h.Edge), slices.Clone(h.Time)}
}

// TestMixed drives histories long enough for late events to wait, of nodes that are asked about now and then, against
// a sorted slice: with ties, loops, and events later than nothing at all. Moments and what they said are looked at
// again in the end.
func TestMixed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		const nodes = 3
		var (
			live    = NewLive()
			plain   [nodes]sorted
			now     = event.Time(0)
			late    = rapid.Float64Range(0, 1).Draw(t, "late")
			asked   = rapid.Float64Range(0, 0.3).Draw(t, "asked")
			moments []Logged
			edges   []event.Edge
			held    []History
			copies  []History
		)
		check := func(what string, view View, last event.Edge) {
			t.Helper()
			for n := range event.Node(nodes) {
				for _, at := range []event.Time{math.Inf(1), now, now / 2, now - 3, -50} {
					got := view.Before(n, at)
					if err := plain[n].holds(got, last, at); err != nil {
						t.Fatalf("%s, node %d: %v", what, n, err)
					}
					if rng.IntN(20) == 0 {
						held, copies = append(held, got), append(copies, got.clone())
					}
				}
			}
		}
		for i := range rapid.IntRange(0, 500).Draw(t, "events") {
			e := event.Event{Edge: event.Edge(i + 1)}
			e.Src, e.Dst = event.Node(rng.IntN(nodes)), event.Node(rng.IntN(nodes))
			switch {
			case rng.Float64() >= late:
				now += event.Time(rng.IntN(2))
				e.Time = now
			case rng.IntN(20) == 0: // before everything
				e.Time = -event.Time(rng.IntN(100))
			case rng.IntN(3) == 0:
				e.Time = math.Floor(rng.Float64() * now)
			default:
				e.Time = now - event.Time(rng.IntN(5))
			}
			if rng.IntN(50) == 0 { // room for more than will come
				live.Expect([]int32{int32(rng.IntN(40)), 0, int32(rng.IntN(3))})
			}
			live.Add(e)
			plain[e.Src].add(entry{e.Dst, e.Edge, e.Time})
			plain[e.Dst].add(entry{e.Src, e.Edge, e.Time})
			if rng.Float64() < asked {
				moments, edges = append(moments, live.AsOf(e.Edge, nil)), append(edges, e.Edge)
				k := len(moments) - 1 - rng.IntN(min(3, len(moments))) // the newest, or one shortly before
				check("meanwhile", moments[k], edges[k])
			}
		}
		check("in the end", live, math.MaxInt32)
		for k := range moments {
			if rng.IntN(10) == 0 {
				check("later", moments[k], edges[k])
			}
		}
		for k := range held {
			if diff := same(copies[k], held[k]); diff != "" {
				t.Fatalf("a history that was handed out changed: %s", diff)
			}
		}
	})
}

// TestMixedReaders asks about a hub from several goroutines while most of its events come late. Each asks as of an
// event that has come in, and sees all events until then and no other; the race detector watches.
func TestMixedReaders(t *testing.T) {
	const events = 4000
	rng := rand.New(rand.NewPCG(7, 7))
	times := make([]event.Time, events)
	var plain sorted
	for i := range times {
		times[i] = event.Time(i / 2)
		if rng.IntN(3) > 0 {
			times[i] -= event.Time(rng.IntN(1 + rng.IntN(1+i/2)))
		}
		plain.add(entry{2, event.Edge(i + 1), times[i]})
	}
	live := NewLive()
	var last, asked atomic.Int32
	var readers sync.WaitGroup
	for r := range 3 {
		readers.Go(func() {
			defer asked.Add(events) // nobody need wait for this one
			rng := rand.New(rand.NewPCG(8, uint64(r)))
			for seen := int32(0); seen < events; {
				seen = last.Load()
				as := event.Edge(max(0, int(seen)-rng.IntN(1+rng.IntN(10))))
				at := event.Time(rng.IntN(events))
				if err := plain.holds(live.AsOf(as, nil).Before(1, at), as, at); err != nil {
					t.Error(err)
					return
				}
				if h := live.Before(1, math.Inf(1)); h.Len() < int(seen) || !slices.IsSorted(h.Time) {
					t.Errorf("the index has %d of %d events, in order: %v", h.Len(), seen, slices.IsSorted(h.Time))
					return
				}
				asked.Add(1)
			}
		})
	}
	for i, at := range times {
		live.Add(event.Event{Src: 1, Dst: 2, Time: at, Edge: event.Edge(i + 1)})
		last.Store(int32(i + 1))
		for i%8 == 0 && int(asked.Load()) < i/8 { // they are to meet
			runtime.Gosched()
		}
	}
	readers.Wait()
}

// holds says what is wrong with a history before a time as of an edge.
func (s sorted) holds(h History, last event.Edge, t event.Time) error {
	i := 0
	for _, e := range s {
		if e.edge > last || e.at >= t {
			continue
		}
		if i == h.Len() || h.Node[i] != e.node || h.Edge[i] != e.edge || h.Time[i] != e.at {
			return fmt.Errorf("as of %d before %v: entry %d of %d is not edge %d at %v", last, t, i, h.Len(), e.edge,
				e.at)
		}
		i++
	}
	if i != h.Len() {
		return fmt.Errorf("as of %d before %v: %d entries, want %d", last, t, h.Len(), i)
	}
	return nil
}

// Many late events cost about as much as many others: the memory that adding them takes grows with their number, and
// not with its square.
func TestLateIsCheap(t *testing.T) {
	work := func(events int) float64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		live := NewLive()
		for i := range events {
			live.Add(event.Event{Src: 1, Dst: 2, Time: event.Time(i ^ 63), Edge: event.Edge(i + 1)})
		}
		runtime.ReadMemStats(&after)
		return float64(after.TotalAlloc - before.TotalAlloc)
	}
	few, many := work(5_000), work(40_000)
	t.Logf("5,000 events took %.0f MB, 40,000 took %.0f", few/1e6, many/1e6)
	if many > 12*few { // 8 times as many
		t.Errorf("40,000 late events took %.0f bytes, 5,000 took %.0f", many, few)
	}
}

// What the index says it takes is what its columns take, however they came about.
func TestBytes(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	live := NewLive()
	for i := range 3000 {
		e := event.Event{Src: event.Node(rng.IntN(4)), Dst: event.Node(rng.IntN(300)), Edge: event.Edge(i + 1)}
		e.Time = event.Time(i - rng.IntN(1+i/2))
		live.Add(e)
		if i%7 == 0 {
			live.Before(e.Src, e.Time)
		}
	}
	empty := NewLive()
	empty.place(299)
	empty.place(0)
	want := empty.Bytes()
	for n := range event.Node(300) {
		want += int(live.column(n).bytes())
	}
	if live.Bytes() != want {
		t.Errorf("the index says %d bytes, its parts are %d", live.Bytes(), want)
	}
}
