package modeltest

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/index"
	"github.com/dygmamba/dygmamba/protocol"
	"github.com/dygmamba/dygmamba/sample"
)

// Sizes of the stream on which models are tried: a few hundred events are enough to break every promise.
const (
	numEvents = 270
	numNodes  = 26
	lateNodes = 4  // of them that come in near the end
	batchSize = 11 // events of a unit
	unseen    = event.Node(500)
)

// world is where models are tried: few nodes that meet often, many events of one instant, also across units, loops,
// nodes that are both sources and destinations, nodes that nobody has seen, and times like Unix times, which float32
// rounds to minutes.
type world struct {
	set   *dataset.Set
	split *dataset.Split
	past  index.View
}

// newWorld makes a world, with or without features of nodes and events.
func newWorld(t testing.TB, features bool) *world {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 1))
	log := event.NewLog(numEvents)
	at := 1.7e9
	for i := range numEvents {
		if rng.Float64() < 0.4 {
			at += 1 + float64(rng.IntN(60))
		}
		e := meeting(rng, at)
		if i > numEvents*3/4 && rng.IntN(2) == 0 {
			e.Dst = numNodes - event.Node(rng.IntN(lateNodes))
		}
		_, err := log.Append(e)
		must(t, err)
	}
	w := &world{set: &dataset.Set{Name: "conformance", Log: log, Sampling: protocol.Native}, past: index.Freeze(log)}
	if features {
		w.set.Node, w.set.Edge = noise(rng, 1+numNodes, nodeDim), noise(rng, 1+numEvents, edgeDim)
	}
	var err error
	if w.split, err = dataset.NewSplit(log, dataset.SplitOptions{Sampling: w.set.Sampling, Seed: 3}); err != nil {
		t.Fatal(err)
	}
	w.check(t)
	return w
}

// meeting is an event of nodes that are not late, some of which do more than others.
func meeting(rng *rand.Rand, at event.Time) event.Event {
	popular := func() event.Node {
		return 1 + event.Node(rng.Float64()*rng.Float64()*(numNodes-lateNodes))
	}
	e := event.Event{Src: popular(), Dst: popular(), Time: at}
	if rng.IntN(20) == 0 {
		e.Dst = e.Src
	}
	return e
}

// How wide the features of the streams are that have some.
const nodeDim, edgeDim = 3, 2

func noise(rng *rand.Rand, rows, cols int) dataset.Features {
	f := dataset.Features{Rows: rows, Cols: cols, Data: make([]float32, rows*cols)}
	for i := cols; i < len(f.Data); i++ { // row 0 is padding
		f.Data[i] = float32(rng.NormFloat64())
	}
	return f
}

// check sees that the world has all that the checks need.
func (w *world) check(t testing.TB) {
	t.Helper()
	parts, s := map[int]string{}, w.split
	for name, l := range map[string]*event.Log{
		"train": s.Train, "val": s.Val, "test": s.Test, "new val": s.NewVal, "new test": s.NewTest,
	} {
		if other, twice := parts[l.Len()]; twice || l.Len() <= batchSize {
			t.Fatalf("%s and %q have %d events, want more, and numbers that tell them apart", name, other, l.Len())
		}
		parts[l.Len()] = name
	}
	if cuts := w.cuts(); len(cuts) < 3 || slices.Contains(cuts, numEvents/batchSize-2) {
		t.Fatalf("units %v begin within an instant, want some, and not the last but two", cuts)
	}
}

// cuts are the units that begin at the instant of the last event before them.
func (w *world) cuts() []int {
	var list []int
	times := w.set.Log.All().Time
	for i := batchSize; i < len(times); i += batchSize {
		if times[i-1] == times[i] {
			list = append(list, i/batchSize)
		}
	}
	return list
}

// queries are of every kind: about what happens, and what does not, at the time of an event, between two, before the
// first and after the last, about loops and about strangers.
func (w *world) queries(n int) []sample.Query {
	rng := rand.New(rand.NewPCG(2, 2))
	var qs []sample.Query
	for i := range n {
		e := w.set.Log.At(rng.IntN(numEvents))
		q := sample.Query{Src: e.Src, Dst: e.Dst, Time: e.Time}
		switch i % 8 {
		case 1:
			q.Dst = 1 + event.Node(rng.IntN(numNodes))
		case 2:
			q.Time += 0.5
		case 3:
			q.Dst = q.Src
		case 4:
			q.Src = unseen + event.Node(rng.IntN(2))
		case 5:
			q.Dst = unseen
		case 6:
			q.Time = w.set.Log.At(numEvents-1).Time + 100
		case 7:
			q.Time = w.set.Log.At(0).Time - 1
		}
		qs = append(qs, q)
	}
	return qs
}

// batch gathers what a plan wants to know of a unit, and of as many other queries.
func (w *world) batch(plan sample.Plan, unit int) *sample.Batch {
	events := w.set.Log.Span(unit*batchSize, (unit+1)*batchSize)
	qs := about(events)
	return gather(w.past, plan, append(qs, at(w.queries(len(qs)), events.Time[0])...), events.Len(), events)
}

// at moves queries to one time.
func at(qs []sample.Query, t event.Time) []sample.Query {
	moved := make([]sample.Query, len(qs))
	for i, q := range qs {
		moved[i] = sample.Query{Src: q.Src, Dst: q.Dst, Time: t}
	}
	return moved
}
