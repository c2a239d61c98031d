package walk_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/internal/walk"
)

// TestFork: a fork of a past goes back for late events and on to the end, while the past itself still tells what was
// before they came. Both say what a straight run says, with a budget and without, and Behind says how far it is.
func TestFork(t *testing.T) {
	for name, o := range map[string]walk.Options{"unbounded": small, "bounded": small.Limited(7, 16, 150)} {
		t.Run(name, func(t *testing.T) { testFork(t, o) })
	}
}

func testFork(t *testing.T, o walk.Options) {
	rng := rand.New(rand.NewPCG(9, 1))
	log, at := new(event.Log), 0
	add := func(n int, late float64) {
		for range n {
			at++
			e := event.Event{Src: event.Node(1 + rng.IntN(9)), Dst: event.Node(1 + rng.IntN(9)), Time: float64(at / 2)}
			if late > 0 {
				e.Time = max(0, e.Time-math.Floor(rng.Float64()*late))
			}
			if _, err := log.Append(e); err != nil {
				t.Fatal(err)
			}
		}
	}
	straight := func(log *event.Log) []uint32 { return all(walk.Over(log, o), math.Inf(1)) }
	add(2000, 0)
	before := log.Now()
	p := walk.Over(before, o)
	p.Live = true
	p.At(math.Inf(1))
	far := 0
	for range 12 {
		add(40, 0)
		add(3, 300)
		now := log.Now()
		events, late := p.Behind(now)
		if !late {
			t.Fatal("events that come late are not")
		}
		f := p.Fork(now)
		was := f.Steps()
		var group sync.WaitGroup
		group.Go(func() { f.At(math.Inf(1)) }) // the race detector sees both at work
		if !slices.Equal(all(p, math.Inf(1)), straight(before)) {
			t.Fatal("the past does not tell what was")
		}
		group.Wait()
		if !slices.Equal(all(f, math.Inf(1)), straight(now)) {
			t.Fatal("the fork does not tell what a straight run does")
		}
		// A segment's state that is on its way goes along, and the window may begin with the next segment.
		if steps := f.Steps() - was; 3*steps < events || steps > 3*events {
			t.Errorf("%d events are applied, expected about %d", steps, events)
		}
		far = max(far, events)
		p, before = f, now
	}
	if far < 100 {
		t.Errorf("at most %d events were gone through again: nothing was late", far)
	}
}

// TestBehindInOrder: events that are not late are as many as they are.
func TestBehindInOrder(t *testing.T) {
	log := crowd(t, 900, 50, 1)
	p := walk.Over(log.Part(0, 600).Now(), small)
	if n, late := p.Behind(log.Part(0, 600)); n != 600 || late {
		t.Errorf("before the first event %d, late %v", n, late)
	}
	p.At(math.Inf(1))
	if n, late := p.Behind(log); n != 300 || late {
		t.Errorf("%d, late %v, want 300 that are not late", n, late)
	}
}

// TestSortedBeginning: a log whose last events are late is put in order without writing down the rest.
func TestSortedBeginning(t *testing.T) {
	log := crowd(t, 9000, 9, 1)
	late := log.Part(0, 9000)
	for _, at := range []event.Time{2850, 2890, 2880.5} {
		if _, err := late.Append(event.Event{Src: 1, Dst: 2, Time: at}); err != nil {
			t.Fatal(err)
		}
	}
	p, q := walk.Over(late, small), walk.Over(log.Part(0, 9000), small)
	q.At(math.Inf(1))
	q.Grow(late)
	if !slices.Equal(all(p, 2895), all(q, 2895)) {
		t.Error("the order of events depends on when they were looked at")
	}
	if n := p.Written(); n > 2*512 { // pages
		t.Errorf("the places of %d events are written down, want those from the first late one on", n)
	}
}
