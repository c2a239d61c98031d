package sample_test

import (
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/index"
	"github.com/dygmamba/dygmamba/internal/golden"
	"github.com/dygmamba/dygmamba/internal/streamtest"
	"github.com/dygmamba/dygmamba/protocol"
	"github.com/dygmamba/dygmamba/sample"
)

func TestNeighborsOfTheToyGraph(t *testing.T) {
	graph, _ := golden.Models(t)
	log, err := event.FromColumns(event.Columns{Src: graph.Src, Dst: graph.Dst, Time: graph.Time, Edge: graph.Edge})
	if err != nil {
		t.Fatal(err)
	}
	past := index.Freeze(log)
	draws := golden.Draws(t)
	for strategy, want := range map[string]golden.ToyNeighbors{
		sample.Uniform: draws.Uniform, sample.TimeAware: draws.TimeAware,
	} {
		p := sample.Bind(picker(t, sample.PickerOptions{Strategy: strategy}), past, protocol.Reference, 1)
		for round := range 2 {
			got := golden.ToyNeighbors{N: want.N}
			for i, n := range graph.QuerySrc {
				node, edge := make([]int32, want.N), make([]int32, want.N)
				h := past.Before(n, graph.QueryTime[i])
				picks := make([]int32, want.N)
				for k, j := range picks[:p.Pick(n, h, picks)] {
					node[k], edge[k] = h.Node[j], h.Edge[j]
				}
				got.Node, got.Edge = append(got.Node, node), append(got.Edge, edge)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s, round %d: %s", strategy, round, diff)
			}
			p.Reset()
		}
	}
}

func picker(t testing.TB, o sample.PickerOptions) sample.Picker {
	t.Helper()
	p, err := sample.NewPicker(o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestPickersPickFromTheHistory(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		log := streamtest.Log(t, streamtest.Few(t))
		var past index.View = index.Freeze(log)
		if rapid.Bool().Draw(t, "live") {
			live := index.NewLive()
			for i := range log.Len() {
				live.Add(log.At(i))
			}
			past = live
		}
		o := sample.PickerOptions{
			Strategy: rapid.SampledFrom([]string{sample.Uniform, sample.TimeAware}).Draw(t, "strategy"),
			Scale:    rapid.SampledFrom([]float64{0, 1e-6, 1, 1000}).Draw(t, "scale"),
		}
		made, err := sample.NewPicker(o)
		if err != nil {
			t.Fatal(err)
		}
		seed := uint64(rapid.Uint32().Draw(t, "seed"))
		sampling := rapid.SampledFrom([]protocol.Sampling{protocol.Reference, protocol.Native}).Draw(t, "sampling")
		p, again := sample.Bind(made, past, sampling, seed), sample.Bind(made, past, sampling, seed)
		for range 10 {
			n := event.Node(rapid.IntRange(1, 7).Draw(t, "node"))
			h := past.Before(n, float64(rapid.IntRange(-2, 8).Draw(t, "time")))
			out, same := make([]int32, 5), make([]int32, 5)
			got := p.Pick(n, h, out)
			if again.Pick(n, h, same); !slices.Equal(out, same) {
				t.Fatalf("the same seed picked %v and %v", out, same)
			}
			if want := min(5, 5*h.Len()); got != want {
				t.Fatalf("%d picks of %d entries, want %d", got, h.Len(), want)
			}
			for k, j := range out[:got] {
				if int(j) >= h.Len() || j < 0 || k > 0 && h.Time[out[k-1]] > h.Time[j] {
					t.Fatalf("picks %v of %v", out, h.Time)
				}
			}
		}
	})
}

// Both modes draw from the same distribution, which is computed here from its definition.
func TestTimeAwareFrequencies(t *testing.T) {
	times := []float64{0, 1, 1, 1, 2, 9, 9, 30}
	const scale, draws = 0.3, 200_000
	var weight []float64
	sum, total := 0.0, 0.0
	for _, at := range times {
		e := math.Exp(scale * at)
		sum += e
		weight = append(weight, math.Exp(e/sum))
		total += weight[len(weight)-1]
	}
	h := index.History{Node: make([]event.Node, len(times)), Edge: make([]event.Edge, len(times)), Time: times}
	for _, sampling := range []protocol.Sampling{protocol.Reference, protocol.Native} {
		p := sample.Bind(picker(t, sample.PickerOptions{Strategy: sample.TimeAware, Scale: scale}), nil, sampling, 0)
		out := make([]int32, draws)
		p.Pick(1, h, out)
		count := make([]float64, len(times))
		for _, j := range out {
			count[j]++
		}
		for j, w := range weight {
			want := draws * w / total
			if math.Abs(count[j]-want) > 5*math.Sqrt(want) {
				t.Errorf("%s: entry %d was drawn %v times, want about %.0f", sampling, j, count[j], want)
			}
		}
	}
}

// The reference looks at the node's last event in the whole past. Where that is so far away that all weights vanish, it
// draws evenly.
func TestTimeAwareUnderflow(t *testing.T) {
	log := streamtest.Log(t, []event.Event{
		{Src: 1, Dst: 2, Time: 0}, {Src: 1, Dst: 3, Time: 1}, {Src: 1, Dst: 4, Time: 1e10},
	})
	past := index.Freeze(log)
	const draws = 100_000
	for sampling, want := range map[protocol.Sampling]float64{
		protocol.Reference: draws / 2,
		protocol.Native:    draws * math.E / (math.E + math.Exp(math.E/(1+math.E))),
	} {
		p := sample.Bind(picker(t, sample.PickerOptions{Strategy: sample.TimeAware, Scale: 1}), past, sampling, 1)
		out := make([]int32, draws)
		p.Pick(1, past.Before(1, 100), out)
		oldest := 0.0
		for _, j := range out {
			if j == 0 {
				oldest++
			}
		}
		if math.Abs(oldest-want) > 5*math.Sqrt(want) {
			t.Errorf("%s: the oldest was drawn %v times, want about %.0f", sampling, oldest, want)
		}
	}
}

func TestPickersResume(t *testing.T) {
	past := index.Freeze(streamtest.Generate(streamtest.Shape{Events: 500, Sources: 5, Dests: 5, Instants: 400}, 1))
	h := past.Before(1, math.Inf(1))
	for _, sampling := range []protocol.Sampling{protocol.Reference, protocol.Native} {
		for _, strategy := range []string{sample.Uniform, sample.TimeAware} {
			p := sample.Bind(picker(t, sample.PickerOptions{Strategy: strategy}), past, sampling, 1)
			first, second, got := make([]int32, 20), make([]int32, 20), make([]int32, 20)
			p.Pick(1, h, first)
			state := p.(sample.Resumable).State()
			p.Pick(1, h, second)
			later := sample.Bind(p, past, sampling, 5)
			if err := later.(sample.Resumable).SetState(state); err != nil {
				t.Fatal(err)
			}
			later.Pick(1, h, got)
			if !slices.Equal(got, second) || slices.Equal(first, second) {
				t.Errorf("%s %s: %v, then %v, resumed %v", sampling, strategy, first, second, got)
			}
		}
	}
}

func TestPickerRefusesNonsense(t *testing.T) {
	for _, o := range []sample.PickerOptions{{Strategy: "old"}, {Scale: -1}, {Scale: math.NaN()}} {
		if _, err := sample.NewPicker(o); err == nil {
			t.Errorf("%+v was accepted", o)
		}
	}
	if p, err := sample.NewPicker(sample.PickerOptions{}); p != nil || err != nil {
		t.Errorf("recent: %v, %v", p, err)
	}
}

func BenchmarkPick(b *testing.B) {
	log := streamtest.Generate(streamtest.MOOC, 1)
	past := index.Freeze(log)
	for _, sampling := range []protocol.Sampling{protocol.Reference, protocol.Native} {
		for _, strategy := range []string{sample.Uniform, sample.TimeAware} {
			b.Run(string(sampling)+"/"+strategy, func(b *testing.B) {
				p := sample.Bind(picker(b, sample.PickerOptions{Strategy: strategy}), past, sampling, 1)
				out := make([]int32, 20)
				for i := 0; b.Loop(); i = (i + 1) % log.Len() {
					e := log.At(i)
					p.Pick(e.Src, past.Before(e.Src, e.Time), out)
				}
			})
		}
	}
}
