package next

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/index"
	"github.com/dygmamba/dygmamba/internal/rng"
	"github.com/dygmamba/dygmamba/sample"
)

// of counts everything, in a training period of the given length.
func of(span event.Time) Setup { return Setup{Span: span, Together: true, Profiles: true, Steps: true} }

// stream is a log of a few dozen nodes with habits, replies, new nodes, and several events at one instant.
func stream(t testing.TB, n int, seed uint64) *event.Log {
	t.Helper()
	gen, log := rng.New(seed, "stream"), event.NewLog(0)
	at := 0.0
	for i := range n {
		if gen.Below(3) > 0 {
			at += float64(gen.Below(5))
		}
		u, v := event.Node(1+gen.Below(8)), event.Node(1+gen.Below(10+i/20))
		if gen.Below(2) == 0 {
			v = 1 + (u*u)%9
		}
		if _, err := log.Append(event.Event{Src: u, Dst: v, Time: at}); err != nil {
			t.Fatal(err)
		}
	}
	return log
}

// everything is all that is said of a source and its candidates at a time.
func everything(c *Counts, src event.Node, at event.Time) []float32 {
	w := c.At(nil, src, at)
	x := w.Source(nil)
	for _, g := range []Group{Returning, First} {
		for _, v := range w.Members(nil, g) {
			x = w.Features(append(x, float32(v)), v)
		}
	}
	return append(x, w.Features(nil, 999)...)
}

// What is known at t follows from the events before t: later ones, and others of the same instant, change nothing.
func TestNothingOfTheFuture(t *testing.T) {
	log := stream(t, 400, 1)
	all := log.All()
	for _, i := range []int{0, 1, 57, 200, 333, 399} {
		at := all.Time[i]
		past := log.Select(func(j int) bool { return all.Time[j] < at })
		gen, mixed := rng.New(uint64(i), "other future"), event.NewLog(0)
		for j := range past.Len() {
			mixed.Append(past.At(j))
		}
		for j := range 50 {
			mixed.Append(event.Event{Src: event.Node(1 + gen.Below(9)), Dst: event.Node(1 + gen.Below(99)),
				Time: at + float64(j/9)})
		}
		for _, src := range []event.Node{all.Src[i], 3, 77} {
			want := everything(NewWalk(past.All(), of(100)).Before(at), src, at)
			got := everything(NewWalk(mixed.All(), of(100)).Before(at), src, at)
			if !slices.Equal(got, want) {
				t.Errorf("event %d, source %d: another future says something else", i, src)
			}
			for k, x := range got {
				if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
					t.Fatalf("event %d, source %d: feature %d is %v", i, src, k, x)
				}
			}
		}
	}
}

// Events of one instant count alike in whichever order they come, as long as each source's own stay in order.
func TestTies(t *testing.T) {
	add := func(list ...[2]event.Node) *Counts {
		c := NewCounts(of(10))
		c.Add(1, 2, 1)
		for _, e := range list {
			c.Add(e[0], e[1], 5)
		}
		return c
	}
	a, b := add([2]event.Node{1, 2}, [2]event.Node{3, 4}), add([2]event.Node{3, 4}, [2]event.Node{1, 2})
	for _, src := range []event.Node{1, 2, 3, 9} {
		for _, v := range []event.Node{2, 4} {
			if x, y := a.At(nil, src, 6).Features(nil, v), b.At(nil, src, 6).Features(nil, v); !slices.Equal(x, y) {
				t.Errorf("%d and %d: %v and %v", src, v, x, y)
			}
		}
	}
	w := NewWalk(stream(t, 300, 2).All(), of(100))
	for _, at := range []event.Time{40, 7, 300, 300, 0} { // also backwards
		want := 0
		for _, x := range w.events.Time {
			if x < at {
				want++
			}
		}
		if got := w.Before(at).Len(); got != want {
			t.Errorf("before %v: %d events are counted, want %d", at, got, want)
		}
	}
}

// A group is what its name says, also of nodes that nobody has seen.
func TestGroups(t *testing.T) {
	c := NewCounts(of(10))
	c.Add(1, 2, 1)
	c.Add(3, 1, 2)
	c.Add(4, 5, 2)
	for _, x := range []struct {
		src, dst event.Node
		want     Group
	}{{1, 2, Returning}, {1, 3, New}, {3, 1, Returning}, {1, 5, First}, {4, 2, First}, {99, 2, First}, {1, 99, New},
		{99, 98, New}, {2, 1, Returning}} {
		if got := c.At(nil, x.src, 3).GroupOf(x.dst); got != x.want {
			t.Errorf("%d to %d is group %d, want %d", x.src, x.dst, got, x.want)
		}
	}
	if p := NewCounts(of(1)).At(nil, 7, 1).Possible(); p != [Groups]bool{false, false, true} {
		t.Errorf("possible before the first event: %v", p)
	}
	// met in the other direction only: node 1 knows 3, who has never been a destination
	if p := c.At(nil, 2, 3).Possible(); p != [Groups]bool{true, true, true} {
		t.Errorf("possible: %v", p)
	}
}

// fixed is a net with arbitrary weights.
type fixed struct{ fail error }

func (n fixed) Groups(x []float32) ([Groups]float32, error) {
	return [Groups]float32{3 * x[0], -2, x[len(x)-1] - 5}, n.fail
}

func (n fixed) Scores(g Group, x, out []float32) error {
	for i := range out {
		out[i] = float32(g)
		for k, v := range x[i*len(x)/len(out) : (i+1)*len(x)/len(out)] {
			out[i] += v * float32(math.Sin(float64(7*k)))
		}
	}
	return n.fail
}

// The probabilities of all destinations and of a new one sum to 1, whoever asks and whenever.
func TestSharesSumToOne(t *testing.T) {
	walk, threads := NewWalk(stream(t, 3000, 3).All(), of(100)), []*Asker{NewAsker(fixed{}, 1), NewAsker(fixed{}, 5)}
	for _, at := range []event.Time{0, 1, 5, 100, 1e3, 1e4, 1e9} {
		c := walk.Before(at)
		for _, src := range []event.Node{1, 2, 8, 30, 500} {
			w := c.At(nil, src, at)
			s, err := threads[0].Shares(w)
			if err != nil {
				t.Fatal(err)
			}
			sum := s.New
			for i, p := range s.Share {
				sum += p
				if !(p >= 0 && p <= 1) || !c.Known(s.Nodes[i]) {
					t.Errorf("node %d has %v", s.Nodes[i], p)
				}
			}
			if len(s.Nodes) != len(c.Destinations()) || math.Abs(sum-1) > 1e-9 {
				t.Errorf("source %d at %v: %d of %d destinations, sum %v", src, at, len(s.Nodes),
					len(c.Destinations()), sum)
			}
			again, _ := threads[1].Shares(w)
			if !slices.Equal(s.Share, again.Share) || !slices.Equal(s.Nodes, again.Nodes) {
				t.Errorf("source %d at %v: the number of threads changes the answer", src, at)
			}
			for _, dst := range append(slices.Clone(s.Nodes[:min(5, len(s.Nodes))]), 12345) {
				group, within, err := threads[1].Nats(w, dst)
				if err != nil || math.Abs(math.Exp(-group-within)-s.Of(dst)) > 1e-9 {
					t.Errorf("destination %d: %v nats, share %v, %v", dst, group+within, s.Of(dst), err)
				}
			}
		}
	}
	lost := errors.New("lost")
	if _, err := NewAsker(fixed{lost}, 1).Shares(walk.Before(100).At(nil, 1, 100)); !errors.Is(err, lost) {
		t.Errorf("a net that fails: %v", err)
	}
}

// A candidate is drawn as often as its log q says.
func TestDrawsFollowTheirProbabilities(t *testing.T) {
	walk := NewWalk(stream(t, 2000, 4).All(), of(500))
	c := walk.Before(1e6)
	for _, x := range []struct {
		src, dst event.Node
		most     int
	}{{2, 5, 4}, {3, 60, 10}, {200, 7, 20}, {7, 1, 2}} {
		w := c.At(nil, x.src, 1e6)
		gen, times, count, logq := rng.New(5, "draws"), 20_000, map[event.Node]int{}, map[event.Node]float32{}
		for range times {
			list := w.Draw(nil, x.dst, x.most, gen)
			if list[0].Node != x.dst || len(list) > x.most+1 {
				t.Fatalf("%d candidates begin with %d, want %d first of at most %d", len(list), list[0].Node, x.dst,
					x.most+1)
			}
			for _, k := range list[1:] {
				if k.Node == x.dst || w.GroupOf(k.Node) != w.GroupOf(x.dst) {
					t.Fatalf("candidate %d beside destination %d", k.Node, x.dst)
				}
				count[k.Node]++
				logq[k.Node] = k.LogQ
			}
		}
		sum := 0.0
		for v, n := range count {
			p := math.Exp(float64(logq[v]))
			draws := float64(times * x.most)
			if got := float64(n) / draws; math.Abs(got-p) > 5*math.Sqrt(p/draws) {
				t.Errorf("source %d: node %d is drawn with %.5f, log q says %.5f", x.src, v, got, p)
			}
			sum += p
		}
		if len(count) < 5 || sum > 1+1e-6 {
			t.Errorf("source %d: %d candidates have %v together", x.src, len(count), sum)
		}
	}
	// a group that is small enough is taken as it is, each once
	small := NewCounts(of(1))
	for v := range event.Node(5) {
		small.Add(1, 10+v, event.Time(v))
	}
	list := small.At(nil, 1, 9).Draw(nil, 12, 4, rng.New(1, ""))
	if len(list) != 5 || list[0].Node != 12 || list[1].LogQ != 0 {
		t.Errorf("a small group gave %v", list)
	}
}

// Batches of a feed do not depend on those before them, and differ from epoch to epoch.
func TestFeedContinues(t *testing.T) {
	log := stream(t, 500, 6)
	gather := func(f *Feed, lo, hi int) Examples {
		b := sample.Batch{Events: log.Span(lo, hi), Positives: hi - lo}
		queries := make([]sample.Query, hi-lo)
		sample.Gatherer{}.Gather(index.Freeze(event.NewLog(0)), sample.Plan{Extras: []sample.Extra{f}}, queries, &b)
		e := *b.Extras[0].(*Examples)
		e.feed = nil
		return e
	}
	same := func(a, b Examples) bool {
		return slices.Equal(a.X, b.X) && slices.Equal(a.MinusLogQ, b.MinusLogQ) && slices.Equal(a.Mask, b.Mask) &&
			slices.Equal(a.Target, b.Target) && slices.Equal(a.Source, b.Source) &&
			slices.Equal(a.Possible, b.Possible) && slices.Equal(a.Group, b.Group)
	}
	whole := NewFeed(of(100), 6, 1)
	whole.Begin(2, log.All())
	gather(whole, 0, 200)
	first := gather(whole, 200, 300)
	later := NewFeed(of(100), 6, 1)
	later.Begin(2, log.All())
	if resumed := gather(later, 200, 300); !same(first, resumed) {
		t.Error("a resumed epoch has other examples")
	}
	later.Begin(3, log.All())
	if other := gather(later, 200, 300); same(first, other) || !slices.Equal(first.Source, other.Source) {
		t.Error("another epoch has the same candidates, or other sources")
	}
	n := 100
	if len(first.X) != n*7*whole.Width || len(first.Mask) != n*7 || len(first.Source) != n*whole.SourceWidth ||
		len(first.Possible) != n*Groups || len(first.Group) != n {
		t.Errorf("sizes %d, %d, %d, %d, %d", len(first.X), len(first.Mask), len(first.Source), len(first.Possible),
			len(first.Group))
	}
	for i, g := range first.Group {
		if (g == int32(New)) != (first.Target[i] == -1) || first.Possible[i*Groups+int(g)] == 0 ||
			(first.Mask[i*7] == 1) != (g != int32(New)) {
			t.Errorf("example %d: group %d, target %d", i, g, first.Target[i])
		}
	}
}

// A calibration finds the scale and the shift that a net lacks, and makes nothing worse.
func TestCalibration(t *testing.T) {
	gen, f := rng.New(1, "calibrated"), Fit{}
	true3 := func(x [Groups]float32) [Groups]float64 {
		c := Calibration{Scale: 0.5, Bias: [Groups]float32{0, 1, -0.5}}
		return Softmax(c.Apply(x), [Groups]bool{true, true, true})
	}
	for range 20_000 {
		e := fitted{possible: [Groups]bool{true, true, true}}
		for g := range e.logits {
			e.logits[g] = float32(6*gen.Float64() - 3)
		}
		p, r := true3(e.logits), gen.Float64()
		for e.group = 0; e.group < New && r >= p[e.group]; e.group++ {
			r -= p[e.group]
		}
		f.events = append(f.events, e)
	}
	c := f.Calibration()
	if math.Abs(float64(c.Scale)-0.5) > 0.03 || math.Abs(float64(c.Bias[First])-1) > 0.1 ||
		math.Abs(float64(c.Bias[New])+0.5) > 0.1 || c.Bias[Returning] != 0 || c.Within != Plain.Within {
		t.Errorf("found %+v", c)
	}
	// a real net: the sum over events is what an asker says with the calibration, and not above that without
	walk, fit := NewWalk(stream(t, 1000, 8).All(), of(100)), Fit{}
	ask := NewAsker(fixed{}, 1)
	var dsts []event.Node
	before := 0.0
	for i := 400; i < 1000; i += 7 {
		at := walk.events.Time[i]
		w := walk.Before(at).At(nil, walk.events.Src[i], at)
		group, within, err := ask.Nats(w, walk.events.Dst[i])
		if err != nil || fit.Add(ask, w, walk.events.Dst[i]) != nil {
			t.Fatal(err)
		}
		before += group + within
		dsts = append(dsts, walk.events.Dst[i])
	}
	plain, after := 0.0, 0.0
	fit.Each(Plain, func(_ bool, nats float64) { plain += nats })
	fit.Each(fit.Calibration(), func(_ bool, nats float64) { after += nats })
	if math.Abs(plain-before) > 1e-3 || after > plain {
		t.Errorf("%d events: %v nats, collected %v, calibrated %v", len(dsts), before, plain, after)
	}
	none := Fit{}
	if c := none.Calibration(); c != Plain {
		t.Errorf("of no events: %+v", c)
	}
}

// Destinations that were seen once and twice tell how many were not seen.
func TestUnseen(t *testing.T) {
	c := NewCounts(of(10))
	if got := c.Unseen(); got != 1 {
		t.Errorf("before all events: %v", got)
	}
	for i, times := range []int{1, 1, 1, 1, 2, 2, 3, 5} {
		for range times {
			c.Add(1, event.Node(10+i), 1)
		}
	}
	if got := c.Unseen(); got != 4*4/(2*2.0) {
		t.Errorf("4 seen once, 2 seen twice: %v", got)
	}
}

// A walk that has far to go stops on the way, and goes on from there.
func TestWalkStops(t *testing.T) {
	log := event.NewLog(0)
	for i := range 20_000 {
		if _, err := log.Append(event.Event{Src: 1, Dst: 2, Time: float64(i)}); err != nil {
			t.Fatal(err)
		}
	}
	w, asked := NewWalk(log.All(), of(1e5)), 0
	if w.reach(19_000, func() bool { asked++; return asked == 3 }) || w.done == 0 || w.done > 10_000 {
		t.Errorf("stopped after %d events, want some", w.done)
	}
	if !w.reach(19_000, func() bool { return false }) || w.done < 14_000 || w.done > 19_000 {
		t.Errorf("%d events are counted, want most of those before", w.done)
	}
	if w.Before(19_000); w.done != 19_000 {
		t.Errorf("%d events are counted, want 19000", w.done)
	}
}

// TestGoOnStopsBeforeTheLastInstant: whoever warmed up may be asked about the last instant, and more of it may come,
// without counting again from the first event.
func TestGoOnStopsBeforeTheLastInstant(t *testing.T) {
	log := event.NewLog(0)
	add := func(u, v event.Node, at event.Time) {
		if _, err := log.Append(event.Event{Src: u, Dst: v, Time: at}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 50 {
		add(1, event.Node(2+i%5), float64(i/4))
	}
	w := NewWalk(log.All(), Setup{Span: 10})
	if left := w.GoOn(10); left != 38 {
		t.Errorf("%d events are left after 10, want the 38 before the last instant", left)
	}
	if left := w.GoOn(1000); left != 0 || w.counts.Len() != 48 {
		t.Errorf("%d events are left, %d counted, want 48: two are of the last instant", left, w.counts.Len())
	}
	warm := w.counts
	add(3, 4, 12)
	w.Follow(log.All(), true)
	if w.GoOn(1000); w.Before(12) != warm || w.Before(12).Len() != 48 {
		t.Error("a question about the last instant began again")
	}
	if w.Before(13) != warm || w.Before(13).Len() != 51 {
		t.Error("a question about a later time began again")
	}
	if w.GoOn(1000) != 0 {
		t.Error("events are left where all are counted")
	}
}
