package eval

import (
	"cmp"
	"math"
	"slices"
	"testing"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/internal/next"
	"github.com/dygmamba/dygmamba/internal/rng"
	"github.com/dygmamba/dygmamba/sample"
)

// plainNet adds up features, with weights that fall.
type plainNet struct{}

func (plainNet) Groups(x []float32) (out [next.Groups]float32, err error) {
	for i, v := range x {
		out[i%next.Groups] += v / float32(1+i)
	}
	return out, nil
}

func (plainNet) Scores(_ next.Group, x, out []float32) error {
	for i := range out {
		out[i] = 0
		for k, v := range x[i*len(x)/len(out) : (i+1)*len(x)/len(out)] {
			out[i] += v / float32(1+k%7)
		}
	}
	return nil
}

func crowd(events int) *event.Log {
	l, gen := event.NewLog(events), rng.New(4, "crowd")
	for i := range events {
		l.Append(event.Event{Src: event.Node(1 + gen.Below(9)), Dst: event.Node(10 + gen.Below(25)),
			Time: float64(i / 3)}) // three at an instant
	}
	return l
}

// A score is ln(p·n), in whatever order queries come, and events at or after their time do not move it.
func TestLinksAnswerWithShares(t *testing.T) {
	net, all := plainNet{}, crowd(300).All()
	queries := []sample.Query{{Src: 2, Dst: 12, Time: 40}, {Src: 1, Dst: 13, Time: 30}, {Src: 2, Dst: 99, Time: 40},
		{Src: 2, Dst: 12, Time: 30}, {Src: 77, Dst: 14, Time: 40}}
	ask := func(past event.Span, q ...sample.Query) []float32 {
		out := make([]float32, len(q))
		links := NewLinks(net, next.Setup{Span: 100}, past, 1)
		if err := links.Score(&sample.Batch{Queries: q, Positives: 1}, out); err != nil {
			t.Fatal(err)
		}
		return out
	}
	got := ask(all, queries...)
	for i, q := range queries {
		if alone := ask(all, q); alone[0] != got[i] {
			t.Errorf("%+v: %v, alone %v", q, got[i], alone[0])
		}
		n, _ := slices.BinarySearchFunc(all.Time, q.Time, func(x, at event.Time) int { return cmp.Compare(x, at) })
		if before := ask(all.Slice(0, n), q); before[0] != got[i] {
			t.Errorf("%+v: %v, without the future %v", q, got[i], before[0])
		}
		counts := next.NewWalk(all, next.Setup{Span: 100}).Before(q.Time)
		s, err := next.NewAsker(net, 1).Shares(counts.At(nil, q.Src, q.Time))
		if err != nil {
			t.Fatal(err)
		}
		p := s.Of(q.Dst)
		if !counts.Known(q.Dst) {
			p /= counts.Unseen()
		}
		if want := math.Log(p * (float64(len(s.Nodes)) + counts.Unseen())); math.Abs(want-float64(got[i])) > 1e-4 {
			t.Errorf("%+v: %v, want ln(p·n) = %v", q, got[i], want)
		}
	}
}

// First meetings gain where that costs all events little.
func TestRelationIsChosenByValidation(t *testing.T) {
	met, not := func(x float64) linkParts { return linkParts{within: x, between: 3, met: true} },
		func(x float64) linkParts { return linkParts{within: x, between: -1} }
	// a first meeting that is likely within its group stands below a returning pair that is not due
	lost := []linkBatch{{[]linkParts{met(4), met(5), not(2), met(-1), not(-1), met(-2)}, 3}}
	if ap, first := (Relation{1, 1}).measure(lost); first >= 1 || ap >= 1 {
		t.Fatalf("AP %v, of first meetings %v: nothing to gain", ap, first)
	}
	r := relationOf(lost)
	if _, first := r.measure(lost); first != 1 || r == (Relation{1, 1}) {
		t.Errorf("relation %+v, first meetings %v", r, first)
	}
	// whatever lets the first meeting rise above its negative puts other negatives above all returning pairs
	dear := []linkBatch{{[]linkParts{met(0.5), met(0.5), met(0.5), met(0.5), not(2),
		not(2.4), not(2.4), not(2.4), not(2.4), met(0)}, 5}}
	plain, _ := (Relation{1, 1}).measure(dear)
	if ap, _ := relationOf(dear).measure(dear); ap < plain {
		t.Errorf("AP %v, %v with the plain relation: too much is given up", ap, plain)
	}
	clear := []linkBatch{{[]linkParts{met(4), met(5), met(-4), met(-5)}, 2}}
	if r := relationOf(clear); r != (Relation{1, 1}) {
		t.Errorf("without first meetings %+v", r)
	}
	if r := relationOf(nil); r != (Relation{1, 1}) {
		t.Errorf("of nothing %+v", r)
	}
}

// Exchanged destinations are those of the test, no more, no fewer, and nothing else changes.
func TestSwapped(t *testing.T) {
	log := crowd(200)
	other, wrong := swapped(log, 60, 20)
	was, is, moved := []event.Node{}, []event.Node{}, 0
	for i := range log.Len() {
		a, b := log.At(i), other.At(i)
		was, is = append(was, a.Dst), append(is, b.Dst)
		if a.Dst != b.Dst {
			moved++
			if i < 140 || !wrong[int32(i-140)] {
				t.Errorf("event %d changed", i)
			}
		}
		if a.Src != b.Src || a.Time != b.Time {
			t.Errorf("event %d: %+v, was %+v", i, b, a)
		}
	}
	slices.Sort(was)
	slices.Sort(is)
	if moved != len(wrong) || moved < 10 || moved > 20 || !slices.Equal(was, is) {
		t.Errorf("%d destinations moved, %d said to", moved, len(wrong))
	}
}
