package sample_test

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/internal/streamtest"
	"github.com/dygmamba/dygmamba/protocol"
	"github.com/dygmamba/dygmamba/sample"
)

func newMixture(t interface{ Fatal(...any) }, l *event.Log, s protocol.Shares, seed uint64) sample.Negatives {
	random, err := sample.NewNegatives(l, sample.NegativeOptions{Seed: seed})
	if err != nil {
		t.Fatal(err)
	}
	m, err := sample.NewMixture(l, random, s, seed)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// A stream in which everybody meets again and again. One odd time makes moments of any whole number, of which hardly
// one is the time of another event.
func stream() *event.Log {
	shape := streamtest.Shape{Events: 4000, Sources: 30, Dests: 20, Instants: 3000, Repeat: 0.8}
	l := streamtest.Generate(shape, 1)
	last := l.At(l.Len() - 1)
	if _, err := l.Append(event.Event{Src: last.Src, Dst: last.Dst, Time: last.Time + 1}); err != nil {
		panic(err)
	}
	return l
}

// The kinds come in the proportions that were asked for, and each is what its name says.
func TestMixtureShares(t *testing.T) {
	l := stream()
	m := newMixture(t, l, protocol.Shares{"random": 0.5, "historical": 0.2, "time": 0.3}, 3)
	random, err := sample.NewNegatives(l, sample.NegativeOptions{Seed: 3})
	if err != nil {
		t.Fatal(err)
	}
	first := map[pair]float64{}
	for i := range l.Len() {
		if e := l.At(i); first[pair{e.Src, e.Dst}] == 0 && i > 0 {
			first[pair{e.Src, e.Dst}] = e.Time
		}
	}
	var count struct{ random, historical, moments, all int }
	for range 3 {
		for pos := range l.Batches(0, l.Len(), 100) {
			plain, mixed := draw(random, pos), draw(m, pos)
			for i, q := range mixed {
				count.all++
				switch {
				case q == plain[i]:
					count.random++
				case q.Time != pos.Time[i]:
					count.moments++
				default:
					count.historical++
					if first[pair{q.Src, q.Dst}] >= pos.Time[0] {
						t.Fatalf("%v is not before the batch from %v", q, pos.Time[0])
					}
				}
			}
		}
	}
	for _, c := range []struct {
		kind string
		n    int
		want float64
	}{{"random", count.random, 0.5}, {"historical", count.historical, 0.2}, {"time", count.moments, 0.3}} {
		if got := float64(c.n) / float64(count.all); math.Abs(got-c.want) > 0.04 {
			t.Errorf("%.3f of the negatives are %s, want about %.2f", got, c.kind, c.want)
		}
	}
}

// Moments are asked within their batch, never at a meeting, and after the meeting before.
func TestMomentsLieBetweenMeetings(t *testing.T) { rapid.Check(t, momentsBetween) }

func FuzzMomentsLieBetweenMeetings(f *testing.F) { f.Fuzz(rapid.MakeFuzz(momentsBetween)) }

func momentsBetween(t *rapid.T) {
	events := streamtest.Few(t)
	slices.SortStableFunc(events, func(a, b event.Event) int { return int(a.Time - b.Time) })
	if rapid.Bool().Draw(t, "fine") {
		for i := range events {
			events[i].Time *= 100.25
		}
	}
	l := streamtest.Log(t, events)
	from := rapid.IntRange(0, l.Len()).Draw(t, "from")
	part := l.Select(func(i int) bool { return i >= from }).All()
	m := sample.NewMoments(part, l, sample.MomentOptions{Seed: rapid.Uint64().Draw(t, "seed")})
	size, seen := rapid.IntRange(1, 9).Draw(t, "batch"), 0
	if part.Len() == 0 {
		return
	}
	for pos := range part.Batches(size) {
		for _, q := range m.During(pos) {
			seen++
			if q.Time < pos.Time[0] {
				t.Fatalf("a question at %v is asked in the batch from %v", q.Time, pos.Time[0])
			}
			if next := pos.First() + pos.Len(); next < part.Len() && q.Time >= part.Time[next] {
				t.Fatalf("a question at %v is asked before the batch from %v", q.Time, part.Time[next])
			}
		}
	}
	if seen != len(m.Queries) {
		t.Fatalf("%d of %d moments are asked about", seen, len(m.Queries))
	}
	for _, q := range m.Queries {
		later := false
		for _, e := range events {
			if e.Src == q.Src && e.Dst == q.Dst {
				if e.Time == q.Time {
					t.Fatalf("%v is a meeting", q)
				}
				later = later || e.Time > q.Time
			}
		}
		if !later || q.Time <= part.Time[0] {
			t.Fatalf("%v lies behind all meetings or before the part", q)
		}
	}
}

// Times of a stream in whole steps have moments in whole steps, so that nothing but the pair's past tells them apart.
func TestMomentsKeepToTheGrid(t *testing.T) {
	for _, c := range []struct{ step, scale float64 }{{60, 1}, {5, 100}, {1, 1000}, {math.Pi, 1}} {
		l := event.NewLog(0)
		for i := range 200 {
			if _, err := l.Append(event.Event{Src: 1, Dst: 2, Time: float64(i*i) * c.step / c.scale}); err != nil {
				t.Fatal(err)
			}
		}
		m := sample.NewMoments(l.All(), l, sample.MomentOptions{})
		if len(m.Queries) < 190 {
			t.Errorf("step %v/%v: %d moments of 200 events", c.step, c.scale, len(m.Queries))
		}
		whole := 0
		for _, q := range m.Queries {
			if k := q.Time * c.scale / c.step; math.Abs(k-math.Round(k)) < 1e-9 {
				whole++
			}
		}
		if (whole == len(m.Queries)) != (c.step != math.Pi) {
			t.Errorf("step %v/%v: %d of %d moments lie on the grid", c.step, c.scale, whole, len(m.Queries))
		}
	}
}

// A mixture that is taken up in the middle of an epoch draws what it would have drawn.
func TestMixtureResumes(t *testing.T) {
	l, shares := stream(), protocol.Shares{"random": 0.6, "historical": 0.2, "time": 0.2}
	m := newMixture(t, l, shares, 5)
	var states [][]byte
	var drawn [][]sample.Query
	for range 2 {
		for pos := range l.Batches(0, l.Len(), 300) {
			states = append(states, m.(sample.Resumable).State())
			drawn = append(drawn, draw(m, pos))
		}
	}
	per := len(drawn) / 2
	if slices.Equal(drawn[0], drawn[per]) || slices.Equal(drawn[3], drawn[3+per]) {
		t.Error("the second epoch drew what the first did")
	}
	for _, at := range []int{1, per, per + 4} {
		again := newMixture(t, l, shares, 5)
		if err := again.(sample.Resumable).SetState(states[at]); err != nil {
			t.Fatal(err)
		}
		i := at
		for pos := range l.Batches(at%per*300, l.Len(), 300) {
			if !slices.Equal(draw(again, pos), drawn[i]) {
				t.Fatalf("taken up at %d, batch %d is another", at, i)
			}
			i++
		}
	}
	if err := m.(sample.Resumable).SetState([]byte{1}); err == nil {
		t.Error("a state of one byte was taken")
	}
}

func TestMixtureRefuses(t *testing.T) {
	l := stream()
	for _, s := range []protocol.Shares{{}, {"random": -1, "time": 1}, {"random": 2}, {"random": math.NaN()}} {
		if _, err := sample.NewMixture(l, nil, s, 0); err == nil {
			t.Errorf("%+v was taken", s)
		}
	}
}
