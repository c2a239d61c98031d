package synth

import (
	"math"
	"testing"

	"github.com/dygmamba/dygmamba/dataset/internal/data"
	"github.com/dygmamba/dygmamba/event"
)

// perPair is the least and most events of a pair among the first n events.
func perPair(s *data.Set, n int) (pairs, least, most int) {
	count := map[[2]event.Node]int{}
	all := s.Log.Span(0, n)
	for i := range all.Len() {
		count[[2]event.Node{all.Src[i], all.Dst[i]}]++
	}
	least = math.MaxInt
	for _, c := range count {
		least, most = min(least, c), max(most, c)
	}
	return len(count), least, most
}

func distinctTimes(s *data.Set) int {
	n := 0
	all := s.Log.All()
	for i := range all.Len() {
		if i == 0 || all.Time[i] != all.Time[i-1] {
			n++
		}
	}
	return n
}

// The published numbers (paper, tables of synthetic data sets).
func TestSynthLikePaper(t *testing.T) {
	for _, c := range []struct {
		name            string
		events, times   int
		last            float64
		trainLo, train  int // training events of a pair, least and most
		trainOff        int // how far ours may be off
		allLo, all, off int // events of a pair
		timesOff        int // each pair of equal first gaps costs as many distinct times as it has events
	}{
		{"s1", 100000, 96869, 163241.65, 1205, 1663, 50, 1879, 2150, 60, 3000},
		{"s2", 100000, 98004, 1573561.52, 1424, 1433, 4, 1921, 2097, 70, 13000},
		{"s3", 95657, 95370, 1771300.40, 1364, 1372, 4, 1721, 2193, 40, 500},
	} {
		s, err := Paper(c.name, PaperOptions{})
		if err != nil {
			t.Fatal(err)
		}
		n, times := s.Log.Len(), distinctTimes(s)
		last := s.Log.At(n - 1).Time
		if n != c.events || math.Abs(last/c.last-1) > 0.05 || !s.Log.Sorted() || s.NumNodes() != 8 || s.Bipartite {
			t.Errorf("%s: %d events to %v, %d nodes", c.name, n, last, s.NumNodes()-1)
		}
		pairs, lo, hi := perPair(s, n*7/10)
		_, allLo, all := perPair(s, n)
		t.Logf("%s: %d times (published %d), to %.2f (%.2f), training events of a pair %d to %d (%d to %d), "+
			"all %d to %d (%d to %d)",
			c.name, times, c.times, last, c.last, lo, hi, c.trainLo, c.train, allLo, all, c.allLo, c.all)
		if pairs != 49 || far(lo, c.trainLo, c.trainOff) || far(hi, c.train, c.trainOff) ||
			far(allLo, c.allLo, c.off) || far(all, c.all, c.off) || far(times, c.times, c.timesOff) {
			t.Errorf("%s is not like the published one", c.name)
		}
	}
}

func far(got, want, most int) bool { return got-want > most || want-got > most }

// In S1 every gap is 0.05 longer than the one before.
func TestSynthGaps(t *testing.T) {
	s, err := Paper("s1", PaperOptions{Seed: 3})
	if err != nil {
		t.Fatal(err)
	}
	var times []float64
	all := s.Log.All()
	for i := range all.Len() {
		if all.Src[i] == 2 && all.Dst[i] == 5 {
			times = append(times, all.Time[i])
		}
	}
	for i := 2; i < len(times); i++ {
		if step := times[i] - 2*times[i-1] + times[i-2]; math.Abs(step-0.05) > 1e-6 {
			t.Fatalf("gap %d changes by %v", i, step)
		}
	}
}

func TestSynthReadings(t *testing.T) {
	for _, c := range []struct {
		o               PaperOptions
		pairs, maxNode  int
		distinctAtLeast int
	}{
		{PaperOptions{Pairs: 42, FirstGap: GapReal}, 42, 7, 99000},
		{PaperOptions{Pairs: 21, FirstGap: GapReal}, 21, 7, 99000},
		{PaperOptions{IDs: IDsSeparate}, 49, 14, 96000},
	} {
		s, err := Paper("s1", c.o)
		if err != nil {
			t.Fatal(err)
		}
		pairs, _, _ := perPair(s, s.Log.Len())
		if pairs != c.pairs || s.NumNodes() != c.maxNode+1 || s.Log.Len() != 100000 ||
			distinctTimes(s) < c.distinctAtLeast {
			t.Errorf("%+v: %d pairs, %d nodes, %d events, %d times",
				c.o, pairs, s.NumNodes()-1, s.Log.Len(), distinctTimes(s))
		}
	}
	for _, o := range []PaperOptions{{Pairs: 7}, {IDs: "both"}, {FirstGap: "odd"}} {
		if _, err := Paper("s1", o); err == nil {
			t.Errorf("%+v: no error", o)
		}
	}
	if _, err := Paper("s4", PaperOptions{}); err == nil {
		t.Error("s4 made")
	}
}

func TestSynthSeed(t *testing.T) {
	a, _ := Paper("s2", PaperOptions{Seed: 1})
	b, _ := Paper("s2", PaperOptions{Seed: 1})
	c, _ := Paper("s2", PaperOptions{Seed: 2})
	if a.Hash() != b.Hash() || a.Hash() == c.Hash() {
		t.Errorf("hashes %.8s %.8s %.8s", a.Hash(), b.Hash(), c.Hash())
	}
}

// Comparing the time since a pair's last meeting with its last gap tells a meeting from a random pair at the same time
// far better than the time since the last meeting alone.
func TestPeriodicRhythm(t *testing.T) {
	s, err := Periodic(PeriodicOptions{})
	if err != nil {
		t.Fatal(err)
	}
	last := map[[2]event.Node]float64{}
	gap := map[[2]event.Node]float64{}
	all := s.Log.All()
	var dueRight, recentRight, n int
	for i := range all.Len() {
		e := all.At(i)
		p := [2]event.Node{e.Src, e.Dst}
		other := [2]event.Node{e.Src, event.Node(11 + i%10)}
		if i > all.Len()/2 && other != p {
			n++
			if off(e.Time-last[p], gap[p]) < off(e.Time-last[other], gap[other]) {
				dueRight++
			}
			if e.Time-last[p] < e.Time-last[other] {
				recentRight++
			}
		}
		gap[p] = e.Time - last[p]
		last[p] = e.Time
	}
	due, recent := float64(dueRight)/float64(n), float64(recentRight)/float64(n)
	if best := max(recent, 1-recent); due < 0.85 || best > 0.65 {
		t.Errorf("rhythm tells %.3f, recency %.3f", due, recent)
	}
	t.Logf("of %d choices: rhythm right in %.3f, recency in %.3f", n, due, recent)
	if got, _ := s.Names.Target("v3"); got != 13 || s.Names.Name(13) != "v3" || !s.Bipartite {
		t.Errorf("v3 is node %d", got)
	}
	if _, err := Periodic(PeriodicOptions{Noise: 2}); err == nil {
		t.Error("noise 2 accepted")
	}
}

func off(elapsed, gap float64) float64 { return math.Abs(elapsed/gap - 1) }
