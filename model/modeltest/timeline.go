package modeltest

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/protocol"
)

// newTimedWorld is a world in which features of nodes change over time, often several times in one instant.
func newTimedWorld(t testing.TB) *world {
	t.Helper()
	w := newWorld(t, true)
	rng := rand.New(rand.NewPCG(5, 5))
	line := &dataset.Timeline{Features: dataset.Features{Cols: nodeDim}}
	for at := range distinctTimes(w.set.Log) {
		for rng.IntN(3) > 0 {
			addRow(line, 1+event.Node(rng.IntN(numNodes-2)), at, rng) // two nodes have none
		}
	}
	w.set.Node.Data, w.set.Timeline = nil, line
	return w
}

func distinctTimes(log *event.Log) func(yield func(event.Time) bool) {
	times := slices.Compact(slices.Clone(log.All().Time))
	return slices.Values(times)
}

func addRow(line *dataset.Timeline, n event.Node, at event.Time, rng *rand.Rand) {
	line.Node, line.Time = append(line.Node, n), append(line.Time, at)
	for range nodeDim {
		line.Features.Data = append(line.Features.Data, float32(rng.NormFloat64()))
	}
	line.Features.Rows++
}

// retold is the world with other features of nodes from a time on, or before it.
func (w *world) retold(from event.Time, before bool) *world {
	rng := rand.New(rand.NewPCG(6, 6))
	was, line := w.set.Timeline, &dataset.Timeline{Features: dataset.Features{Cols: nodeDim}}
	for i, n := range was.Node {
		at := was.Time[i]
		switch kept := (at < from) != before; {
		case kept:
			line.Node, line.Time = append(line.Node, n), append(line.Time, at)
			line.Features.Data = append(line.Features.Data, was.Features.Row(i)...)
			line.Features.Rows++
		case before || rng.IntN(2) == 0: // others are never said
			addRow(line, n, at, rng)
		default:
			addRow(line, 1+event.Node(rng.IntN(numNodes)), at, rng)
			addRow(line, n, at, rng)
		}
	}
	other, set := *w, *w.set
	set.Timeline = line
	other.set = &set
	return &other
}

// timely: a model that reads features of nodes sees those that hold before a query's time, and whatever is said of
// nodes at that time or later, its answer stays.
func timely(t testing.TB, e *entry) {
	for _, spec := range e.specs {
		w := e.timed
		p := e.buildIn(t, w, e.devices[1], spec, 1)
		cuts := w.cuts()
		for _, unit := range []int{cuts[len(cuts)/3], numEvents/batchSize - 2} {
			now := w.set.Log.At(unit * batchSize).Time
			qs := at(w.queries(16), now)
			want := p.askAt(t, w.set.Log, protocol.Strict, unit, qs)
			other := e.buildIn(t, w.retold(now, false), e.devices[1], spec, 1)
			if at, yes := differ(other.askAt(t, w.set.Log, protocol.Strict, unit, qs), want); yes {
				t.Errorf("query %v is answered otherwise when features of nodes change at its time or later", qs[at])
			}
			if p.Plan().Timeline == nil {
				continue // it reads none
			}
			other = e.buildIn(t, w.retold(now, true), e.devices[1], spec, 1)
			if _, yes := differ(other.askAt(t, w.set.Log, protocol.Strict, unit, qs), want); !yes {
				t.Error("answers are the same whatever the features of nodes are")
			}
		}
	}
}
