package eval_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/dygmamba/dygmamba/eval"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/internal/rng"
	"github.com/dygmamba/dygmamba/internal/streamtest"
	"github.com/dygmamba/dygmamba/protocol"
	"github.com/dygmamba/dygmamba/sample"
)

var sampledStream = streamtest.Shape{Events: 8000, Sources: 60, Dests: 50, Instants: 7000, Repeat: 0.5}

// chancy is a scorer whose answers are mostly right, by chance: the same answer to the same query.
type chancy struct{ seed uint64 }

func (chancy) Plan() sample.Plan { return sample.Plan{} }
func (c chancy) Score(b *sample.Batch, out []float32) error {
	for i, q := range b.Queries {
		at := math.Float64bits(q.Time) + uint64(q.Src)<<20 + uint64(q.Dst)
		out[i] = float32(rng.New(c.seed^at, "answer").Float64() * 4)
		if i < b.Positives {
			out[i] += 1 + float32(b.Queries[i].Src%3)/2
		}
	}
	return nil
}

func limited(t testing.TB, o eval.Options, l eval.Limits) *eval.Protocol {
	t.Helper()
	return eval.NewProtocol(split(t, streamtest.Generate(sampledStream, 1)), o).Limit(l)
}

// A sample consists of whole batches of the part, the same ones in every evaluation and on any number of threads.
func TestSampleIsFixed(t *testing.T) {
	whole := limited(t, eval.Options{BatchSize: 50}, eval.Limits{})
	batches := map[event.Edge]event.Span{}
	for b := range whole.Events(eval.Val).All().Batches(50) {
		batches[b.Edge(0)] = b
	}
	var first eval.Result
	for _, threads := range []int{1, 3} {
		p := limited(t, eval.Options{BatchSize: 50, Threads: threads}, eval.Limits{Val: 320, Train: 1000})
		for range 2 {
			r, err := p.Evaluate(t.Context(), chancy{1}, eval.Val, protocol.RandomNegatives)
			if err != nil {
				t.Fatal(err)
			}
			if first.Batches == 0 {
				first = r
			}
			if *r.Sampled != *first.Sampled || r.Negatives != first.Negatives || *r.APInterval != *first.APInterval {
				t.Errorf("%+v, then %+v", first.Sampled, r.Sampled)
			}
		}
		for b := range p.Events(eval.Val).All().Batches(50) {
			if want := batches[b.Edge(0)]; !slices.Equal(b.Time, want.Time) || !slices.Equal(b.Src, want.Src) {
				t.Errorf("the batch from event %d on is none of the whole part", b.Edge(0))
			}
		}
		all := whole.TrainEvents()
		if n := p.TrainEvents(); n.Len() != 1000 || n.Edge(999) != all.Edge(all.Len()-1) {
			t.Errorf("%d training events up to %d", n.Len(), n.Edge(n.Len()-1))
		}
	}
	s := first.Sampled
	if s.Events != 300 || s.Batches != 6 || s.Kind != eval.SampleRandom || s.Of != whole.Events(eval.Val).Len() ||
		s.Empty || first.Positives != 300 || first.Batches != 6 {
		t.Errorf("sampled %+v of a result of %d events", s, first.Positives)
	}
	if r, err := whole.Evaluate(t.Context(), chancy{1}, eval.Val, protocol.RandomNegatives); err != nil ||
		r.Sampled != nil || r.APInterval != nil {
		t.Errorf("of all events: %+v, %v", r.Sampled, err)
	}
}

// The interval of a sample holds the value of all events nearly always.
func TestIntervalCovers(t *testing.T) {
	log := streamtest.Generate(sampledStream, 1)
	whole := eval.NewProtocol(split(t, log), eval.Options{BatchSize: 20})
	part := whole.Tested(240)
	const seeds = 200
	hit := [2]int{}
	for seed := range uint64(seeds) {
		full, err := whole.Evaluate(t.Context(), chancy{seed}, eval.Test, protocol.RandomNegatives)
		if err != nil {
			t.Fatal(err)
		}
		r, err := part.Evaluate(t.Context(), chancy{seed}, eval.Test, protocol.RandomNegatives)
		if err != nil {
			t.Fatal(err)
		}
		for k, x := range []struct {
			of   [2]float64
			full float64
		}{{*r.APInterval, full.AP}, {*r.AUCInterval, full.AUC}} {
			if x.of[0] <= x.full && x.full <= x.of[1] {
				hit[k]++
			}
		}
		if width := r.APInterval[1] - r.APInterval[0]; width > 0.2 || width <= 0 {
			t.Fatalf("seed %d: an interval of %v", seed, width)
		}
	}
	if share := float64(min(hit[0], hit[1])) / seeds; share < 0.9 || share > 0.995 {
		t.Errorf("the intervals of AP and AUC hold the value of all events for %v of %d seeds, want about 95 %%", hit,
			seeds)
	}
}

// A block is a shorter stream without gaps: training, validation, test. A record tells where it begins.
func TestBlock(t *testing.T) {
	log := streamtest.Generate(sampledStream, 1)
	whole := split(t, log)
	for _, want := range []struct {
		limits    eval.Limits
		inVal     int // test events in the period of validation
		test, val int
	}{
		{eval.Limits{Train: 500, Val: 200, Test: 300, Block: true}, 300, 300, 200},
		{eval.Limits{Train: 500, Val: whole.Val.Len() - 100, Test: 300, Block: true}, 100, 300, whole.Val.Len() - 100},
		{eval.Limits{Train: 1e9, Val: 1e9, Test: 300, Block: true}, 0, 300, whole.Val.Len()},
	} {
		p := eval.NewProtocol(whole, eval.Options{BatchSize: 50}).Limit(want.limits)
		s := p.Split()
		train := min(want.limits.Train, whole.Train.Len())
		if s.Train.Len() != train || s.Val.Len() != want.val || s.Test.Len() != want.test {
			t.Errorf("%+v: %d, %d and %d events", want.limits, s.Train.Len(), s.Val.Len(), s.Test.Len())
		}
		inVal := 0
		for _, at := range s.Test.All().Time {
			if at <= whole.TestTime {
				inVal++
			}
		}
		if inVal != want.inVal {
			t.Errorf("%+v: %d test events in the period of validation, want %d", want.limits, inVal, want.inVal)
		}
		later := slices.Concat(s.Val.All().Time, s.Test.All().Time)
		all := slices.Concat(whole.Val.All().Time, whole.Test.All().Time)
		if !slices.Equal(later, all[:len(later)]) {
			t.Errorf("%+v: there is a gap between the events", want.limits)
		}
		first, last := s.Train.At(0).Time, s.Test.At(s.Test.Len()-1).Time
		if full := s.Full.All().Time; full[0] != first || full[len(full)-1] != last {
			t.Errorf("%+v: the stream is %v to %v", want.limits, full[0], full[len(full)-1])
		}
		m := &memory{}
		if err := p.Warm(t.Context(), m); err != nil || m.count != s.Train.Len()+s.Val.Len() {
			t.Errorf("%+v: %d events are remembered, %v", want.limits, m.count, err)
		}
		r, err := p.Tested(120).Evaluate(t.Context(), m, eval.Test, protocol.RandomNegatives)
		if err != nil || r.Positives != 100 || r.Sampled.Kind != eval.SampleBlock || !r.Sampled.Empty ||
			r.Sampled.First != s.Test.At(0).Time {
			t.Errorf("%+v: %+v, %v", want.limits, r.Sampled, err)
		}
	}
}

// When the time has come an evaluation ends after a batch, at least one, and its record leads to the same events again.
func TestUntil(t *testing.T) {
	for name, p := range map[string]*eval.Protocol{
		"all":   limited(t, eval.Options{BatchSize: 50}, eval.Limits{}),
		"drawn": limited(t, eval.Options{BatchSize: 50}, eval.Limits{Test: 200}),
		"block": limited(t, eval.Options{BatchSize: 50}, eval.Limits{Train: 500, Val: 100, Test: 200, Block: true}),
	} {
		r, err := p.Until(time.Now()).Evaluate(t.Context(), chancy{1}, eval.Test, protocol.RandomNegatives)
		if err != nil || r.Positives != 50 || r.Sampled == nil || r.Sampled.Events != 50 || r.APInterval != nil {
			t.Fatalf("%s: %d events, %+v, %v", name, r.Positives, r.Sampled, err)
		}
		again := p.As(eval.Test, r.Sampled)
		if hash := eval.HashEdges(again.Events(eval.Test).All()); hash != r.Sampled.Hash {
			t.Errorf("%s: asked about %d events that are not those of the record", name, again.Events(eval.Test).Len())
		}
		if n := again.As(eval.Test, nil).Events(eval.Test).Len(); n < 200 {
			t.Errorf("%s: %d events are all", name, n)
		}
	}
}

// What training negatives and all others are drawn from does not depend on limits.
func TestLimitsKeepCandidates(t *testing.T) {
	destinations := func(p *eval.Protocol) int {
		pass, err := p.Pass(eval.Test, protocol.RandomNegatives)
		if err != nil {
			t.Fatal(err)
		}
		seen := map[event.Node]bool{}
		out := make([]sample.Query, 50)
		for range 100 {
			pass.Negatives.Draw(p.Events(eval.Test).Span(0, 50), out)
			for _, q := range out {
				seen[q.Dst] = true
			}
		}
		return len(seen)
	}
	all := destinations(limited(t, eval.Options{BatchSize: 50}, eval.Limits{}))
	few := eval.Limits{Train: 50, Val: 50, Test: 50, Block: true}
	block := destinations(limited(t, eval.Options{BatchSize: 50}, few))
	if all != block || math.Abs(float64(all)-50) > 1 {
		t.Errorf("%d destinations of all events, %d of a block", all, block)
	}
}
