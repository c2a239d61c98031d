package index

import (
	"cmp"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/internal/streamtest"
)

// views indexes the same events in both ways.
func views(tb interface{ Fatal(...any) }, events []event.Event) map[string]View {
	live := NewLive()
	for _, e := range events {
		live.Add(e)
	}
	return map[string]View{"frozen": Freeze(streamtest.Log(tb, events)), "live": live}
}

// plain is what Before promises, by the shortest program that keeps the promise.
func plain(events []event.Event, n event.Node, t event.Time) History {
	var h History
	byTime := func(a, b event.Event) int { return cmp.Compare(a.Time, b.Time) }
	for _, e := range slices.SortedStableFunc(slices.Values(events), byTime) {
		for _, end := range [2][2]event.Node{{e.Src, e.Dst}, {e.Dst, e.Src}} {
			if end[0] == n && e.Time < t {
				h.Node, h.Edge, h.Time = append(h.Node, end[1]), append(h.Edge, e.Edge), append(h.Time, e.Time)
			}
		}
	}
	return h
}

func same(a, b History) string { return gocmp.Diff(a, b, cmpopts.EquateEmpty()) }

func TestBefore(t *testing.T) {
	events := []event.Event{
		{Src: 1, Dst: 5, Time: 10, Edge: 1},
		{Src: 1, Dst: 7, Time: 20, Edge: 2},
		{Src: 2, Dst: 5, Time: 20, Edge: 3},
		{Src: 1, Dst: 1, Time: 20, Edge: 4},
		{Src: 5, Dst: 1, Time: 15, Edge: 5}, // late
		{Src: 1, Dst: 5, Time: 10, Edge: 6}, // late, and at the time of another
	}
	for name, view := range views(t, events) {
		for _, c := range []struct {
			n     event.Node
			t     event.Time
			nodes []event.Node
			edges []event.Edge
		}{
			{1, 10, nil, nil},
			{1, math.Nextafter(10, 11), []event.Node{5, 5}, []event.Edge{1, 6}},
			{1, 20, []event.Node{5, 5, 5}, []event.Edge{1, 6, 5}},
			{1, 99, []event.Node{5, 5, 5, 7, 1, 1}, []event.Edge{1, 6, 5, 2, 4, 4}},
			{5, 20, []event.Node{1, 1, 1}, []event.Edge{1, 6, 5}},
			{5, math.Inf(1), []event.Node{1, 1, 1, 2}, []event.Edge{1, 6, 5, 3}},
			{7, 20, nil, nil},
			{3, 99, nil, nil},            // never occurred
			{8, 99, nil, nil},            // beyond the last node
			{math.MaxInt32, 0, nil, nil}, // far beyond
			{0, 99, nil, nil},
			{-1, 99, nil, nil},
			{math.MinInt32, 99, nil, nil},
			{1, math.NaN(), nil, nil},
		} {
			got := view.Before(c.n, c.t)
			if !slices.Equal(got.Node, c.nodes) || !slices.Equal(got.Edge, c.edges) || len(got.Time) != len(c.nodes) {
				t.Errorf("%s: before(%d, %v) = %v, want nodes %v, edges %v", name, c.n, c.t, got, c.nodes, c.edges)
			}
		}
		if view.NumNodes() != 8 {
			t.Errorf("%s: %d nodes, want 8", name, view.NumNodes())
		}
	}
}

func TestEmpty(t *testing.T) {
	for name, view := range views(t, nil) {
		if view.NumNodes() != 0 || view.Before(0, 1).Len() != 0 || view.Before(1, 1).Len() != 0 {
			t.Errorf("%s: an empty index has nodes or histories", name)
		}
	}
}

func TestLast(t *testing.T) {
	h := History{[]event.Node{1, 2, 3}, []event.Edge{4, 5, 6}, []event.Time{7, 8, 9}}
	if diff := same(h.Last(2), History{[]event.Node{2, 3}, []event.Edge{5, 6}, []event.Time{8, 9}}); diff != "" {
		t.Error(diff)
	}
	if h.Last(5).Len() != 3 || h.Last(0).Len() != 0 {
		t.Errorf("last 5 has %d, last 0 has %d", h.Last(5).Len(), h.Last(0).Len())
	}
}

// TestViewsAgree holds both indices to the promise, at the times of events and between them.
func TestViewsAgree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		events := streamtest.Few(t)
		for name, view := range views(t, events) {
			for n := event.Node(0); n < 8; n++ {
				for at := -3.0; at <= 8; at += 0.5 {
					if diff := same(plain(events, n, at), view.Before(n, at)); diff != "" {
						t.Fatalf("%s: before(%d, %v): %s", name, n, at, diff)
					}
				}
			}
		}
	})
}

// TestNothingFromTheFuture asks an index of the whole stream and one that was never told of anything at or after t.
func TestNothingFromTheFuture(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		checkPromise(t, streamtest.Few(t), float64(rapid.IntRange(-3, 8).Draw(t, "at")))
	})
}

// FuzzNothingFromTheFuture does the same on streams that the fuzzer finds: every three bytes are an event.
func FuzzNothingFromTheFuture(f *testing.F) {
	f.Add([]byte{}, 0.0)
	f.Add([]byte{1, 2, 3, 2, 1, 3, 1, 1, 3, 1, 2, 4}, 3.0)
	f.Add([]byte{1, 2, 9, 1, 2, 8, 1, 2, 7, 2, 1, 7, 1, 2, 6}, 8.0)
	f.Add([]byte{4, 4, 0, 4, 4, 0, 4, 4, 1}, 0.5)
	f.Fuzz(func(t *testing.T, stream []byte, at float64) { checkPromise(t, streamtest.Decode(stream), at) })
}

func checkPromise(t interface {
	Fatal(...any)
	Fatalf(string, ...any)
}, events []event.Event, at event.Time) {
	past := slices.DeleteFunc(slices.Clone(events), func(e event.Event) bool { return !(e.Time < at) })
	whole, known := views(t, events), views(t, past)
	for name := range whole {
		for _, e := range events {
			for _, n := range []event.Node{e.Src, e.Dst} {
				got := whole[name].Before(n, at)
				if diff := same(known[name].Before(n, at), got); diff != "" {
					t.Fatalf("%s: before(%d, %v) depends on what comes later: %s", name, n, at, diff)
				}
				if !slices.IsSorted(got.Time) || got.Len() > 0 && got.Time[got.Len()-1] >= at {
					t.Fatalf("%s: before(%d, %v) has times %v", name, n, at, got.Time)
				}
			}
		}
	}
}

// TestHistoriesStay adds in-order and late events under histories that were handed out before.
func TestHistoriesStay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		events := streamtest.Few(t)
		live := NewLive()
		type held struct{ then, now History }
		var all []held
		for _, e := range events {
			live.Add(e)
			h := live.Before(e.Dst, math.Inf(1))
			all = append(all, held{History{slices.Clone(h.Node), slices.Clone(h.Edge), slices.Clone(h.Time)}, h})
		}
		for i, h := range all {
			if diff := same(h.then, h.now); diff != "" {
				t.Fatalf("the history after event %d changed: %s", i, diff)
			}
		}
	})
}

// TestConcurrentReaders reads while the stream is written, a tenth of it late; the race detector watches.
func TestConcurrentReaders(t *testing.T) {
	l := streamtest.Generate(streamtest.Shape{Events: 5_000, Sources: 300, Dests: 40, Instants: 500, Repeat: 0.3}, 1)
	live := NewLive()
	var done atomic.Bool
	var readers sync.WaitGroup
	for r := range 3 {
		readers.Go(func() {
			for i := r; !done.Load(); i++ {
				at := event.Time(i%500) * 5000
				n := event.Node(1 + i%max(1, live.NumNodes()))
				h := live.Before(n, at)
				if !slices.IsSorted(h.Time) || h.Len() > 0 &&
					(h.Time[h.Len()-1] >= at || slices.Min(h.Node) < 1 || slices.Min(h.Edge) < 1) {
					t.Errorf("before(%d, %v) = %v", n, at, h)
					return
				}
			}
		})
	}
	late := new(event.Log)
	for i := range l.Len() {
		e := l.At(i)
		if i%10 == 0 {
			e.Time -= 5000 * float64(i%7)
		}
		e.Edge = 0
		edge, err := late.Append(e)
		if err != nil {
			t.Fatal(err)
		}
		e.Edge = edge
		live.Add(e)
	}
	done.Store(true)
	readers.Wait()
	frozen := Freeze(late)
	for n := range event.Node(frozen.NumNodes()) {
		if diff := same(frozen.Before(n, math.Inf(1)), live.Before(n, math.Inf(1))); diff != "" {
			t.Fatalf("node %d: %s", n, diff)
		}
	}
}

func TestNoAllocation(t *testing.T) {
	for name, view := range views(t, []event.Event{{Src: 1, Dst: 2, Time: 3, Edge: 1}}) {
		if n := testing.AllocsPerRun(100, func() { view.Before(1, 5) }); n != 0 {
			t.Errorf("%s: Before allocates %v times", name, n)
		}
	}
}
