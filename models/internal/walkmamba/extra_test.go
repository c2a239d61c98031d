package walkmamba

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/index"
	"github.com/dygmamba/dygmamba/internal/streamtest"
	"github.com/dygmamba/dygmamba/internal/walk"
	"github.com/dygmamba/dygmamba/sample"
)

func walks() *extra {
	o := walk.Options{Dim: 4, Span: 30, Follow: true}
	return &extra{states: new(states), options: o, nodes: true, neighbors: true, direction: true, roles: true,
		nextItem: true}
}

func planOf(w *extra) sample.Plan {
	row := sample.Draw{Neighbors: 5, RowLen: 7, Target: sample.TargetLast}
	return sample.Plan{Draws: sample.Both(row), Extras: []sample.Extra{w}}
}

// TestWalks compares what is gathered for a batch of queries at many times with a past that is asked about each alone,
// or, where the state goes on by batches, about the first.
func TestWalks(t *testing.T) {
	for _, batch := range []bool{false, true} {
		ask := walks()
		ask.batch = batch
		plan := planOf(ask)
		var b sample.Batch
		rapid.Check(t, func(t *rapid.T) {
			events := streamtest.Few(t)
			log := streamtest.Log(t, events)
			queries := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) sample.Query {
				return sample.Query{
					Src:  event.Node(rapid.IntRange(1, 8).Draw(t, "src")),
					Dst:  event.Node(rapid.IntRange(1, 8).Draw(t, "dst")),
					Time: float64(rapid.IntRange(-3, 8).Draw(t, "time")),
				}
			}), 1, 20).Draw(t, "queries")
			sample.Gatherer{Threads: 2}.Gather(index.Freeze(log), plan, queries, &b)
			checkWalks(t, log, ask, queries, &b)
		})
	}
}

// TestWalksFarApart asks about times with thousands of events between them, on any number of threads.
func TestWalksFarApart(t *testing.T) {
	t.Run("unbounded", func(t *testing.T) { testWalksFarApart(t, walks()) })
	t.Run("bounded", func(t *testing.T) { // by windows of 384 events
		ask := walks()
		ask.options.Budget = 1
		testWalksFarApart(t, ask)
	})
}

func testWalksFarApart(t *testing.T, ask *extra) {
	log := streamtest.Generate(streamtest.Shape{Events: 11000, Sources: 9, Dests: 9, Instants: 9000, Shared: true}, 1)
	plan := planOf(ask)
	var queries []sample.Query
	for i := range 40 {
		e := log.At(i * 7919 % log.Len())
		queries = append(queries, sample.Query{Src: e.Src, Dst: e.Dst, Time: e.Time},
			sample.Query{Src: e.Dst, Dst: 1000, Time: e.Time})
	}
	var first, b sample.Batch
	past := index.Freeze(log)
	sample.Gatherer{Threads: 1}.Gather(past, plan, queries, &first)
	checkWalks(t, log, ask, queries[:20], &first)
	for _, threads := range []int{2, 7} {
		sample.Gatherer{Threads: threads}.Gather(past, plan, queries, &b)
		got, want := foundIn(&b), foundIn(&first)
		if !slices.Equal(got.Table, want.Table) || !slices.Equal(got.Roles, want.Roles) ||
			!slices.Equal(got.NextItems, want.NextItems) || !slices.Equal(got.Of, want.Of) ||
			!slices.Equal(got.Rows[1].Walk, want.Rows[1].Walk) {
			t.Errorf("%d threads gather something else than one", threads)
		}
	}
}

// checkWalks holds the first queries of a batch against a past that is asked about each alone.
func checkWalks(t rapid.TB, log *event.Log, ask *extra, queries []sample.Query, b *sample.Batch) {
	f := foundIn(b)
	if len(f.Table) != len(f.Of)*f.Width {
		t.Fatalf("a table of %d numbers for %d states", len(f.Table), len(f.Of))
	}
	begin := math.Inf(1)
	for _, q := range b.Queries {
		begin = min(begin, q.Time)
	}
	past := walk.Over(log, ask.options)
	for i, q := range queries {
		at := q.Time
		if ask.batch {
			at = begin
		}
		now := past.At(at)
		same := func(what string, n event.Node, row int32, age float32) {
			want, at := now.Row(n)
			wantAge := float32(q.Time - at)
			if want == nil {
				want, wantAge, at = make([]float32, f.Width), 0, math.Inf(-1)
				now.Begin(n, want)
			}
			window := int32(0)
			if !math.IsInf(at, -1) {
				window = int32(past.Segment(past.Count(q.Time)))
			}
			if of := f.Of[row]; of != (state{n, window, at}) {
				t.Fatalf("query %v: %s %d has the state of %v, want of %v", q, what, n, of, at)
			}
			got := f.Table[int(row)*f.Width:][:f.Width]
			if !slices.Equal(got, want) || age != wantAge {
				t.Fatalf("query %v: %s %d has %v of age %v, want %v of age %v", q, what, n, got, age, want, wantAge)
			}
		}
		same("source", q.Src, f.Src[i], f.SrcAge[i])
		same("destination", q.Dst, f.Dst[i], f.DstAge[i])
		roles := make([]float32, walk.Roles)
		doing := now.Activity(q.Src, q.Dst)
		ask.options.Roles(&doing, q.Time, roles)
		if got := f.Roles[i*walk.Roles : (i+1)*walk.Roles]; !slices.Equal(got, roles) {
			t.Fatalf("query %v: roles %v, want %v", q, got, roles)
		}
		items, counts := make([]float32, walk.NextItems), now.NextItem(q.Src, q.Dst, q.Time)
		want := next{After: now.Latest(q.Src)}
		want.Last, want.Both = counts.Counts()
		if got := f.Next[i]; got != want {
			t.Fatalf("query %v: next %v, want %v", q, got, want)
		}
		ask.options.NextItems(&counts, q.Time, items)
		if got := f.NextItems[i*walk.NextItems : (i+1)*walk.NextItems]; !slices.Equal(got, items) {
			t.Fatalf("query %v: next items %v, want %v", q, got, items)
		}
		for d, n := range []event.Node{q.Src, q.Dst} {
			r, w := &b.Rows[d], &f.Rows[d]
			for j := i * r.Len; j < (i+1)*r.Len; j++ {
				if r.Node[j] == 0 {
					if w.Walk[j] != -1 || w.Way[j] != 0 {
						t.Fatalf("padding has row %d and direction %v", w.Walk[j], w.Way[j])
					}
					continue
				}
				same("neighbour", r.Node[j], w.Walk[j], w.Age[j])
				way := float32(0)
				switch {
				case r.Edge[j] == 0:
				case log.At(int(r.Edge[j])-1).Src == n:
					way = 1
				default:
					way = -1
				}
				if w.Way[j] != way {
					t.Fatalf("query %v: event %d has direction %v at node %d", q, r.Edge[j], w.Way[j], n)
				}
			}
		}
	}
}

// growing is a past whose log goes on.
type growing struct {
	index.View
	log *event.Log
}

func (g growing) Events() *event.Log { return g.log }

// TestWalksKnowWhatChanged: states of the same past are the same, and a late event makes another one of it.
func TestWalksKnowWhatChanged(t *testing.T) {
	log := streamtest.Log(t, []event.Event{{Src: 1, Dst: 2, Time: 1}, {Src: 2, Dst: 3, Time: 3}})
	plan, qs, b := planOf(walks()), []sample.Query{{Src: 1, Dst: 3, Time: 5}}, sample.Batch{}
	past := func() uint64 {
		sample.Gather(growing{index.Freeze(log), log}, plan, qs, &b)
		return foundIn(&b).Past
	}
	add := func(at event.Time) {
		if _, err := log.Append(event.Event{Src: 1, Dst: 3, Time: at}); err != nil {
			t.Fatal(err)
		}
	}
	first := past()
	add(5)
	add(7)
	if past() != first {
		t.Error("what comes later changes what was before")
	}
	qs[0].Time = 0 // goes back, and what was told of 5 is known no more
	past()
	add(4)
	late := past()
	if late == first {
		t.Error("a late event changes nothing")
	}
	other := streamtest.Log(t, []event.Event{{Src: 1, Dst: 2, Time: 1}})
	if sample.Gather(index.Freeze(other), plan, qs, &b); foundIn(&b).Past == first || foundIn(&b).Past == late {
		t.Error("two logs have the same past")
	}
}

// TestWalksOfViews: models that share states may look at different views of one log. Whoever looks at an older one sees
// nothing that came since, also if it is late, and the present need not begin again for that.
func TestWalksOfViews(t *testing.T) {
	log, all := new(event.Log), streamtest.Generate(streamtest.Shape{Events: 600, Sources: 9, Dests: 9, Instants: 500,
		Shared: true}, 1)
	add := func(lo, hi int, late event.Time) index.Logged {
		for i := lo; i < hi; i++ {
			e := all.At(i)
			e.Time -= late
			if _, err := log.Append(e); err != nil {
				t.Fatal(err)
			}
		}
		return growing{index.Freeze(log), log.Now()}
	}
	quick, slow := walks(), walks()
	slow.states = quick.states
	var b sample.Batch
	check := func(ask *extra, past index.Logged, at event.Time) {
		t.Helper()
		qs := []sample.Query{{Src: 1, Dst: 2, Time: at}, {Src: 3, Dst: 4, Time: at}}
		sample.Gather(past, planOf(ask), qs, &b)
		checkWalks(t, past.Events(), ask, qs, &b)
	}
	end := math.Nextafter(all.At(599).Time, math.Inf(1))
	first := add(0, 300, 0)
	check(quick, first, end)
	second := add(300, 400, 0)
	check(quick, second, end)
	check(slow, first, all.At(300).Time) // which the present can tell
	if n := len(quick.states.pasts); n != 1 {
		t.Errorf("%d pasts for two views that agree, want 1", n)
	}
	third := add(400, 410, all.At(400).Time-all.At(50).Time)
	for quick.Warm(third, 7, 1) > 0 {
	}
	if slow.Warm(second, 7, 1) != 0 {
		t.Error("an older view makes the states begin again")
	}
	check(quick, third, end)
	check(slow, second, end) // without what came late
	check(quick, third, end)
	check(slow, second, all.At(20).Time)
	if n := len(quick.states.pasts); n != 2 {
		t.Errorf("%d pasts for two views that differ, want 2", n)
	}
}

// TestSizes: a plan of memory has parts as large as real ones, and goes through no events.
func TestSizes(t *testing.T) {
	log := streamtest.Generate(streamtest.Shape{Events: 900, Sources: 20, Dests: 20, Instants: 800, Shared: true}, 1)
	ask := walks()
	var want, got sample.Batch
	qs, past := negated(log, log.Span(700, 760)), index.Freeze(log)
	sample.Gather(past, planOf(ask), qs, &want)
	plan := planOf(ask)
	sample.Gather(past, plan.Sizes(), qs, &got)
	x, y := foundIn(&got), foundIn(&want)
	if len(x.Of) != len(y.Of) || len(x.Table) != len(y.Table) || len(x.Roles) != len(y.Roles) {
		t.Errorf("%d states in a plan, %d in a batch", len(x.Of), len(y.Of))
	}
	if at := x.extra.states.pasts[0].past.TimeOf(0); at != log.At(0).Time {
		t.Errorf("a plan goes through the events before %v", at)
	}
}

// hidden is a past whose events nobody knows one by one.
type hidden struct{ index.View }

func TestWalksNeedEvents(t *testing.T) {
	past := index.Freeze(streamtest.Log(t, []event.Event{{Src: 1, Dst: 2, Time: 3}}))
	if err := walks().Check(past); err != nil {
		t.Error(err)
	}
	if walks().Check(hidden{past}) == nil {
		t.Error("a past that lists no events is said to")
	}
}

// TestWalksAllocateNothing once a batch has been gathered and the state has gone through the events.
func TestWalksAllocateNothing(t *testing.T) {
	log := streamtest.Generate(streamtest.Shape{Events: 500, Sources: 20, Dests: 20, Instants: 300, Shared: true}, 1)
	plan := planOf(walks())
	var queries []sample.Query
	for i := range 50 {
		e := log.At(450 + i)
		queries = append(queries, sample.Query{Src: e.Src, Dst: e.Dst, Time: math.Inf(1)})
	}
	past, b := index.Freeze(log), sample.Batch{}
	gather := func() { sample.Gatherer{Threads: 1}.Gather(past, plan, queries, &b) }
	gather()
	if n := testing.AllocsPerRun(3, gather); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
