package sample

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/index"
	"github.com/dygmamba/dygmamba/internal/streamtest"
)

// lengths is an extra: how long the histories of the queries' nodes are.
type lengths struct {
	made int
	bad  error
}

type lengthPart struct {
	of       *lengths
	src, dst []int32
	last     []int // [threads]
	ascends  bool
}

func (e *lengths) Name() string                      { return "lengths" }
func (e *lengths) Check(index.View) error            { return e.bad }
func (e *lengths) Bytes(positions []float64) float64 { return 8 + positions[0] }
func (e *lengths) NewPart() Part                     { e.made++; return &lengthPart{of: e} }

func (p *lengthPart) Shape() uint64 { return uint64(p.src[0]) }

func (p *lengthPart) Gather(g *Gathering) {
	n := len(g.Batch.Queries)
	p.src, p.dst, p.last, p.ascends = make([]int32, n), make([]int32, n), make([]int, g.Threads), true
	if len(g.Batch.Rows) != len(g.Plan.Draws) || len(g.Batch.Rows[0].Node) != n*g.Batch.Rows[0].Len {
		panic("rows are not there yet")
	}
	for i := range p.last {
		p.last[i] = -1
	}
	g.Parallel(n, func(thread, i int) {
		if i <= p.last[thread] {
			p.ascends = false
		}
		p.last[thread] = i
		q := g.Batch.Queries[i]
		p.src[i], p.dst[i] = int32(g.Past.Before(q.Src, q.Time).Len()), int32(g.Past.Before(Dst.Node(q), q.Time).Len())
	})
}

// TestExtras: a plan's extras are filled once everything else is there, each query once and in order on every thread,
// and a batch keeps their parts.
func TestExtras(t *testing.T) {
	log := streamtest.Generate(streamtest.Shape{Events: 300, Sources: 9, Dests: 9, Instants: 200, Shared: true}, 1)
	past := index.Freeze(log)
	all := log.All()
	var qs []Query
	for i := range 100 {
		qs = append(qs, Query{all.Src[2*i+1], all.Dst[2*i+1], all.Time[2*i+1], 0})
	}
	a, b := &lengths{}, &lengths{}
	plan := Plan{Draws: Both(Draw{Neighbors: 3, RowLen: 4}), Extras: []Extra{a, b}}
	var batch Batch
	for round := range 3 {
		batch.Positives = len(qs) / 2
		Gatherer{Threads: 3}.Gather(past, plan, qs, &batch)
		for k, part := range batch.Extras {
			p := part.(*lengthPart)
			for i, q := range qs {
				if want := past.Before(q.Src, q.Time).Len(); int(p.src[i]) != want || !p.ascends {
					t.Fatalf("round %d, extra %d: %d for query %d, want %d; in order: %v", round, k, p.src[i], i, want,
						p.ascends)
				}
			}
		}
	}
	if a.made != 1 || b.made != 1 || len(batch.Extras) != 2 {
		t.Errorf("%d and %d parts were made, want one each", a.made, b.made)
	}
	shape := batch.Shape()
	batch.Extras[1].(*lengthPart).src[0]++
	if batch.Shape() == shape {
		t.Error("the shape of a part does not show in that of its batch")
	}
	plan.ByCall = true
	Gatherer{Threads: 2}.Gather(past, plan, qs, &batch)
	if len(batch.Extras) != 0 || len(batch.Calls) != 2 || len(batch.Calls[1].Extras[0].(*lengthPart).src) != len(qs)/2 {
		t.Errorf("by calls: %d extras of all, want those of %d calls", len(batch.Extras), len(batch.Calls))
	}
	plan.ByCall, plan.Extras = false, []Extra{b}
	Gatherer{Threads: 1}.Gather(past, plan, qs, &batch)
	if len(batch.Extras) != 1 || batch.Extras[0].(*lengthPart).of != b {
		t.Error("another plan gets the part of another extra")
	}
}

// TestExtrasAreChecked: a plan asks its extras about the past, and counts what they take.
func TestExtrasAreChecked(t *testing.T) {
	past := index.Freeze(streamtest.Log(t, []event.Event{{Src: 1, Dst: 2, Time: 3}}))
	e := &lengths{}
	plan, plain := Plan{Draws: Both(Draw{Neighbors: 3, RowLen: 4}), Extras: []Extra{e}}, Plan{}
	plain.Draws = plan.Draws
	if err := plan.Check(past); err != nil {
		t.Error(err)
	}
	if err := plan.Check(nil); err == nil {
		t.Error("no past at all will do")
	}
	if e.bad = errors.New("too short"); !errors.Is(plan.Check(past), e.bad) ||
		!slices.Contains(strings.Fields(plan.Check(past).Error()), "lengths:") {
		t.Errorf("%v, want the extra's name and %v", plan.Check(past), e.bad)
	}
	if got, want := plan.Bytes(10)-plain.Bytes(10), 10*(8+4.0); got != want {
		t.Errorf("the extra takes %v bytes, want %v", got, want)
	}
}
