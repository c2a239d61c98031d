package ctan

import (
	"slices"
	"testing"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/sample"
)

// chain is a log in which node i meets node i+1, one after the other.
func chain(t testing.TB, nodes int32) *event.Log {
	t.Helper()
	log := event.NewLog(int(nodes))
	for i := range nodes - 1 {
		if _, err := log.Append(event.Event{Src: 1 + i, Dst: 2 + i, Time: float64(i)}); err != nil {
			t.Fatal(err)
		}
	}
	return log
}

func about(nodes ...int32) *sample.Batch {
	b := new(sample.Batch)
	for i := 0; i < len(nodes); i += 2 {
		b.Queries = append(b.Queries, sample.Query{Src: nodes[i], Dst: nodes[i+1], Time: 1e6})
	}
	return b
}

// TestReach walks a chain: a round reaches one node further on both sides, and those of the last have no neighbours.
func TestReach(t *testing.T) {
	r := newRing(21, 5, 0)
	r.remember(chain(t, 20).All(), func(x float64) float64 { return x })
	var g graph
	for _, tt := range []struct {
		rounds int
		around *sample.Batch
		nodes  []int32
		inner  int
	}{
		{1, about(10, 10), []int32{10, 11, 9}, 1},
		{3, about(10, 10), []int32{10, 11, 9, 12, 8, 13, 7}, 5},
		{1, about(10, 13), []int32{10, 13, 11, 9, 14, 12}, 2},
		{2, about(20, 99), []int32{20, 99, 19, 18}, 3}, // the end of the chain, and a node that nobody knows
		{9, about(2, 1), []int32{2, 1, 3, 4, 5, 6, 7, 8, 9, 10, 11}, 10},
		{2, about(0, 0), []int32{0}, 1},
		{2, about(), nil, 0},
	} {
		g.age = -1 // another number of rounds is another model
		g.around(tt.around, &r, tt.rounds)
		if !slices.Equal(g.nodes, tt.nodes) || g.inner != tt.inner {
			t.Errorf("%d rounds around %v: nodes %v, %d of them with neighbours, want %v and %d",
				tt.rounds, tt.around.Queries, g.nodes, g.inner, tt.nodes, tt.inner)
		}
		for n, place := range g.place {
			if i := slices.Index(tt.nodes, int32(n)); int(place) != i+1 {
				t.Errorf("node %d has place %d, want %d", n, place, i+1)
			}
		}
	}
}

// TestShape: the shape of a step follows the graph, which follows what is remembered, and is rounded up.
func TestShape(t *testing.T) {
	c := small(t)
	c.Iters = 300
	b := newBench(t, chain(t, 400), c, 2)
	tp := grad.NewTape(b.dev, false)
	defer tp.Close()
	done := 0
	commit := func(upTo int) {
		events := b.log.Span(done, upTo)
		done = upTo
		batch := &sample.Batch{Positives: events.Len(), Events: events}
		var qs []sample.Query
		for i, u := range events.Src {
			qs = append(qs, sample.Query{Src: u, Dst: events.Dst[i], Time: events.Time[i]})
		}
		sample.Gather(nil, b.UnitPlan(), qs, batch)
		b.Commit(tp, batch, nil)
	}
	asked := about(1, 1)
	first := b.Shape(asked)
	for _, tt := range []struct{ events, nodes, rows int }{
		{100, 101, 256}, {255, 256, 256}, {256, 257, 512}, {399, 301, 512},
	} {
		commit(tt.events)
		shape := b.Shape(asked)
		if n := len(b.graph.nodes); n != tt.nodes || b.graph.rows() != tt.rows {
			t.Errorf("after %d events %d nodes in %d rows, want %+v", tt.events, n, b.graph.rows(), tt)
		}
		if (shape == first) != (tt.rows == 256) {
			t.Errorf("after %d events the shape of %d rows is that of 256: %v", tt.events, tt.rows, shape == first)
		}
		if other := b.Shape(about(1, 399)); other == 0 || b.graph.nodes[1] != 399 {
			t.Errorf("other queries have the graph %v", b.graph.nodes[:2])
		}
	}
}

// TestAskAgain: the same queries have another graph once their events are remembered.
func TestAskAgain(t *testing.T) {
	b := newBench(t, toyLog(t), small(t), 2)
	tp := grad.NewTape(b.dev, false)
	defer tp.Close()
	batch := b.ask(t, 0, each)
	before := b.logits(t, batch.Queries)
	e := b.Embed(tp, batch)
	b.Commit(tp, batch, &e)
	after := b.logits(t, batch.Queries)
	b.graph = graph{}
	if want := b.logits(t, batch.Queries); text(after) != text(want) || text(before) == text(want) {
		t.Errorf("asked again %v, want %v, before %v", after, want, before)
	}
}
