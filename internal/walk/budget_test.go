package walk_test

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/internal/streamtest"
	"github.com/dygmamba/dygmamba/internal/walk"
)

// tight has room for five nodes and windows of a few events, so that all that a budget does happens in short streams.
func tight(t *rapid.T) walk.Options {
	return small.Limited(rapid.SampledFrom([]int{5, 8, 100}).Draw(t, "nodes"), 8,
		rapid.IntRange(1, 12).Draw(t, "warm up"))
}

func bounded(t interface{ Fatal(...any) }, events []event.Event, o walk.Options) *walk.Past {
	return walk.Over(streamtest.Log(t, events), o)
}

// TestBudgetThatNeverBinds changes nothing.
func TestBudgetThatNeverBinds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		events, o := streamtest.Few(t), small
		o.Budget = 64 << 20
		at := rapid.SampledFrom(times).Draw(t, "at")
		if !slices.Equal(all(bounded(t, events, o), at), all(over(t, events), at)) {
			t.Fatal("a budget that does not bind changes what is said")
		}
	})
}

// TestWindow: as long as nodes and counts have room, a bounded state is that of a stream that begins with the window.
func TestWindow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		events := streamtest.Few(t)
		slices.SortStableFunc(events, func(a, b event.Event) int { return cmp.Compare(a.Time, b.Time) })
		warmUp := rapid.IntRange(1, 12).Draw(t, "warm up")
		p := bounded(t, events, small.Limited(1000, 1<<20, warmUp))
		for _, at := range times {
			count := p.Count(at)
			base := p.Base(count)
			if count > 0 && count-base > 4*warmUp+sameTime(events, base) {
				t.Fatalf("the state before event %d begins with %d, windows have %d", count, base, 4*warmUp)
			}
			if !slices.Equal(all(p, at), all(over(t, events[base:]), at)) {
				t.Fatalf("at %v: not the state of the %d events since %d", at, count-base, base)
			}
		}
	})
}

// sameTime is how many events are of one's instant.
func sameTime(events []event.Event, i int) (n int) {
	for _, e := range events {
		if e.Time == events[i].Time {
			n++
		}
	}
	return n
}

// TestBoundedInAnyOrder: with a budget that binds, snapshots, windows and replay say what a straight run says, also
// while events come late, on any number of threads.
func TestBoundedInAnyOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		events, o := streamtest.Few(t), tight(t)
		log := new(event.Log)
		p := walk.Over(log, o)
		p.Live, p.Threads = rapid.Bool().Draw(t, "live"), rapid.IntRange(1, 3).Draw(t, "threads")
		p.KeepEvery(rapid.IntRange(1, 9).Draw(t, "every"), rapid.IntRange(0, 3).Draw(t, "close"))
		for from := 0; ; {
			to := min(len(events), from+rapid.IntRange(0, 30).Draw(t, "more"))
			for _, e := range events[from:to] {
				if _, err := log.Append(e); err != nil {
					t.Fatal(err)
				}
			}
			p.GoOn(rapid.IntRange(1, 40).Draw(t, "go on"))
			for range 3 {
				at := rapid.SampledFrom(times).Draw(t, "at")
				if !slices.Equal(all(p, at), all(bounded(t, events[:to], o), at)) {
					t.Fatalf("of %d events at %v: not what a straight run says", to, at)
				}
			}
			if from = to; from == len(events) {
				return
			}
		}
	})
}

// TestBoundedTies: what is forgotten does not depend on the order of arrival, and nothing that comes later shows.
func TestBoundedTies(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		events, o := streamtest.Few(t), tight(t)
		shuffled := slices.Clone(events)
		seed := rapid.Uint64().Draw(t, "seed")
		rand.New(rand.NewPCG(seed, 1)).Shuffle(len(shuffled), func(i, j int) {
			shuffled[i], shuffled[j] = shuffled[j], shuffled[i]
		})
		at := rapid.SampledFrom(times).Draw(t, "at")
		before := slices.DeleteFunc(slices.Clone(shuffled), func(e event.Event) bool { return e.Time >= at })
		want := all(bounded(t, events, o), at)
		if !slices.Equal(want, all(bounded(t, shuffled, o), at)) {
			t.Fatalf("at %v the order of arrival shows", at)
		}
		if !slices.Equal(want, all(bounded(t, before, o), at)) {
			t.Fatalf("what happens at %v or later is seen", at)
		}
	})
}

// crowd is a stream of many nodes, few of which are active often.
func crowd(t testing.TB, events, nodes int, first event.Node) *event.Log {
	rng, log := rand.New(rand.NewPCG(7, 7)), new(event.Log)
	pick := func() event.Node { return first + event.Node(float64(nodes)*math.Pow(rng.Float64(), 3)) }
	for i := range events {
		if _, err := log.Append(event.Event{Src: pick(), Dst: pick(), Time: float64(i / 3)}); err != nil {
			t.Fatal(err)
		}
	}
	return log
}

// TestBudgetIsKept counts the bytes of a stream that does not fit, at every time. A live past has half as much again
// for late events.
func TestBudgetIsKept(t *testing.T) {
	log := crowd(t, 9000, 4000, 1)
	o := walk.Options{Dim: 8, Span: 1000, Follow: true, Budget: 3 << 20}
	for _, live := range []bool{false, true} {
		p := walk.Over(log, o)
		most := int(o.Budget)
		if p.Live = live; live {
			most += most / 2
		}
		counts, nodes := 0, 0
		for at := 0; at < log.Len(); at += 150 {
			s := p.At(log.At(at).Time)
			ids := 8 * log.NumNodes() // four bytes for each id, of two states
			if states, snapshots := p.Held(); states+snapshots > most+ids+1<<16 {
				t.Fatalf("live %v: after %d events %d bytes and %d of snapshots, want at most %d", live, at, states,
					snapshots, most)
			}
			c, n := s.Full()
			counts, nodes = counts+c, nodes+n
		}
		if counts == 0 || nodes == 0 {
			t.Errorf("counts were full %d times, nodes %d times: the budget did not bind", counts, nodes)
		}
	}
}

// TestThreads: any number of threads computes the same bits, with vectors that are cut anywhere and a budget that
// binds.
func TestThreads(t *testing.T) {
	log := crowd(t, 6000, 900, 1<<26) // large ids, too
	for _, dim := range []int{3, 16, 40} {
		for _, budget := range []int64{0, 1 << 20} {
			o := walk.Options{Dim: dim, Span: 1000, Follow: true, Budget: budget}
			var want []float32
			for _, threads := range []int{1, 2, 5, 16} {
				p := walk.Over(log, o)
				p.Threads = threads
				var got []float32
				for _, at := range []event.Time{500, 1999} {
					s := p.At(at)
					for i := 0; i < log.Len(); i += 40 {
						u, v := log.At(i).Src, log.At(i).Dst
						row, _ := s.Row(u)
						roles, doing := make([]float32, walk.Roles), s.Activity(u, v)
						o.Roles(&doing, at, roles)
						got = append(append(append(got, row...), roles...), nextItems(s, o, u, v, at)...)
					}
				}
				if want == nil {
					want = got
				}
				if !slices.Equal(got, want) {
					t.Errorf("width %d, budget %d: %d threads compute something else than one", dim, budget, threads)
				}
			}
		}
	}
}

// TestWorkDoesNotGrow counts the events that states go through: for one more batch, for a question about any time, and
// for a late event, they are as many after 60,000 events as after 6,000.
func TestWorkDoesNotGrow(t *testing.T) {
	log := crowd(t, 60000, 300, 1)
	o := walk.Options{Dim: 4, Span: 1000, Follow: true}.Limited(1000, 1<<10, 500)
	p := walk.Over(log, o)
	batch := func(i int) int {
		before := p.Steps()
		p.At(log.At(i).Time)
		return p.Steps() - before
	}
	for i := 200; i < log.Len(); i += 200 {
		if n := batch(i); n > 3*200+10 {
			t.Fatalf("a batch of 200 events after %d made states go through %d", i, n)
		}
	}
	for _, i := range []int{58000, 700, 33333, 59999, 5000} {
		if n := batch(i); n > 2*4*500+10 {
			t.Errorf("a question about event %d made states go through %d, windows have %d", i, n, 2000)
		}
	}
	if n := batch(1); n > 10 {
		t.Errorf("a question about the beginning made states go through %d events", n)
	}
}

// TestLateWork: also the first late event makes a live past go through few events, after each of many.
func TestLateWork(t *testing.T) {
	log := crowd(t, 110000, 300, 1)
	p := walk.Over(log, walk.Options{Dim: 4, Span: 1000, Follow: true}.Limited(1000, 1<<10, 20000))
	p.Live = true
	p.At(math.Inf(1))
	sum := 0
	for i := range 200 {
		last := log.At(109999).Time
		ago := float64(i % 7)
		if i%50 == 49 {
			ago = 500 // 1,500 events
		}
		before := p.Steps()
		if _, err := log.Append(event.Event{Src: 1, Dst: 2, Time: last - ago}); err != nil {
			t.Fatal(err)
		}
		p.At(math.Inf(1))
		n := p.Steps() - before
		if sum += n; n > 25000 { // of two states; windows have 80,000
			t.Errorf("late event %d made states go through %d", i, n)
		}
	}
	if sum/200 > 4000 {
		t.Errorf("late events made states go through %d on average", sum/200)
	}
	if p.Recent() == 0 {
		t.Error("no recent states are kept")
	}
}
