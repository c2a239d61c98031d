package predict

import (
	"math"
	"slices"
	"testing"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/model/modeltest"
	"github.com/dygmamba/dygmamba/models"
	"github.com/dygmamba/dygmamba/protocol"
)

// TestLivePast: a predictor over a past that grows, event by event and with their features, answers before each event
// what one that has all events answers at that time; also if another goes on from what it remembered.
func TestLivePast(t *testing.T) {
	for _, name := range models.Names(true) {
		factory := models.Get(name)
		t.Run(name, func(t *testing.T) {
			spec, set := modeltest.Small(t, name, factory)
			spec.Training.Epochs = 1
			dir := trainSmall(t, name, spec, set)
			load := func(o Options) *Predictor {
				t.Helper()
				o.Threads = 1
				p, err := Load(dir, o)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { p.Close() })
				return p
			}
			n := set.Log.Len() / 2
			early := firstOf(set, n)
			past := NewPast(early)
			offline, online := load(Options{Set: set}), load(Options{Set: early, Live: past})
			for i := n; i < set.Log.Len(); i++ {
				e := set.Log.At(i)
				q := []Query{{Src: e.Src, Dst: e.Dst, Time: e.Time}}
				if i%3 == 0 {
					check(t, "before its event", online, slices.Repeat(q, 3), score(t, offline, slices.Repeat(q, 3)))
				}
				if err := past.Add([]event.Event{e}, [][]float32{set.Edge.Row(int(e.Edge))}); err != nil {
					t.Fatal(err)
				}
				if _, err := online.CatchUp(t.Context(), 1); err != nil {
					t.Fatal(err)
				}
				if err := online.Look(past.Now()); err != nil {
					t.Fatal(err)
				}
				if i == set.Log.Len()*3/4 && online.Remembers() {
					kept, ok, err := online.Remembered()
					if !ok || err != nil {
						t.Fatal("nothing is remembered", err)
					}
					online = load(Options{Set: early, Live: past})
					if err := online.Recall(kept); err != nil || online.Reached() != kept.Latest {
						t.Fatal("recalled", online.Reached(), err)
					}
				}
			}
			now := past.Now()
			if now.Len() != set.Log.Len() || now.Known() != n || now.Last() != set.Log.At(set.Log.Len()-1).Time {
				t.Errorf("the past has %d events after %d, the last at %v", now.Len(), now.Known(), now.Last())
			}
		})
	}
}

func score(t *testing.T, p *Predictor, qs []Query) []float32 {
	t.Helper()
	logits, err := p.Score(t.Context(), qs)
	if err != nil {
		t.Fatal(err)
	}
	return logits
}

// firstOf is a set of the first events alone, with their features.
func firstOf(set *dataset.Set, n int) *dataset.Set {
	part := *set
	part.Log = set.Log.Select(func(i int) bool { return i < n })
	part.Edge.Rows = n + 1
	if part.Edge.Data != nil {
		part.Edge.Data = set.Edge.Data[:(n+1)*set.Edge.Cols]
	}
	return &part
}

// What a past refuses it does not take a part of.
func TestPastRefuses(t *testing.T) {
	_, set := modeltest.Small(t, "dygmamba", models.Get("dygmamba"))
	past := NewPast(set)
	was := past.Now()
	good := event.Event{Src: 1, Dst: 2, Time: 1e12}
	for _, c := range []struct {
		bad      event.Event
		features []float32
	}{{event.Event{Src: 0, Dst: 2}, nil}, {event.Event{Src: 1, Dst: 2, Time: math.NaN()}, nil}, {good,
		make([]float32, 99)}} {
		if err := past.Add([]event.Event{good, c.bad}, [][]float32{nil, c.features}); err == nil || past.Now() != was {
			t.Errorf("took %v with %d features", c.bad, len(c.features))
		}
	}
	if err := past.Add([]event.Event{good}, nil); err != nil || past.Now().Len() != was.Len()+1 ||
		was.Before(1, 2e12).Len() == past.Now().Before(1, 2e12).Len() {
		t.Error("did not take a good event", err)
	}
}

// In the order of arrival a query of the instant of the last unit may be asked while the log goes on, an earlier one
// not.
func TestLiveArrival(t *testing.T) {
	for _, name := range models.Names(true) {
		factory := models.Get(name)
		if !factory.Remembers {
			continue
		}
		spec, set := modeltest.Small(t, name, factory)
		spec.Order, spec.Training.Epochs = protocol.Arrival, 1
		dir := trainSmall(t, name, spec, set)
		p, err := Load(dir, Options{Set: set, Live: NewPast(set)})
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		for left := 1; left > 0; {
			if left, err = p.CatchUp(t.Context(), 2); err != nil {
				t.Fatal(err)
			}
		}
		whole := set.Log.Len() - set.Log.Len()%spec.Training.BatchSize
		if want := set.Log.At(whole - 1).Time; p.Reached() != want {
			t.Errorf("%s has reached %v, whole units end at %v", name, p.Reached(), want)
		}
		score(t, p, []Query{{Src: 1, Dst: 2, Time: p.Reached()}})
		if _, err := p.Score(t.Context(), []Query{{Src: 1, Dst: 2, Time: p.Reached() - 1}}); err == nil {
			t.Error(name, "was asked about what it knows")
		}
	}
}
