package eval_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/eval"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/internal/golden"
	"github.com/dygmamba/dygmamba/internal/paper"
	"github.com/dygmamba/dygmamba/internal/streamtest"
	"github.com/dygmamba/dygmamba/models"
	"github.com/dygmamba/dygmamba/protocol"
	"github.com/dygmamba/dygmamba/sample"
	"github.com/dygmamba/dygmamba/tensor"
)

// memory counts what it observed, and notes what it remembered at the first query after the count changed.
type memory struct {
	scorer
	count int
	seen  []int
}

func (m *memory) Score(b *sample.Batch, out []float32) error {
	m.seen = append(m.seen, m.count)
	return nil
}
func (m *memory) UnitPlan() sample.Plan { return sample.Plan{} }
func (m *memory) Commit(b *sample.Batch) error {
	m.count += b.Events.Len()
	return nil
}
func (m *memory) Snapshot() ([]tensor.Named, error) {
	return []tensor.Named{{Name: "count", Data: []float32{float32(m.count)}}}, nil
}
func (m *memory) Restore(state []tensor.Named) error {
	if m.count = 0; state != nil {
		m.count = int(state[0].Data[0])
	}
	return nil
}

func split(t testing.TB, l *event.Log) *dataset.Split {
	t.Helper()
	s, err := dataset.NewSplit(l, dataset.SplitOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestMemorySchedule(t *testing.T) {
	s := split(t, streamtest.Generate(streamtest.Shape{Events: 4000, Sources: 60, Dests: 50, Instants: 3500}, 1))
	p := eval.NewProtocol(s, eval.Options{})
	m := &memory{count: 12345}
	if err := p.Warm(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	if want := s.Train.Len() + s.Val.Len(); m.count != want {
		t.Errorf("warm with %d events, want %d", m.count, want)
	}
	m.count = 1000 // pretend that training ended here
	if _, _, err := p.Validate(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	newBatches := (s.NewVal.Len() + 199) / 200
	if m.seen[0] != 1000 || m.seen[newBatches] != 1000 || m.count != 1000+s.Val.Len() {
		t.Errorf("validation began with %d and %d events in memory and left %d", m.seen[0], m.seen[newBatches], m.count)
	}
	for _, part := range []eval.Part{eval.Test, eval.NewTest, eval.Test} {
		before := m.count
		m.seen = m.seen[:0]
		r, err := p.Evaluate(t.Context(), m, part, protocol.HistoricalNegatives)
		if err != nil {
			t.Fatal(err)
		}
		if m.seen[0] != before || m.seen[1] != before+200 || m.count != before {
			t.Errorf("%v began with %d and %d events in memory and left %d, want %d",
				part, m.seen[0], m.seen[1], m.count, before)
		}
		if r.Positives != p.Events(part).Len() {
			t.Errorf("%v: %d positives", part, r.Positives)
		}
	}
}

// lookback is a memory that keeps what was looked up for each event it was told of.
type lookback struct {
	memory
	edges []int32
}

func (m *lookback) UnitPlan() sample.Plan {
	return sample.Plan{Draws: sample.Both(sample.Draw{Neighbors: 3, RowLen: 3})}
}

func (m *lookback) Commit(b *sample.Batch) error {
	for _, r := range b.Rows {
		m.edges = append(m.edges, r.Edge...)
	}
	return m.memory.Commit(b)
}

// TestWarmIsHavingBeenThrough: a memory that was warmed knows what it would know after training and validation.
func TestWarmIsHavingBeenThrough(t *testing.T) {
	s := split(t, streamtest.Generate(streamtest.Shape{Events: 4000, Sources: 60, Dests: 50, Instants: 3500}, 1))
	p := eval.NewProtocol(s, eval.Options{Order: protocol.Strict})
	var through, warm lookback
	training, err := p.Train(0)
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range training.Batches(t.Context(), &through, s.Train.All()) {
		if err != nil {
			t.Fatal(err)
		}
	}
	validation, err := p.Pass(eval.Val, protocol.RandomNegatives)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := eval.Run(t.Context(), &through, validation, s.Val); err != nil {
		t.Fatal(err)
	}
	if err := p.Warm(t.Context(), &warm); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(warm.edges, through.edges) {
		t.Error("looks up other events than in training and validation")
	}
}

func TestProtocolDrawsThePublishedNegatives(t *testing.T) {
	for name, want := range golden.DrawsOnRealData(t) {
		t.Run(name, func(t *testing.T) {
			p := eval.NewProtocol(split(t, streamtest.Real(t, name)), eval.Options{})
			for _, c := range []struct {
				part     eval.Part
				strategy protocol.Negatives
				want     golden.RealNegatives
			}{
				{eval.Test, protocol.RandomNegatives, want.Random},
				{eval.Test, protocol.HistoricalNegatives, want.Historical},
				{eval.Test, protocol.InductiveNegatives, want.Inductive},
				{eval.NewTest, protocol.RandomNegatives, want.NewTestRandom},
				{eval.NewTest, protocol.InductiveNegatives, want.NewTestInductive},
				{eval.NewTest, protocol.RandomNegatives, want.NewTestRandom}, // again, after the others
			} {
				r, err := p.Evaluate(t.Context(), &memory{}, c.part, c.strategy)
				if err != nil {
					t.Fatal(err)
				}
				if r.Negatives != c.want.Hash {
					t.Errorf("%v %s: hash %s, want %s", c.part, c.strategy, r.Negatives, c.want.Hash)
				}
			}
		})
	}
}

func TestPartsHaveTheirOwnNegatives(t *testing.T) {
	s := split(t, streamtest.Generate(streamtest.Shape{Events: 4000, Sources: 60, Dests: 50, Instants: 3500}, 1))
	p := eval.NewProtocol(s, eval.Options{})
	lastTrain, lastVal := s.Train.At(s.Train.Len()-1).Time, s.Val.At(s.Val.Len()-1).Time
	for part, c := range map[eval.Part]struct {
		from     *event.Log
		seed     uint64
		observed event.Time
	}{
		eval.Val: {s.Full, 0, lastTrain}, eval.NewVal: {s.NewVal, 1, lastTrain}, eval.Test: {s.Full, 2, lastVal},
		eval.NewTest: {s.NewTest, 3, lastVal},
	} {
		for _, strategy := range protocol.Published() {
			pass, err := p.Pass(part, strategy)
			if err != nil {
				t.Fatal(err)
			}
			want, err := sample.NewNegatives(c.from,
				sample.NegativeOptions{Strategy: strategy, Seed: c.seed, Observed: c.observed})
			if err != nil {
				t.Fatal(err)
			}
			for span := range p.Events(part).Batches(0, p.Events(part).Len(), 200) {
				a, b := make([]sample.Query, span.Len()), make([]sample.Query, span.Len())
				pass.Negatives.Draw(span, a)
				want.Draw(span, b)
				if !slices.Equal(a, b) {
					t.Errorf("%v %s: other negatives than those with seed %d from %d events",
						part, strategy, c.seed, c.from.Len())
					break
				}
			}
		}
	}
}

func TestTrainingSeesOnlyTraining(t *testing.T) {
	s := split(t, streamtest.Generate(streamtest.Shape{Events: 4000, Sources: 60, Dests: 50, Instants: 3500}, 1))
	p := eval.NewProtocol(s, eval.Options{BatchSize: 50})
	first := map[uint64][]sample.Query{}
	for run := range uint64(2) {
		pass, err := p.Train(run)
		if err != nil {
			t.Fatal(err)
		}
		if pass.Seed != 0 || pass.BatchSize != 50 {
			t.Errorf("%+v", pass)
		}
		for _, n := range s.NewNodes {
			if h := pass.Past.Before(n, s.TestTime); h.Len() > 0 {
				t.Errorf("training sees %d events of the new node %d", h.Len(), n)
			}
		}
		first[run] = make([]sample.Query, 50)
		pass.Negatives.Draw(s.Train.Span(0, 50), first[run])
	}
	if fmt.Sprint(first[0]) == fmt.Sprint(first[1]) {
		t.Error("two runs draw the same negatives")
	}
	pass, err := p.Pass(eval.Val, protocol.RandomNegatives)
	if err != nil {
		t.Fatal(err)
	}
	if pass.Seed != 1 || pass.Past.NumNodes() != s.Full.NumNodes() {
		t.Errorf("%+v", pass)
	}
}

func TestStrictTestHasNoNewNodes(t *testing.T) {
	s := split(t, streamtest.Generate(streamtest.Shape{Events: 4000, Sources: 60, Dests: 50, Instants: 3500}, 1))
	p := eval.NewProtocol(s, eval.Options{SeenOnly: true})
	if n := p.Events(eval.Test).Len(); n != s.Test.Len()-s.NewTest.Len() || n == 0 {
		t.Errorf("%d events of %d, %d of them with new nodes", n, s.Test.Len(), s.NewTest.Len())
	}
}

func TestEmptyPartsAreLegal(t *testing.T) {
	shape := streamtest.Shape{Events: 900, Sources: 7, Dests: 7, Instants: 800, Shared: true}
	s := split(t, streamtest.Generate(shape, 1))
	for _, sampling := range []protocol.Sampling{protocol.Reference, protocol.Native} {
		p := eval.NewProtocol(s, eval.Options{Sampling: sampling})
		for _, strategy := range protocol.Published() {
			r, err := p.Evaluate(t.Context(), &memory{}, eval.NewTest, strategy)
			if err != nil || r.Batches != 0 {
				t.Errorf("%s %s: %+v, %v", sampling, strategy, r, err)
			}
		}
	}
}

// TestPassesPickNeighborsAsTheProtocolSays: whatever draws negatives picks random neighbours too, from seed 0 in
// training and 1 in evaluation.
func TestPassesPickNeighborsAsTheProtocolSays(t *testing.T) {
	for _, sampling := range []protocol.Sampling{protocol.Reference, protocol.Native} {
		p := eval.NewProtocol(split(t, stream), eval.Options{Sampling: sampling})
		training, err := p.Train(3)
		if err != nil || training.Sampling != sampling || training.Seed != 0 {
			t.Errorf("training picks by %q from %d, %v, want %q from 0",
				training.Sampling, training.Seed, err, sampling)
		}
		test, err := p.Pass(eval.Test, protocol.RandomNegatives)
		if err != nil || test.Sampling != sampling || test.Seed != 1 {
			t.Errorf("the test picks by %q from %d, %v, want %q from 1", test.Sampling, test.Seed, err, sampling)
		}
	}
}

func TestProtocolRefusesNonsense(t *testing.T) {
	p := eval.NewProtocol(split(t, stream), eval.Options{})
	if _, err := p.Evaluate(t.Context(), &memory{}, eval.Test, "hard"); err == nil {
		t.Error("an unknown strategy was accepted")
	}
	if _, err := eval.PartOf("semi"); err == nil {
		t.Error("an unknown setting was accepted")
	}
	if _, err := eval.NewProtocol(split(t, stream), eval.Options{Sampling: "numpy"}).Train(0); err == nil {
		t.Error("an unknown sampling was accepted")
	}
}

// The best memory on published data, as published: in percent to two decimals.
func TestEdgeBankIsThePublishedOne(t *testing.T) {
	for _, c := range []struct {
		dataset   string
		negatives protocol.Negatives
	}{
		{"uci", "random"}, {"enron", "random"}, {"mooc", "random"}, {"wikipedia", "random"}, {"CanParl", "random"},
		{"USLegis", "random"}, {"USLegis", "historical"}, {"CanParl", "historical"}, {"USLegis", "inductive"},
		{"CanParl", "inductive"},
	} {
		t.Run(c.dataset+"/"+string(c.negatives), func(t *testing.T) {
			set, err := dataset.Open(t.Context(), c.dataset, dataset.Options{DataDir: golden.Shared(t, "data")})
			if err != nil {
				t.Fatal(err)
			}
			p := eval.NewProtocol(split(t, set.Log), eval.Options{Sampling: set.Sampling})
			best := edgebankBest(t, p, c.negatives)
			want, ok := paper.Lookup(protocol.Transductive, c.negatives, c.dataset, "edgebank")
			got := fmt.Sprintf("%.2f/%.2f", 100*best.AP, 100*best.AUC)
			if published := fmt.Sprintf("%.2f/%.2f", want.AP.Mean, want.AUC.Mean); !ok || got != published {
				t.Errorf("AP/AUC %s, published %s", got, published)
			}
		})
	}
}

// edgebankBest evaluates the four memories and returns the best by AP.
func edgebankBest(t testing.TB, p *eval.Protocol, negatives protocol.Negatives) (best eval.Result) {
	t.Helper()
	banks, _, err := models.Contenders("edgebank")
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	if _, err := p.Session(ctx, banks...); err != nil {
		t.Fatal(err)
	}
	for _, c := range banks {
		r, err := p.Evaluate(ctx, c.Scorer, eval.Test, negatives)
		if err != nil {
			t.Fatal(err)
		}
		if r.AP > best.AP {
			best = r
		}
	}
	return best
}

// BenchmarkEdgeBank is all fifteen evaluations, each with four memories; loading is not counted.
func BenchmarkEdgeBank(b *testing.B) {
	var splits []*dataset.Split
	for _, name := range []string{"uci", "enron", "mooc", "CanParl", "USLegis"} {
		splits = append(splits, split(b, streamtest.Real(b, name)))
	}
	for b.Loop() {
		for _, s := range splits {
			p := eval.NewProtocol(s, eval.Options{})
			for _, strategy := range protocol.Published() {
				edgebankBest(b, p, strategy)
			}
		}
	}
}
