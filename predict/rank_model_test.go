package predict

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/dygmamba/dygmamba/device/cpu"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/internal/streamtest"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/nn"
	"github.com/dygmamba/dygmamba/protocol"
	"github.com/dygmamba/dygmamba/sample"
)

// reader is a model whose answer is all that it was shown: row lengths, neighbours and their order.
type reader struct {
	counter
	plan sample.Plan
}

func (r *reader) Plan() sample.Plan { return r.plan }
func (r *reader) Head() model.Head  { return r }

func (r *reader) Embed(tp *grad.Tape, b *sample.Batch) model.Embedding {
	out := make([]float32, len(b.Queries))
	for i := range out {
		hash := uint32(len(b.Rows))
		for d := range b.Rows {
			rows := &b.Rows[d]
			each := len(rows.Node) / len(b.Queries)
			hash = hash*31 + uint32(rows.Len)
			for _, n := range rows.Node[i*each : (i+1)*each] {
				hash = hash*31 + uint32(n)
			}
		}
		out[i] = float32(hash % 100003)
	}
	return model.Embedding{Src: tp.Floats(out, len(out), 1)}
}

// newReader makes a predictor with a model that wants a plan.
func newReader(t *testing.T, log *event.Log, plan sample.Plan) *Predictor {
	dev := cpu.New(cpu.Options{Threads: 1})
	t.Cleanup(func() { dev.Close() })
	r := &reader{counter: counter{params: nn.NewParams(0)}, plan: plan}
	r.params.Place(dev)
	p := &Predictor{name: "reader", log: log, spec: model.Spec{Training: model.Standard}, model: r, head: r}
	p.scorer = model.NewScorer(r)
	p.spec.Training.BatchSize = 3
	t.Cleanup(func() { p.Close() })
	return p
}

// TestRankAsksAlone: a candidate's score depends on no other candidate, also where rows are as long as the longest of
// their batch, are gathered in calls, or hold neighbours picked at random.
func TestRankAsksAlone(t *testing.T) {
	shape := streamtest.Shape{Events: 300, Sources: 30, Dests: 30, Instants: 80, Repeat: 0.3, Shared: true}
	log := streamtest.Generate(shape, 5)
	at := log.At(200).Time
	uniform, err := sample.NewPicker(sample.PickerOptions{Strategy: sample.Uniform})
	if err != nil {
		t.Fatal(err)
	}
	open := sample.Both(sample.Draw{Neighbors: 9, RowMultiple: 2, Target: sample.TargetFirst})
	hops := append(sample.Both(sample.Draw{Neighbors: 3, RowLen: 3}),
		sample.Draw{Of: sample.Hop(0), Neighbors: 2, RowLen: 2},
		sample.Draw{Of: sample.Hop(1), Neighbors: 2, RowLen: 2})
	for name, plan := range map[string]sample.Plan{
		"open rows": {Draws: open}, "by call": {Draws: open, ByCall: true}, "random": {Draws: hops, Picker: uniform},
		"random, distinct": {Draws: hops[:2], Picker: uniform, Distinct: true}, "fixed": {Draws: hops}, "nothing": {},
	} {
		p := newReader(t, log, plan)
		candidates := []event.Node{7, 3, 500, 12, 9, 1, 4, 3, 501, 20, 22}
		ranked, err := p.Rank(t.Context(), 2, at, candidates, 0)
		if err != nil || len(ranked) != len(candidates)-1 {
			t.Fatalf("%s: %d partners, %v", name, len(ranked), err)
		}
		for i, got := range ranked {
			want, err := p.Score(t.Context(), []Query{{Src: 2, Dst: got.Node, Time: at}})
			if err != nil || got.Logit != want[0] || got.Probability != p.Probability(want[0]) {
				t.Errorf("%s: %d has %v, alone %v (%v)", name, got.Node, got.Logit, want, err)
			}
			if i > 0 && got.Logit > ranked[i-1].Logit {
				t.Errorf("%s: place %d is better than the one before", name, i)
			}
		}
		few, err := p.Rank(t.Context(), 2, at, []event.Node{ranked[0].Node, 501, ranked[3].Node}, 1)
		if err != nil || len(few) != 1 || few[0] != ranked[0] {
			t.Errorf("%s: among fewer candidates %v, %v; want %v", name, few, err, ranked[0])
		}
	}
}

// TestRankRemembers: a model that remembers has learned of what came before, and goes on from there.
func TestRankRemembers(t *testing.T) {
	log := event.NewLog(25)
	for i := range 25 {
		if _, err := log.Append(event.Event{Src: 1, Dst: event.Node(2 + i%3), Time: float64(i / 2)}); err != nil {
			t.Fatal(err)
		}
	}
	p := newReader(t, log, sample.Plan{})
	c := p.model.(*reader)
	p.model, p.head = &c.counter, &c.counter
	p.scorer = model.NewScorer(&c.counter)
	p.spec.Training.BatchSize, p.spec.Order = 10, protocol.Strict
	p.stream = p.newStream(p.scorer.Scorer().(model.StatefulScorer))
	for at, want := range map[float64]float32{4.5: 10, 100: 25, -1: 0} {
		got, err := p.Rank(t.Context(), 1, at, []event.Node{9, 2}, 0)
		if err != nil || len(got) != 2 || got[0].Logit != want || got[0].Node != 9 {
			t.Errorf("at %v: %v, %v; want %v events remembered and equals in order", at, got, err, want)
		}
	}
	if got, err := p.Rank(t.Context(), 1, 0.5, nil, 0); err != nil || len(got) != 2 || got[0].Meetings != 1 {
		t.Errorf("destinations before 0.5: %v, %v; want 2 and 3, met once", got, err)
	}
	if err := p.Ingest([]event.Event{{Src: 1, Dst: 40, Time: 0.25}, {Src: 1, Dst: 1, Time: 300}}); err != nil {
		t.Fatal(err)
	}
	nodes := func(at float64) (list []event.Node) {
		got, err := p.Rank(t.Context(), 1, at, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range got {
			list = append(list, x.Node)
		}
		return list
	}
	if got := nodes(0.5); !slices.Equal(got, []event.Node{2, 3, 40}) {
		t.Errorf("after an event at 0.25 destinations before 0.5 are %v", got)
	}
	if got := nodes(300); !slices.Equal(got, []event.Node{2, 3, 4, 40}) {
		t.Errorf("destinations before 300 are %v", got)
	}
	if got := nodes(301); !slices.Equal(got, []event.Node{1, 2, 3, 4, 40}) {
		t.Errorf("a node that met itself is among %v", got)
	}
	p.spec.Order = protocol.Arrival
	p.stream = p.newStream(p.stream.memory)
	if _, err := p.Rank(t.Context(), 1, 2, nil, 0); !errors.Is(err, ErrTooEarly) {
		t.Errorf("in the order of arrival, before the end: %v", err)
	}
}

func TestRankRefuses(t *testing.T) {
	log := event.NewLog(1)
	if _, err := log.Append(event.Event{Src: 1, Dst: 2, Time: 1}); err != nil {
		t.Fatal(err)
	}
	p := newReader(t, log, sample.Plan{})
	for what, err := range map[string]error{
		"source 0":       second(p.Rank(t.Context(), 0, 1, nil, 1)),
		"candidate −1":   second(p.Rank(t.Context(), 1, 1, []event.Node{2, -1}, 1)),
		"a time of none": second(p.Rank(t.Context(), 1, math.NaN(), nil, 1)),
	} {
		if err == nil {
			t.Error(what, "was ranked")
		}
	}
	if got, err := p.Rank(t.Context(), 1, 5, []event.Node{}, 3); err != nil || len(got) != 0 {
		t.Errorf("no candidates: %v, %v", got, err)
	}
	p.view()
	p.log = nil
	if _, err := p.Rank(t.Context(), 1, 5, nil, 1); !errors.Is(err, ErrNoRank) {
		t.Errorf("without a data set: %v", err)
	}
	p.spec.Task = protocol.NodeClassification
	if _, err := p.Rank(t.Context(), 1, 5, []event.Node{2}, 1); !errors.Is(err, ErrNoRank) {
		t.Errorf("a model of labels: %v", err)
	}
}

func second(_ []Partner, err error) error { return err }
