package dataset

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/internal/golden"
	"github.com/dygmamba/dygmamba/internal/mersenne"
	"github.com/dygmamba/dygmamba/internal/streamtest"
	"github.com/dygmamba/dygmamba/protocol"
)

func TestQuantileIsNumPys(t *testing.T) {
	want := golden.Draws(t).Quantile
	for i, q := range want.Q {
		if got := Quantile(want.Times, q); got != want.Value[i] {
			t.Errorf("quantile %v: %v, want %v", q, got, want.Value[i])
		}
	}
	for _, c := range []struct {
		values  []float64
		q, want float64
	}{{[]float64{5}, 0.7, 5}, {[]float64{1, 2}, 0, 1}, {[]float64{1, 2}, 1, 2}, {[]float64{0, 10}, 0.85, 8.5},
		{[]float64{0.13, 0.98}, 0.85, 0.8525}} {
		if got := Quantile(c.values, c.q); got != c.want {
			t.Errorf("quantile %v of %v: %v, want %v", c.q, c.values, got, c.want)
		}
	}
}

func TestCandidatesComeInCPythonsOrder(t *testing.T) {
	want := golden.Draws(t).Python
	all := event.Span{Src: want.Src, Dst: want.Dst, Time: slices.Repeat([]float64{1}, len(want.Src))}
	order := candidateOrder(all, 0)
	if len(order) != want.Size {
		t.Errorf("%d candidates, want %d", len(order), want.Size)
	}
	var head, sampled []int32
	for _, n := range order[:len(want.Order)] {
		head = append(head, int32(n))
	}
	for _, i := range mersenne.NewPython(2020).Sample(len(order), want.K) {
		sampled = append(sampled, int32(order[i]))
	}
	if diff := cmp.Diff(want.Order, head); diff != "" {
		t.Errorf("order: %s", diff)
	}
	if diff := cmp.Diff(want.Sampled, sampled); diff != "" {
		t.Errorf("drawn: %s", diff)
	}
}

func TestSplitIsThePublishedOne(t *testing.T) {
	for name, want := range golden.DrawsOnRealData(t) {
		t.Run(name, func(t *testing.T) {
			s, err := NewSplit(streamtest.Real(t, name), SplitOptions{})
			if err != nil {
				t.Fatal(err)
			}
			got := [5]int{s.Train.Len(), s.Val.Len(), s.Test.Len(), s.NewVal.Len(), s.NewTest.Len()}
			if z := want.Sizes; got != [5]int{z.Train, z.Val, z.Test, z.NewVal, z.NewTest} {
				t.Errorf("sizes %v, want %v", got, z)
			}
			if diff := cmp.Diff(want.NewNodes, s.NewNodes); diff != "" {
				t.Errorf("new nodes: %s", diff)
			}
			if s.TrainHash != want.TrainHash {
				t.Errorf("hash of train %s, want %s", s.TrainHash, want.TrainHash)
			}
		})
	}
	t.Run("mooc", func(t *testing.T) {
		s, err := NewSplit(streamtest.Real(t, "mooc"), SplitOptions{})
		if err != nil {
			t.Fatal(err)
		}
		got := [4]int{s.Train.Len(), s.Val.Len(), s.Test.Len(), s.NewTest.Len()}
		if want := [4]int{227485, 61762, 61763, 29179}; got != want {
			t.Errorf("sizes of train, val, test, new test %v, want %v", got, want)
		}
	})
}

func TestSplitKeepsItsPromises(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		events := streamtest.Few(t)
		for i := range events { // enough nodes that some are drawn
			events[i].Dst += event.Node(6 * (i % 7))
		}
		l := streamtest.Log(t, events)
		o := SplitOptions{
			Sampling: rapid.SampledFrom(append(protocol.Samplings(), "")).Draw(t, "sampling"),
			Seed:     rapid.Uint64().Draw(t, "seed"),
		}
		s, err := NewSplit(l, o)
		if l.Len() == 0 {
			if err == nil {
				t.Fatal("an empty log was split")
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		again, _ := NewSplit(l, o)
		if s.Hash != again.Hash || !slices.Equal(s.NewNodes, again.NewNodes) {
			t.Fatal("the same options gave another split")
		}
		checkSplit(t, l, s)
		checkHidden(t, l, s, o)
	})
}

func checkSplit(t *rapid.T, l *event.Log, s *Split) {
	seen, unseen := map[event.Node]bool{}, map[event.Node]bool{}
	for i := range s.Train.Len() {
		e := s.Train.At(i)
		seen[e.Src], seen[e.Dst] = true, true
		if e.Time > s.ValTime {
			t.Fatalf("train has an event at %v, after %v", e.Time, s.ValTime)
		}
	}
	for _, n := range s.NewNodes {
		if unseen[n] = true; seen[n] {
			t.Fatalf("new node %d is in train", n)
		}
	}
	if !slices.IsSorted(s.NewNodes) {
		t.Fatalf("new nodes %v do not ascend", s.NewNodes)
	}
	val, test := 0, 0
	for i := range l.Len() {
		e := l.At(i)
		if !seen[e.Src] && !unseen[e.Src] || !seen[e.Dst] && !unseen[e.Dst] {
			t.Fatalf("event %v has a node that is neither seen nor new", e)
		}
		if e.Time > s.TestTime {
			test++
		} else if e.Time > s.ValTime {
			val++
		}
	}
	if s.Val.Len() != val || s.Test.Len() != test {
		t.Fatalf("%d and %d events, want %d and %d", s.Val.Len(), s.Test.Len(), val, test)
	}
	for _, c := range []struct{ all, some *event.Log }{{s.Val, s.NewVal}, {s.Test, s.NewTest}} {
		want := c.all.Select(func(i int) bool { return unseen[c.all.At(i).Src] || unseen[c.all.At(i).Dst] })
		if want.Len() != c.some.Len() {
			t.Fatalf("%d events with new nodes, want %d", c.some.Len(), want.Len())
		}
		for i := range want.Len() {
			if want.At(i) != c.some.At(i) {
				t.Fatalf("event %d: %v, want %v", i, c.some.At(i), want.At(i))
			}
		}
	}
}

func checkHidden(t *rapid.T, l *event.Log, s *Split, o SplitOptions) {
	nodes, late := map[event.Node]bool{}, map[event.Node]bool{}
	for i := range l.Len() {
		e := l.At(i)
		nodes[e.Src], nodes[e.Dst] = true, true
		if e.Time > s.ValTime {
			late[e.Src], late[e.Dst] = true, true
		}
	}
	hidden, err := s.hiddenNodes(len(nodes), o)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range hidden.list() {
		if !late[n] || !slices.Contains(s.NewNodes, n) {
			t.Fatalf("node %d was hidden: after the training period is %v, new nodes %v", n, late, s.NewNodes)
		}
	}
	count := hidden.count()
	if want := min(len(nodes)/10, len(late)); count != want {
		t.Fatalf("%d of %d nodes were hidden, want %d", count, len(nodes), want)
	}
}

func TestSevenNodesHideNone(t *testing.T) {
	l := streamtest.Generate(streamtest.Shape{Events: 1000, Sources: 7, Dests: 7, Instants: 800, Shared: true}, 1)
	s, err := NewSplit(l, SplitOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(s.NewNodes) != 0 || s.NewVal.Len() != 0 || s.NewTest.Len() != 0 || s.Train.Len() == 0 {
		t.Errorf("new nodes %v, %d and %d new events", s.NewNodes, s.NewVal.Len(), s.NewTest.Len())
	}
}

func TestLabelSplitHidesNone(t *testing.T) {
	l := streamtest.Generate(streamtest.Shape{Events: 1000, Sources: 50, Dests: 50, Instants: 800}, 1)
	s, err := NewLabelSplit(l, SplitOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if n := s.Train.Len() + s.Val.Len() + s.Test.Len(); n != l.Len() || s.NewVal.Len() != 0 {
		t.Errorf("%d of %d events", n, l.Len())
	}
	once := streamtest.Log(t, []event.Event{{Src: 1, Dst: 2, Time: 5}, {Src: 2, Dst: 3, Time: 5},
		{Src: 3, Dst: 1, Time: 5}})
	if at5, err := NewLabelSplit(once, SplitOptions{}); err != nil || at5.Train.Len() != 3 ||
		at5.Val.Len()+at5.Test.Len() != 0 {
		t.Errorf("three events at one time: %+v, %v", at5, err)
	}
	link, err := NewSplit(l, SplitOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if link.ValTime != s.ValTime || link.TestTime != s.TestTime || link.Train.Len() >= s.Train.Len() {
		t.Errorf("cut at %v and %v, %d train events", s.ValTime, s.TestTime, s.Train.Len())
	}
}

func TestSplitRefusesNonsense(t *testing.T) {
	l := streamtest.Generate(streamtest.Shape{Events: 10, Sources: 3, Dests: 3, Instants: 8}, 1)
	for _, o := range []SplitOptions{{Val: 0.5, Test: 0.5}, {Val: -0.1, Test: 0.1}, {Val: 0.1}, {Sampling: "numpy"}} {
		if _, err := NewSplit(l, o); err == nil {
			t.Errorf("%+v was accepted", o)
		}
	}
}
