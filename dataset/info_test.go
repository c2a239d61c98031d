package dataset

import (
	"math"
	"testing"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/index"
	"github.com/dygmamba/dygmamba/protocol"
	"github.com/dygmamba/dygmamba/sample"
)

// The files are the data sets of the paper: its table of statistics, and what is known about the files besides.
func TestStatsLikePaper(t *testing.T) {
	dir := realData(t)
	pairs := map[string][2]int{"uci": {20296, 0}, "enron": {3125, 16410}, "mooc": {178443, 0}, "USLegis": {26423, 0},
		"CanParl": {51331, 380}, "wikipedia": {18257, 0}}
	for _, l := range List(Options{DataDir: dir}) {
		want, ok := pairs[l.Name]
		if ok != (l.Path != "") || l.Generated != (l.Kind == Synthetic) ||
			(l.Name == "wikipedia") != (len(l.Missing) == 2) {
			t.Errorf("%+v", l)
		}
		if !ok {
			continue
		}
		s, err := Open(t.Context(), l.Name, Options{DataDir: dir})
		if err != nil {
			t.Fatal(err)
		}
		i := Stats(s)
		if i.Nodes != l.Nodes || i.Events != l.Events || i.Times != l.Times || i.Bipartite != l.Bipartite ||
			i.Pairs != want[0] || i.SelfLoops != want[1] {
			t.Errorf("%s: %+v\nwant %+v, pairs %v", l.Name, i, l.Entry, want)
		}
	}
}

func TestAvailability(t *testing.T) {
	log := event.NewLog(3)
	for _, e := range []event.Event{{Src: 1, Dst: 2, Time: 1}, {Src: 1, Dst: 3, Time: 2}, {Src: 1, Dst: 2, Time: 3}} {
		log.Append(e)
	}
	var a Availability
	if a.Mean() != 0 {
		t.Error("mean of nothing")
	}
	a.Add(index.Freeze(log), []sample.Query{{Src: 1, Dst: 2, Time: 3}, {Src: 3, Dst: 9, Time: 5}})
	if a.Max != 2 || a.Ends != 4 || a.Mean() != 1 { // 2, 1, 1, 0
		t.Errorf("%+v", a)
	}
}

// In mooc the paper counts 2,304.04 neighbours on average and 19,473 at most over transductive test queries with random
// negatives.
func TestAvailabilityLikePaper(t *testing.T) {
	s, err := Open(t.Context(), "mooc", Options{DataDir: realData(t)})
	if err != nil {
		t.Fatal(err)
	}
	split, err := NewSplit(s.Log, SplitOptions{})
	if err != nil {
		t.Fatal(err)
	}
	past := index.Freeze(s.Log)
	negatives, err := sample.NewNegatives(s.Log, sample.NegativeOptions{Strategy: protocol.RandomNegatives, Seed: 2})
	if err != nil {
		t.Fatal(err)
	}
	var a Availability
	for b := range split.Test.All().Batches(200) {
		qs := make([]sample.Query, 2*b.Len())
		for i := range b.Len() {
			qs[i] = sample.Query{Src: b.Src[i], Dst: b.Dst[i], Time: b.Time[i]}
		}
		negatives.Draw(b, qs[b.Len():])
		a.Add(past, qs)
	}
	if math.Abs(a.Mean()/2304.04-1) > 0.01 || a.Max != 19473 {
		t.Errorf("mean %.2f, max %d", a.Mean(), a.Max)
	}
}
