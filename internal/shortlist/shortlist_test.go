package shortlist

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/index"
	"github.com/dygmamba/dygmamba/internal/rng"
)

// world is a past of 50 sources that prefer recent and popular ones among 5,000 destinations.
func world(t *testing.T) (index.View, []event.Node) {
	t.Helper()
	const sources, targets, events = 50, 5000, 20_000
	var log event.Log
	gen := rng.New(1, "events")
	for i := range events {
		x := gen.Float64()
		dst := event.Node(sources + 1 + int(x*x*targets))
		src := event.Node(1 + gen.Below(sources))
		if _, err := log.Append(event.Event{Src: src, Dst: dst, Time: float64(i)}); err != nil {
			t.Fatal(err)
		}
	}
	all := make([]event.Node, targets)
	for i := range all {
		all[i] = event.Node(sources + 1 + i)
	}
	return index.Freeze(&log), all
}

// smooth scores a candidate by its recent past and by whether it met the source, with some noise.
func smooth(past index.View, q Question, noise float64) func(places []int) ([]float32, error) {
	return func(places []int) ([]float32, error) {
		var out []float32
		for _, i := range places {
			n := q.Candidates[i]
			h := past.Before(n, q.At)
			x := -5.0
			if h.Len() > 0 {
				x = 2*math.Log1p(float64(h.Len())) - math.Log1p(q.At-h.Time[h.Len()-1])
			}
			if slices.Contains(h.Node, q.Src) {
				x += 3
			}
			out = append(out, float32(x+noise*rng.New(uint64(n), "noise").Float64()))
		}
		return out, nil
	}
}

// TestFind finds the best of scores that follow the past, asks about few, and about nobody twice.
func TestFind(t *testing.T) {
	past, all := world(t)
	missed, asked := 0, 0
	for src := event.Node(1); src <= 20; src++ {
		q := Question{Past: past, Src: src, At: 20_000, Candidates: all, Best: 10, Reads: 15}
		ask := smooth(past, q, 0.5)
		seen := map[int]bool{}
		list, err := Find(q, func(places []int) ([]float32, error) {
			for _, p := range places {
				if seen[p] {
					t.Errorf("source %d: asked about place %d twice", src, p)
				}
				seen[p] = true
			}
			return ask(places)
		})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.IsSortedFunc(list, func(a, b Asked) int { return a.Place - b.Place }) || len(list) != len(seen) {
			t.Errorf("source %d: %d are listed of %d asked about, or not in order", src, len(list), len(seen))
		}
		places := make([]int, len(all))
		for i := range places {
			places[i] = i
		}
		exact, _ := ask(places)
		slices.SortFunc(places, func(i, j int) int {
			if exact[i] > exact[j] {
				return -1
			}
			return 1
		})
		for _, p := range places[:10] {
			if !seen[p] {
				missed++
			}
		}
		asked += len(list)
	}
	if missed > 1 || asked > 20*1500 {
		t.Errorf("%d of 200 are missing, %d of %d were asked about", missed, asked, 20*len(all))
	}
}

// TestFindIsAFunction: the order of candidates, and what comes after the time, change nothing.
func TestFindIsAFunction(t *testing.T) {
	past, all := world(t)
	nodes := func(q Question) []event.Node {
		list, err := Find(q, smooth(past, q, 1))
		if err != nil {
			t.Fatal(err)
		}
		var out []event.Node
		for _, a := range list {
			out = append(out, q.Candidates[a.Place])
		}
		return out
	}
	q := Question{Past: past, Src: 3, At: 15_000, Candidates: all, Best: 10, Reads: 15}
	want := nodes(q)
	if got := nodes(q); !slices.Equal(got, want) {
		t.Error("a second search asks about others")
	}
	later := earlierOnly{past, 15_000}
	q.Past = later
	if got := nodes(q); !slices.Equal(got, want) {
		t.Error("events after the time matter")
	}
}

// earlierOnly is a past that ends at a time.
type earlierOnly struct {
	index.View
	end event.Time
}

func (e earlierOnly) Before(n event.Node, t event.Time) index.History {
	return e.View.Before(n, min(t, e.end))
}

// TestFindAsksAll: few candidates, and many that are wanted, are all asked about.
func TestFindAsksAll(t *testing.T) {
	past, all := world(t)
	for _, x := range []struct{ n, best int }{{0, 10}, {1, 10}, {AskAll, 10}, {3000, 2000}} {
		q := Question{Past: past, At: 20_000, Candidates: all[:x.n], Best: x.best}
		list, err := Find(q, smooth(past, q, 1))
		if err != nil || len(list) != x.n {
			t.Errorf("%d candidates, %d wanted: asked about %d, %v", x.n, x.best, len(list), err)
		}
	}
	equal := func(places []int) ([]float32, error) { return make([]float32, len(places)), nil }
	q := Question{Past: past, At: 20_000, Candidates: all, Best: 10}
	if list, err := Find(q, equal); err != nil || len(list) < 10 {
		t.Errorf("of equal candidates %d were asked about, %v", len(list), err)
	}
	broken := errors.New("broken")
	if _, err := Find(q, func([]int) ([]float32, error) { return nil, broken }); !errors.Is(err, broken) {
		t.Errorf("an error of the model is %v", err)
	}
}

// TestEstimateIsTheRow: the fast sum of a candidate's numbers is the sum of its row.
func TestEstimateIsTheRow(t *testing.T) {
	past, all := world(t)
	f := gather(Question{Past: past, Src: 7, At: 9_000, Candidates: all, Best: 10, Reads: 15})
	weights, row := make([]float64, f.width()), make([]float64, f.width())
	gen := rng.New(1, "weights")
	for i := range weights {
		weights[i] = gen.Float64() - 0.5
	}
	for i, got := range f.estimate(weights) {
		f.row(i, row)
		want := 0.0
		for k, x := range row {
			want += x * weights[k]
		}
		if math.Abs(got-want) > 1e-5 {
			t.Fatalf("candidate %d: %v, want %v", i, got, want)
		}
	}
}

// TestHighest keeps what sorting would, ties too.
func TestHighest(t *testing.T) {
	gen := rng.New(1, "chances")
	for _, n := range []int{1, 2, 5, 50, 400} {
		var list []chance
		for i := range 300 {
			list = append(list, chance{i, float64(gen.Below(40))})
		}
		want := slices.Clone(list)
		slices.SortStableFunc(want, func(a, b chance) int { return int(b.share - a.share) })
		want = want[:min(n, len(want))]
		slices.SortFunc(want, func(a, b chance) int { return a.place - b.place })
		if got := highest(list, n); !slices.Equal(got, want) {
			t.Errorf("the highest %d are %v, want %v", n, got, want)
		}
	}
}

// TestLogTwo is near the exact logarithm and grows.
func TestLogTwo(t *testing.T) {
	before := -1.0
	for x := 1.0; x < 1e7; x *= 1.003 {
		got := logTwo(x)
		if math.Abs(got-math.Log2(x)) > 0.01 || got <= before && x > 1 {
			t.Fatalf("%v: %v after %v, want %v", x, got, before, math.Log2(x))
		}
		before = got
	}
	if logAge(math.Inf(1), 3) != 1 || logAge(0, 3) != 0 || math.Abs(logAge(3e6, 3)-1) > 1e-3 {
		t.Error("ages are not from 0 to 1")
	}
}

// TestFit finds weights that made its answers.
func TestFit(t *testing.T) {
	var f fit
	gen := rng.New(1, "rows")
	want := []float64{0.5, -2, 3}
	for range 5000 {
		row := []float64{1, gen.Float64(), gen.Float64()}
		f.add(row, want[0]*row[0]+want[1]*row[1]+want[2]*row[2])
	}
	for i, got := range f.solve() {
		if math.Abs(got-want[i]) > 1e-3 {
			t.Errorf("weight %d is %v, want %v", i, got, want[i])
		}
	}
}
