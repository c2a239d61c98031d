package walk_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/internal/streamtest"
	"github.com/dygmamba/dygmamba/internal/walk"
)

var small = walk.Options{Dim: 9, Seed: 3, Span: 40, Follow: true}

// nodes are all of streamtest.Few, and one that nobody has met.
var nodes = []event.Node{1, 2, 3, 4, 5, 6, 77}

// all is everything that a past says about a time: rows of vectors as of then, and the roles and
// next items of all pairs.
func all(p *walk.Past, t event.Time) []uint32 {
	var out []uint32
	add := func(list []float32) {
		for _, x := range list {
			out = append(out, math.Float32bits(x))
		}
	}
	s := p.At(t)
	for _, u := range nodes {
		row, at := s.Row(u)
		if row == nil {
			row = make([]float32, p.Options().Width())
			s.Begin(u, row)
		}
		add(row)
		add([]float32{float32(at)})
		for _, v := range nodes {
			roles := make([]float32, walk.Roles)
			doing := s.Activity(u, v)
			p.Options().Roles(&doing, t, roles)
			add(roles)
			add(nextItems(s, p.Options(), u, v, t))
		}
	}
	return out
}

func nextItems(s *walk.State, o walk.Options, u, v event.Node, t event.Time) []float32 {
	out, next := make([]float32, walk.NextItems), s.NextItem(u, v, t)
	o.NextItems(&next, t, out)
	return out
}

func over(t interface{ Fatal(...any) }, events []event.Event) *walk.Past {
	return walk.Over(streamtest.Log(t, events), small)
}

// times are those of streamtest.Few, moments between them, and the end.
var times = []event.Time{-3, -2, -1.5, -1, 0, 1, 2, 2.5, 3, 4, 5, 6, 6.5, 7, 100}

func TestOracle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		events := streamtest.Few(t)
		events = events[:min(len(events), 25)] // the oracle takes the cube of their number
		at := rapid.SampledFrom(times).Draw(t, "at")
		o, state := oracle{events, small}, over(t, events).At(at)
		rates := small.Rates()
		for _, u := range nodes {
			row, since := state.Row(u)
			if row == nil {
				row, since = make([]float32, small.Width()), at
				state.Begin(u, row)
			}
			for s := range walk.Scales {
				for l := 1; l <= walk.Levels; l++ {
					decay := math.Exp(-rates[s] * float64(l) * (at - since))
					for i, want := range o.vector(u, l, s, at) {
						got := float64(row[(s*walk.Levels+l)*small.Dim+i]) * decay
						if math.Abs(got-want) > 1e-5*max(1, math.Abs(want)) {
							t.Fatalf("node %d at %v, scale %d, level %d: %v, want %v", u, at, s, l, got, want)
						}
					}
				}
			}
			for _, v := range nodes {
				roles := make([]float32, walk.Roles)
				doing := state.Activity(u, v)
				o.options.Roles(&doing, at, roles)
				near(t, "roles", u, v, roles, o.roles(u, v, at))
				near(t, "next items", u, v, nextItems(state, small, u, v, at), o.nextItems(u, v, at))
			}
		}
	})
}

func near(t *rapid.T, what string, u, v event.Node, got []float32, want []float64) {
	for i, want := range want {
		if got := float64(got[i]); math.Abs(got-want) > 1e-5*max(1, math.Abs(want)) {
			t.Fatalf("%s of %d and %d: number %d is %v, want %v", what, u, v, i, got, want)
		}
	}
}

// TestNextItem: three students go through a course, and what comes next is known for the fourth; whoever begins begins
// with the first item.
func TestNextItem(t *testing.T) {
	var events []event.Event
	for student := range event.Node(3) {
		for item := range event.Node(4) {
			events = append(events, event.Event{Src: 10 + student, Dst: 1 + item, Time: float64(10*student + item)})
		}
	}
	events = append(events, event.Event{Src: 20, Dst: 1, Time: 40}, event.Event{Src: 20, Dst: 2, Time: 41})
	s := over(t, events).At(42)
	for _, c := range []struct {
		u, v event.Node
		want float64 // after the last, after the last two, and after the last as long ago
	}{{20, 3, 3}, {20, 4, 0}, {99, 1, 4}, {99, 2, 0}, {20, -1, 0}} {
		got := nextItems(s, small, c.u, c.v, 42)
		for way := range 3 {
			if n := math.Expm1(float64(got[2*way*walk.RoleNumbers+2])); math.Abs(n-c.want) > 1e-5 {
				t.Errorf("after what %d did last, %d came %.1f times, want %v (way %d)", c.u, c.v, n, c.want, way)
			}
		}
	}
	if s.NextItem(99, -2, 42)[0] != s.NextItem(99, 77, 42)[0] {
		t.Error("a node that is none has followed")
	}
}

// TestBlind: whatever happens at t or later changes nothing that is said of t.
func TestBlind(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { blind(t, streamtest.Few(t), rapid.SampledFrom(times).Draw(t, "at")) })
}

func blind(t interface {
	Fatal(...any)
	Fatalf(string, ...any)
}, events []event.Event, at event.Time) {
	var before []event.Event
	for _, e := range events {
		if e.Time < at {
			before = append(before, e)
		}
	}
	if !slices.Equal(all(over(t, events), at), all(over(t, before), at)) {
		t.Fatalf("what happens at %v or later is seen", at)
	}
}

// TestTies: the order in which events of one instant arrive changes no byte, and neither does that of all events.
func TestTies(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		events := streamtest.Few(t)
		shuffled := slices.Clone(events)
		seed := rapid.Uint64().Draw(t, "seed")
		rand.New(rand.NewPCG(seed, 1)).Shuffle(len(shuffled), func(i, j int) {
			shuffled[i], shuffled[j] = shuffled[j], shuffled[i]
		})
		for _, at := range times {
			if !slices.Equal(all(over(t, events), at), all(over(t, shuffled), at)) {
				t.Fatalf("at %v the order of arrival shows", at)
			}
		}
	})
}

// TestAnyOrderOfQuestions: snapshots and replay say what a straight run says, also while events come late.
func TestAnyOrderOfQuestions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		events := streamtest.Few(t)
		log := new(event.Log)
		p := walk.Over(log, small)
		p.KeepEvery(rapid.IntRange(1, 9).Draw(t, "every"), rapid.IntRange(0, 3).Draw(t, "close"))
		for from := 0; ; {
			to := min(len(events), from+rapid.IntRange(0, 30).Draw(t, "more"))
			for _, e := range events[from:to] {
				if _, err := log.Append(e); err != nil {
					t.Fatal(err)
				}
			}
			for range 4 {
				at := rapid.SampledFrom(times).Draw(t, "at")
				if !slices.Equal(all(p, at), all(over(t, events[:to]), at)) {
					t.Fatalf("of %d events at %v: not what a straight run says", to, at)
				}
			}
			if from = to; from == len(events) {
				return
			}
		}
	})
}

// TestLateEvents: a long stream with late events, asked about at any time, says what a straight run says, and takes a
// snapshot near where they come.
func TestLateEvents(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 2))
	log, near := new(event.Log), 0
	p := walk.Over(log, small)
	p.KeepEvery(700, 10)
	var events []event.Event
	for i := range 1500 {
		e := event.Event{Src: event.Node(1 + rng.IntN(9)), Dst: event.Node(1 + rng.IntN(9)), Time: float64(i / 2)}
		if rng.IntN(10) == 0 {
			e.Time -= float64(rng.IntN(1 + rng.IntN(60)))
		}
		if rng.IntN(200) == 0 {
			e.Time = math.Floor(rng.Float64() * e.Time)
		}
		events = append(events, e)
		if _, err := log.Append(e); err != nil {
			t.Fatal(err)
		}
		if rng.IntN(12) > 0 {
			continue
		}
		ask := []event.Time{math.Inf(1), math.Floor(rng.Float64() * float64(i/2)), float64(i/2) - 5}
		rng.Shuffle(len(ask), func(i, j int) { ask[i], ask[j] = ask[j], ask[i] })
		for _, at := range ask {
			if !slices.Equal(all(p, at), all(over(t, events), at)) {
				t.Fatalf("of %d events at %v: not what a straight run says", i+1, at)
			}
		}
		if p.Near() > 0 {
			near++
		}
	}
	if near < 10 {
		t.Errorf("there was a near snapshot %d times", near)
	}
}

func FuzzBlind(f *testing.F) {
	f.Add([]byte{1, 2, 3, 1, 1, 3, 2, 1, 4}, uint8(4))
	f.Fuzz(func(t *testing.T, stream []byte, at uint8) {
		events := streamtest.Decode(stream)
		blind(t, events[:min(len(events), 500)], float64(at%17)/2)
	})
}

// TestNumbersDoNotMatter: nodes that are numbered otherwise but called the same have the same vectors.
func TestNumbersDoNotMatter(t *testing.T) {
	events := []event.Event{
		{Src: 1, Dst: 2, Time: 1}, {Src: 3, Dst: 2, Time: 2}, {Src: 1, Dst: 1, Time: 2}, {Src: 2, Dst: 1, Time: 3},
	}
	names := map[event.Node]string{1: "ann", 2: "bob", 3: "cid"}
	other := map[event.Node]event.Node{1: 30, 2: 1, 3: 7}
	called := func(numbers func(event.Node) event.Node) *walk.Past {
		by, log := map[event.Node]string{}, new(event.Log)
		for n, name := range names {
			by[numbers(n)] = name
		}
		for _, e := range events {
			e.Src, e.Dst = numbers(e.Src), numbers(e.Dst)
			if _, err := log.Append(e); err != nil {
				t.Fatal(err)
			}
		}
		o := small
		o.Key = func(n event.Node) uint64 { return walk.Named(by[n], 0) }
		return walk.Over(log, o)
	}
	a := called(func(n event.Node) event.Node { return n }).At(4)
	b := called(func(n event.Node) event.Node { return other[n] }).At(4)
	for n, m := range other {
		x, _ := a.Row(n)
		if y, _ := b.Row(m); !slices.Equal(x, y) {
			t.Errorf("%s has other vectors as node %d than as node %d", names[n], m, n)
		}
		for v, w := range other {
			if !slices.Equal(nextItems(a, small, n, v, 4), nextItems(b, small, m, w, 4)) {
				t.Errorf("%s and %s have other numbers of next items as nodes %d and %d", names[n], names[v], m, w)
			}
		}
	}
	if walk.Named("ann", 0) == walk.Named("ann", 1) {
		t.Error("two sides call a node the same, and it is one")
	}
}

func TestBegin(t *testing.T) {
	o := walk.Options{Dim: 128, Seed: 5}
	rows := make([][]float32, 60)
	for n := range rows {
		rows[n] = make([]float32, o.Width())
		walk.NewState(o).Begin(event.Node(n+1), rows[n])
	}
	for i := range rows {
		for j := range i + 1 {
			dot := 0.0
			for k := range o.Dim {
				dot += float64(rows[i][k]) * float64(rows[j][k])
			}
			if i == j && math.Abs(dot-1) > 1e-6 || i != j && math.Abs(dot) > 0.5 {
				t.Errorf("nodes %d and %d: product %v", i+1, j+1, dot)
			}
		}
	}
}

func TestSnapshotsAreBounded(t *testing.T) {
	log := streamtest.Generate(streamtest.Shape{Events: 3000, Sources: 20, Dests: 20, Instants: 2000, Shared: true}, 1)
	p := walk.Over(log, small)
	p.KeepEvery(10, 10)
	p.At(math.Inf(1))
	if n := p.Snapshots(); n < 4 || n > 16 {
		t.Errorf("%d snapshots", n)
	}
}

func TestLoops(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for n := range 40 {
		x, y := make([]float32, n), make([]float32, n)
		for i := range x {
			x[i], y[i] = rng.Float32()-0.5, rng.Float32()-0.5
		}
		plain, vector := slices.Clone(y), slices.Clone(y)
		walk.AddPlain(plain, x)
		walk.AddAll(vector, x)
		walk.ScalePlain(plain, 0.3)
		walk.ScaleAll(vector, 0.3)
		if !slices.Equal(plain, vector) {
			t.Errorf("%d numbers: %v, want %v", n, vector, plain)
		}
	}
}

func TestSent(t *testing.T) {
	p := over(t, []event.Event{
		{Src: 1, Dst: 2, Time: 1, Edge: 4},
		{Src: 2, Dst: 1, Time: 2, Edge: 1 << 30},
		{Src: 3, Dst: 3, Time: 3, Edge: 9},
	})
	p.At(5)
	for _, c := range []struct {
		n    event.Node
		e    event.Edge
		want bool
	}{{1, 4, true}, {2, 4, false}, {2, 1 << 30, true}, {1, 1 << 30, false}, {3, 9, true}, {1, 5, false}} {
		if got := p.Sent(c.n, c.e); got != c.want {
			t.Errorf("node %d sent event %d: %v", c.n, c.e, got)
		}
	}
}
