package modeltest

import (
	"testing"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/sample"
)

// shares: a model that computes once what queries have in common, or that describes each node alone, answers what it
// answers otherwise.
func shares(t testing.TB, e *entry) {
	for _, spec := range e.forms {
		for _, w := range []*world{e.world, e.bare, e.timed} {
			p := e.buildIn(t, w, e.devices[1], spec, 1)
			if p.model == nil {
				return
			}
			p.learn(t, w, spec, 7)
			p.alike(t, w)
		}
	}
}

// alike asks whom one node meets.
func (p player) alike(t testing.TB, w *world) {
	t.Helper()
	scorer := model.NewScorer(p.model)
	t.Cleanup(scorer.Close)
	about := w.queries(1)[0]
	qs := []sample.Query{about}
	for n := range event.Node(20) {
		qs = append(qs, sample.Query{Src: about.Src, Dst: 1 + n*3, Time: about.Time})
	}
	qs = append(qs, sample.Query{Src: about.Src, Dst: unseen, Time: about.Time})
	want := p.answer(t, gather(w.past, oneCall(p.Plan()), qs, len(qs), event.Span{}))
	got := make([]float32, len(qs))
	if _, ok := p.model.(model.Sharer); ok {
		must(t, scorer.ScoreAlike(gather(w.past, oneCall(p.Plan()), qs, len(qs), event.Span{}), got))
		if at, yes := differ(got, want); yes {
			t.Errorf("query %d is answered with %v, with %v when work is shared", at, want[at], got[at])
		}
	}
	plan, sided := scorer.SidedPlan()
	if !sided {
		return
	}
	for _, n := range []int{len(qs), len(qs) - 1} { // with and without a node that has no other to its side
		nodes := append([]sample.Query{{Dst: about.Src, Time: about.Time}}, qs[:n]...)
		b := gather(w.past, plan, model.Pair(nodes), len(nodes)/2, event.Span{})
		must(t, scorer.ScorePaired(b, got[:n]))
		if at, yes := differ(got[:n], want[:n]); yes {
			t.Errorf("query %d is answered with %v, with %v when nodes are described alone", at, want[at], got[at])
		}
	}
}
