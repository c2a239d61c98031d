package walk_test

import (
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/internal/walk"
)

// TestSave: whoever goes on from saved states says what a straight run says, also with events that came later, late
// ones among them.
func TestSave(t *testing.T) {
	for name, o := range map[string]walk.Options{"unbounded": small, "bounded": small.Limited(7, 16, 150)} {
		t.Run(name, func(t *testing.T) {
			for _, known := range []int{700, 890, 1000, 4000} { // with and without the next segment's state
				log := lateStream(t, known+100)
				p := walk.Over(log.Part(0, known), o)
				p.Live = known != 1000
				p.At(math.Inf(1))
				_, bytes := p.Save()
				saved := bytes()
				q := walk.Over(log, o)
				q.Live = true
				if err := q.Recall(saved); err != nil {
					t.Fatal(err)
				}
				was := q.Steps()
				if !slices.Equal(all(q, math.Inf(1)), all(walk.Over(log, o), math.Inf(1))) {
					t.Errorf("after %d events: not what a straight run says", known)
				}
				if steps := q.Steps() - was; known == 4000 && steps > 3500 {
					t.Errorf("%d events were gone through again", steps)
				}
			}
		})
	}
}

func lateStream(t *testing.T, n int) *event.Log {
	rng, log := rand.New(rand.NewPCG(8, 2)), new(event.Log)
	for i := range n {
		e := event.Event{Src: event.Node(1 + rng.IntN(9)), Dst: event.Node(1 + rng.IntN(9)), Time: float64(i / 2)}
		if rng.IntN(15) == 0 {
			e.Time = max(0, e.Time-float64(rng.IntN(20)))
		}
		if _, err := log.Append(e); err != nil {
			t.Fatal(err)
		}
	}
	return log
}

// TestSavedDamage: states that do not fit are refused, and the past says what it said.
func TestSavedDamage(t *testing.T) {
	log := lateStream(t, 400)
	p := walk.Over(log, small)
	p.At(math.Inf(1))
	_, bytes := p.Save()
	good := bytes()
	want := all(walk.Over(log, small), math.Inf(1))
	try := func(what string, o walk.Options, log *event.Log, change func(s walk.Saved) walk.Saved) {
		t.Helper()
		q := walk.Over(log, o)
		bad := walk.Saved{Events: good.Events, Parts: maps.Clone(good.Parts)}
		if q.Recall(change(bad)) == nil {
			t.Errorf("%s: taken", what)
		} else if log.Len() == 400 && o.Seed == small.Seed && !slices.Equal(all(q, math.Inf(1)), want) {
			t.Errorf("%s: the past says something else", what)
		}
	}
	same := func(s walk.Saved) walk.Saved { return s }
	other := small
	other.Seed++
	try("another seed", other, log, same)
	try("fewer events", small, log.Part(0, 399), same)
	for name, part := range good.Parts {
		if len(part) == 0 {
			continue
		}
		try(name+" is short", small, log, func(s walk.Saved) walk.Saved {
			s.Parts[name] = part[:len(part)-3]
			return s
		})
		try(name+" is missing", small, log, func(s walk.Saved) walk.Saved { delete(s.Parts, name); return s })
	}
	rng := rand.New(rand.NewPCG(1, 1))
	for range 300 { // whatever the bytes are, nothing panics
		q := walk.Over(log, small)
		bad := walk.Saved{Events: good.Events, Parts: map[string][]byte{}}
		for name, part := range good.Parts {
			bad.Parts[name] = slices.Clone(part)
			if len(part) > 0 && rng.IntN(2) == 0 {
				bad.Parts[name][rng.IntN(min(len(part), 600))] ^= byte(1 + rng.IntN(255))
			}
		}
		if q.Recall(bad) == nil {
			q.At(math.Inf(1))
		}
	}
}
