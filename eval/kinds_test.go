package eval

import (
	"math"
	"testing"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/protocol"
	"github.com/dygmamba/dygmamba/sample"
)

// knowsKinds answers by a rule of its own: the kind of a pair is the sum of its ends.
type knowsKinds struct{ wrong bool }

func (knowsKinds) Plan() sample.Plan { return sample.Plan{} }

func (k knowsKinds) Score(b *sample.Batch, out []float32) error {
	for i, q := range b.Queries {
		right := kindOfPair(q.Src, q.Dst) == q.Kind
		if out[i] = -3; right != k.wrong {
			out[i] = 3
		}
	}
	return nil
}

func kindOfPair(u, v event.Node) event.Kind { return event.Kind(1 + (u+v)%3) }

func kindSet(t *testing.T) *dataset.Set {
	t.Helper()
	l := event.NewLog(0)
	for i := range 600 {
		u, v := event.Node(1+i*i%7), event.Node(8+i%5)
		if _, err := l.Append(event.Event{Src: u, Dst: v, Time: float64(i / 3), Kind: kindOfPair(u, v)}); err != nil {
			t.Fatal(err)
		}
	}
	return &dataset.Set{Name: "kinds", Log: l, Sampling: protocol.Native, Kinds: []string{"a", "b", "c"},
		Node: dataset.Features{Rows: l.NumNodes()}, Edge: dataset.Features{Rows: l.Len() + 1}}
}

// TestWhichKind: who knows the kinds is always right, who says the opposite never; rules see nothing of their instant.
func TestWhichKind(t *testing.T) {
	p, err := Open(kindSet(t), Options{Sampling: protocol.Native, ByKind: true})
	if err != nil {
		t.Fatal(err)
	}
	good, err := p.WhichKind(t.Context(), knowsKinds{}, Test)
	if err != nil || good.Accuracy != 1 || good.MeanAP != 1 || good.Events != p.Events(Test).Len() {
		t.Errorf("%+v, %v", good, err)
	}
	bad, err := p.WhichKind(t.Context(), knowsKinds{wrong: true}, Test)
	if err != nil || bad.Accuracy != 0 {
		t.Errorf("%+v, %v", bad, err)
	}
	for _, negatives := range []protocol.Negatives{protocol.KindNegatives, protocol.RandomNegatives} {
		r, err := p.Evaluate(t.Context(), knowsKinds{}, Test, negatives)
		if err != nil || negatives == protocol.KindNegatives && r.AP != 1 {
			t.Errorf("%s: AP %v, %v", negatives, r.AP, err)
		}
	}
	rules := map[string]KindResult{}
	for _, r := range p.KindRules(Test) {
		rules[r.Rule] = r.KindResult
	}
	if rules["pair_last"].Accuracy != 1 || rules["majority"].Accuracy > 0.8 || len(rules) != 5 {
		t.Errorf("rules %+v", rules)
	}
	if x := rules["source_last"]; x.Events != good.Events || math.IsNaN(x.MeanAP) {
		t.Errorf("%+v", x)
	}
}

// TestQueriesHideKinds: a model that is not asked by kind never hears of the kind of the event in question.
func TestQueriesHideKinds(t *testing.T) {
	for _, by := range []bool{false, true} {
		p, err := Open(kindSet(t), Options{Sampling: protocol.Native, ByKind: by})
		if err != nil {
			t.Fatal(err)
		}
		pass, err := p.Pass(Test, protocol.RandomNegatives)
		if err != nil {
			t.Fatal(err)
		}
		for step, err := range pass.Batches(t.Context(), knowsKinds{}, p.Events(Test).All()) {
			if err != nil {
				t.Fatal(err)
			}
			for i, q := range step.Batch.Queries {
				want := event.Kind(0)
				if by {
					want = step.Span.Kind(i % step.Span.Len())
				}
				if q.Kind != want {
					t.Fatalf("by kind %v: query %d has kind %d, want %d", by, i, q.Kind, want)
				}
			}
		}
	}
}
