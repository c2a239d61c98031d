package modeltest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/protocol"
	"github.com/dygmamba/dygmamba/replay"
	"github.com/dygmamba/dygmamba/sample"
	"github.com/dygmamba/dygmamba/tensor"
)

// answers: every query gets one finite number, however many there are, with and without features, whatever is
// remembered.
func answers(t testing.TB, e *entry) {
	for _, spec := range e.specs {
		for _, w := range []*world{e.world, e.bare} {
			p := e.buildIn(t, w, e.devices[1], spec, 1)
			for _, warm := range []bool{false, true} {
				if warm {
					p.learn(t, w, spec, 5)
				}
				for _, n := range []int{0, 1, 2, 7, 24} {
					p.checkAnswers(t, w, n)
				}
			}
		}
	}
}

func (p player) checkAnswers(t testing.TB, w *world, n int) {
	t.Helper()
	for i, x := range p.ask(t, w.past, w.queries(n)) {
		if !finite(x) {
			t.Fatalf("query %d of %d, %v, is answered with %v", i, n, w.queries(n)[i], x)
		}
	}
	if p.model == nil || n == 0 {
		return
	}
	for _, record := range []bool{false, true} {
		tp := grad.NewTape(p.model.Params().Device(), record)
		said := p.model.Embed(tp, gather(w.past, oneCall(p.Plan()), w.queries(n), n, event.Span{}))
		sized(t, "the sources", said.Src, n, -1)
		sized(t, "the destinations", said.Dst, n, -1)
		if said.Pair != nil {
			sized(t, "the pairs", said.Pair, n, -1)
		}
		sized(t, "the logits", p.model.Head().Logit(tp, said), n, 1)
		tp.Close()
	}
}

// oneCall is a plan that gathers all queries together, as Embed wants them.
func oneCall(p sample.Plan) sample.Plan {
	p.ByCall = false
	return p
}

func sized(t testing.TB, what string, x *tensor.Tensor, rows, cols int) {
	t.Helper()
	if x == nil {
		t.Fatalf("nothing is said of %s", what)
	}
	if x.Rank() != 2 || x.Dim(0) != rows || x.Dim(1) < 1 || cols >= 0 && x.Dim(1) != cols {
		t.Fatalf("%s of %d queries have shape %v", what, rows, x.Shape())
	}
}

func finite(x float32) bool { return x-x == 0 }

// learn makes a player forget everything and remember the first units of a world, if it remembers at all.
func (p player) learn(t testing.TB, w *world, spec model.Spec, units int) {
	t.Helper()
	if m := p.memory(); m != nil {
		must(t, m.Restore(nil))
		p.resume(t, w, spec, 0, units)
	}
}

// resume makes a player remember this many more units, if it remembers at all.
func (p player) resume(t testing.TB, w *world, spec model.Spec, first, units int) {
	t.Helper()
	if m := p.memory(); m != nil {
		span := w.set.Log.Span(first*batchSize, (first+units)*batchSize)
		must(t, w.pass(spec.Order).Remember(t.Context(), m, span))
	}
}

// pass replays the world.
func (w *world) pass(order protocol.Order) replay.Pass {
	return replay.Pass{Past: w.past, BatchSize: batchSize, Order: order, Threads: 2}
}

// repeats: the same seed gives the same bytes whatever the number of threads, another seed gives other answers, and
// answers differ.
func repeats(t testing.TB, e *entry) {
	qs := e.world.queries(24)
	for _, spec := range e.specs {
		var first []float32
		for i, dev := range e.devices {
			p := e.buildIn(t, e.world, dev, spec, 1)
			p.learn(t, e.world, spec, 12)
			b := &sample.Batch{Positives: len(qs)}
			sample.Gatherer{Threads: i + 1}.Gather(e.world.past, p.Plan(), qs, b)
			got := p.answer(t, b)
			if first == nil {
				first = got
			}
			if at, yes := differ(got, first); yes {
				t.Errorf("query %d is answered with %v on %d threads, with %v on one", at, got[at], i+1, first[at])
			}
		}
		if slices.Max(first) == slices.Min(first) {
			t.Errorf("all queries are answered with %v", first[0])
		}
		if !e.factory.Trains {
			continue
		}
		other := e.buildIn(t, e.world, e.devices[1], spec, 2)
		other.learn(t, e.world, spec, 12)
		if got := other.ask(t, e.world.past, qs); slices.Equal(got, first) {
			t.Error("another seed gives the same answers")
		}
	}
}

// alone: what is asked beside a query makes no difference to its answer.
func alone(t testing.TB, e *entry) {
	for _, spec := range e.specs {
		for _, w := range []*world{e.world, e.bare} {
			p := e.buildIn(t, w, e.devices[1], spec, 1)
			p.learn(t, w, spec, 7)
			if broken := p.company(t, w); broken != "" {
				t.Error(broken)
			}
		}
	}
}

// company asks queries in different company and says where that makes a difference.
func (p player) company(t testing.TB, w *world) string {
	t.Helper()
	qs := w.queries(19)
	want := p.ask(t, w.past, qs)
	var single, cut []float32
	for _, q := range qs {
		single = append(single, p.ask(t, w.past, []sample.Query{q})...)
	}
	for part := range slices.Chunk(qs, 7) {
		cut = append(cut, p.ask(t, w.past, part)...)
	}
	order := rand.New(rand.NewPCG(3, 3)).Perm(len(qs))
	mixed, among := make([]sample.Query, len(qs)), []sample.Query{}
	for i, k := range order {
		mixed[k] = qs[i]
		other := sample.Query{Src: unseen + event.Node(i), Dst: unseen + 50, Time: qs[i].Time + float64(i%3)}
		among = append(among, qs[i], other)
	}
	shuffled, crowded := make([]float32, len(qs)), make([]float32, len(qs))
	answers, crowd := p.ask(t, w.past, mixed), p.ask(t, w.past, among)
	for i, k := range order {
		shuffled[i], crowded[i] = answers[k], crowd[2*i]
	}
	for _, c := range []struct {
		how string
		got []float32
	}{{"alone", single}, {"in parts of 7", cut}, {"in another order", shuffled}, {"among other queries", crowded}} {
		if at, yes := differ(c.got, want); yes {
			return fmt.Sprintf("query %d of %d is answered with %v, %s with %v",
				at, len(qs), want[at], c.how, c.got[at])
		}
	}
	return ""
}

// unaware: an answer does not depend on whether the query is known to be about an event.
func unaware(t testing.TB, e *entry) {
	const n = 12
	events := e.world.set.Log.Span(100, 100+n)
	qs := append(about(events), about(events)...)
	for _, spec := range e.specs {
		p := e.build(t, spec)
		p.learn(t, e.world, spec, 3)
		want := p.ask(t, e.world.past, qs)
		for _, positives := range []int{0, n} {
			got := p.answer(t, gather(e.world.past, p.Plan(), qs, positives, events.Slice(0, positives)))
			if at, yes := differ(got, want); yes {
				t.Errorf("query %d of %d is answered with %v, and with %v where %d are about events",
					at, len(qs), want[at], got[at], positives)
			}
		}
	}
}
