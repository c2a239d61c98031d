package sample

import (
	"testing"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/protocol"
)

// kindLog has events of three kinds.
func kindLog(t *testing.T) *event.Log {
	t.Helper()
	l := event.NewLog(60)
	for i := range 60 {
		e := event.Event{Src: event.Node(1 + i%4), Dst: event.Node(5 + i%6), Time: float64(i),
			Kind: event.Kind(1 + i%3)}
		if _, err := l.Append(e); err != nil {
			t.Fatal(err)
		}
	}
	return l
}

// TestKindNegatives: the same pair and time with another kind; alone, in a mixture, and one after another.
func TestKindNegatives(t *testing.T) {
	log := kindLog(t)
	all := log.All()
	n, err := NewNegatives(log, NegativeOptions{Strategy: protocol.KindNegatives, Kinds: 3})
	if err != nil {
		t.Fatal(err)
	}
	out, seen := make([]Query, all.Len()), map[[2]event.Kind]int{}
	for range 20 {
		n.Draw(all, out)
		for i, q := range out {
			if q.Src != all.Src[i] || q.Dst != all.Dst[i] || q.Time != all.Time[i] || q.Kind == all.Kind(i) ||
				q.Kind < 1 || q.Kind > 3 {
				t.Fatalf("%+v for %+v", q, all.At(i))
			}
			seen[[2]event.Kind{all.Kind(i), q.Kind}]++
		}
	}
	for pair, count := range seen {
		if count < 120 || len(seen) != 6 { // of 200 each
			t.Errorf("%v drawn %d times, %d pairs", pair, count, len(seen))
		}
	}
	random, _ := NewNegatives(log, NegativeOptions{})
	plain := make([]Query, all.Len())
	random.Draw(all, plain)
	random.Reset()
	shares := protocol.Shares{protocol.RandomNegatives: 0.5, protocol.KindNegatives: 0.5}
	mixed, err := NewMixture(log, random, shares, 1)
	if err != nil {
		t.Fatal(err)
	}
	mixed.Draw(all, out)
	kinds := 0
	for i, q := range out {
		switch {
		case q.Kind != 0 && q.Kind != all.Kind(i) && q.Dst == all.Dst[i]:
			kinds++
		case q != plain[i]:
			t.Errorf("row %d is %+v, want %+v as without kinds", i, q, plain[i])
		}
	}
	if kinds < 15 || kinds > 45 {
		t.Errorf("%d of 60 rows have another kind, want about half", kinds)
	}
	every := &EveryKind{Kinds: 3}
	asked := map[int]map[event.Kind]bool{}
	for range every.Rounds() {
		every.Draw(all, out)
		for i, q := range out {
			if asked[i] == nil {
				asked[i] = map[event.Kind]bool{all.Kind(i): true}
			}
			asked[i][q.Kind] = true
		}
	}
	for i, kinds := range asked {
		if len(kinds) != 3 {
			t.Errorf("event %d is asked about %v", i, kinds)
		}
	}
	if _, err := NewNegatives(log, NegativeOptions{Strategy: protocol.KindNegatives, Kinds: 1}); err == nil {
		t.Error("negatives of another kind where there is one")
	}
}
