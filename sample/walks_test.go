package sample_test

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

func walks() *sample.Walks {
	o := walk.Options{Dim: 4, Span: 30, Follow: true}
	return &sample.Walks{Options: o, Nodes: true, Neighbors: true, Direction: true, Roles: true, Sequels: true}
}

func planOf(w *sample.Walks) sample.Plan {
	row := sample.Draw{Neighbors: 5, RowLen: 7, Target: sample.TargetLast}
	return sample.Plan{Draws: sample.Both(row), Walks: w}
}

// TestWalks compares what is gathered for a batch of queries at many times with a past that is asked about each alone,
// or, where the state goes on by batches, about the first.
func TestWalks(t *testing.T) {
	for _, batch := range []bool{false, true} {
		plan := planOf(walks())
		plan.Walks.Batch = batch
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
			checkWalks(t, log, plan, queries, &b)
		})
	}
}

// TestWalksFarApart asks about times with thousands of events between them, on any number of threads.
func TestWalksFarApart(t *testing.T) {
	log := streamtest.Generate(streamtest.Shape{Events: 11000, Sources: 9, Dests: 9, Instants: 9000, Shared: true}, 1)
	plan := planOf(walks())
	var queries []sample.Query
	for i := range 40 {
		e := log.At(i * 7919 % log.Len())
		queries = append(queries, sample.Query{Src: e.Src, Dst: e.Dst, Time: e.Time},
			sample.Query{Src: e.Dst, Dst: 1000, Time: e.Time})
	}
	var first, b sample.Batch
	past := index.Freeze(log)
	sample.Gatherer{Threads: 1}.Gather(past, plan, queries, &first)
	checkWalks(t, log, plan, queries[:20], &first)
	for _, threads := range []int{2, 7} {
		sample.Gatherer{Threads: threads}.Gather(past, plan, queries, &b)
		if !slices.Equal(b.Walks.Table, first.Walks.Table) || !slices.Equal(b.Walks.Roles, first.Walks.Roles) ||
			!slices.Equal(b.Walks.Sequels, first.Walks.Sequels) ||
			!slices.Equal(b.Walks.Of, first.Walks.Of) || !slices.Equal(b.Rows[1].Walk, first.Rows[1].Walk) {
			t.Errorf("%d threads gather something else than one", threads)
		}
	}
}

// checkWalks holds the first queries of a batch against a past that is asked about each alone.
func checkWalks(t rapid.TB, log *event.Log, plan sample.Plan, queries []sample.Query, b *sample.Batch) {
	if len(b.Walks.Table) != len(b.Walks.Of)*b.Walks.Width {
		t.Fatalf("a table of %d numbers for %d states", len(b.Walks.Table), len(b.Walks.Of))
	}
	begin := math.Inf(1)
	for _, q := range b.Queries {
		begin = min(begin, q.Time)
	}
	past := walk.Over(log, plan.Walks.Options)
	for i, q := range queries {
		at := q.Time
		if plan.Walks.Batch {
			at = begin
		}
		state := past.At(at)
		same := func(what string, n event.Node, row int32, age float32) {
			want, at := state.Row(n)
			wantAge := float32(q.Time - at)
			if want == nil {
				want, wantAge, at = make([]float32, b.Walks.Width), 0, math.Inf(-1)
				state.Begin(n, want)
			}
			if of := b.Walks.Of[row]; of != (sample.State{Node: n, At: at}) {
				t.Fatalf("query %v: %s %d has the state of %v, want of %v", q, what, n, of, at)
			}
			got := b.Walks.Table[int(row)*b.Walks.Width:][:b.Walks.Width]
			if !slices.Equal(got, want) || age != wantAge {
				t.Fatalf("query %v: %s %d has %v of age %v, want %v of age %v", q, what, n, got, age, want, wantAge)
			}
		}
		same("source", q.Src, b.Walks.Src[i], b.Walks.SrcAge[i])
		same("destination", q.Dst, b.Walks.Dst[i], b.Walks.DstAge[i])
		roles := make([]float32, walk.Roles)
		doing := state.Activity(q.Src, q.Dst)
		plan.Walks.Options.Roles(&doing, q.Time, roles)
		if got := b.Walks.Roles[i*walk.Roles : (i+1)*walk.Roles]; !slices.Equal(got, roles) {
			t.Fatalf("query %v: roles %v, want %v", q, got, roles)
		}
		sequels, next := make([]float32, walk.Sequels), state.Sequel(q.Src, q.Dst, q.Time)
		want := sample.Next{After: state.Latest(q.Src)}
		want.Last, want.Both = next.Counts()
		if got := b.Walks.Next[i]; got != want {
			t.Fatalf("query %v: next %v, want %v", q, got, want)
		}
		plan.Walks.Options.Sequels(&next, q.Time, sequels)
		if got := b.Walks.Sequels[i*walk.Sequels : (i+1)*walk.Sequels]; !slices.Equal(got, sequels) {
			t.Fatalf("query %v: sequels %v, want %v", q, got, sequels)
		}
		for d, n := range []event.Node{q.Src, q.Dst} {
			r := &b.Rows[d]
			for j := i * r.Len; j < (i+1)*r.Len; j++ {
				if r.Node[j] == 0 {
					if r.Walk[j] != -1 || r.Way[j] != 0 {
						t.Fatalf("padding has row %d and direction %v", r.Walk[j], r.Way[j])
					}
					continue
				}
				same("neighbour", r.Node[j], r.Walk[j], r.Age[j])
				way := float32(0)
				switch {
				case r.Edge[j] == 0:
				case log.At(int(r.Edge[j])-1).Src == n:
					way = 1
				default:
					way = -1
				}
				if r.Way[j] != way {
					t.Fatalf("query %v: event %d has direction %v at node %d", q, r.Edge[j], r.Way[j], n)
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
		return b.Walks.Past
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
	if sample.Gather(index.Freeze(other), plan, qs, &b); b.Walks.Past == first || b.Walks.Past == late {
		t.Error("two logs have the same past")
	}
}

// hidden is a past whose events nobody knows one by one.
type hidden struct{ index.View }

func TestWalksNeedEvents(t *testing.T) {
	past := index.Freeze(streamtest.Log(t, []event.Event{{Src: 1, Dst: 2, Time: 3}}))
	if err := sample.Listed(past); err != nil {
		t.Error(err)
	}
	if sample.Listed(hidden{past}) == nil {
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
