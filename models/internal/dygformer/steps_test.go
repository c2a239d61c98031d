package dygformer

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/index"
	"github.com/dygmamba/dygmamba/internal/golden"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/model/modeltest"
	"github.com/dygmamba/dygmamba/replay"
	"github.com/dygmamba/dygmamba/sample"
	"github.com/dygmamba/dygmamba/train"
)

// ordinary are settings of ordinary size, where kernels take their vector paths and split work.
var ordinary = []string{"max_input_sequence_length=32", "patch_size=4", "node_feat_dim=20", "edge_feat_dim=24"}

// school is a model that learns on the toy graph.
type school struct {
	*train.Learner
	dev   device.Device
	past  index.View
	batch sample.Batch
	loss  [1]float32
}

func newSchool(t testing.TB, dev device.Device, f model.Factory, graph golden.Toy, settings ...string) *school {
	t.Helper()
	log := event.NewLog(len(graph.Src))
	for i := range graph.Src {
		e := event.Event{Src: graph.Src[i], Dst: graph.Dst[i], Time: graph.Time[i], Edge: graph.Edge[i]}
		if _, err := log.Append(e); err != nil {
			t.Fatal(err)
		}
	}
	spec, err := f.Spec("", model.Data{}, append(ordinary, settings...)...)
	if err != nil {
		t.Fatal(err)
	}
	env := model.Env{Device: dev, Node: table(graph.NodeFeatures), Edge: table(graph.EdgeFeatures), Seed: 7}
	l, err := train.NewLearner(f, env, spec, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	return &school{Learner: l, dev: dev, past: index.Freeze(log)}
}

func table(m golden.Matrix) dataset.Features {
	return dataset.Features{Rows: m.Rows, Cols: m.Cols, Data: m.Data}
}

// ask gathers questions, of which the first half are positives.
func (s *school) ask(qs []sample.Query) *sample.Batch {
	s.batch.Positives = len(qs) / 2
	sample.Gather(s.past, s.Model.Plan(), qs, &s.batch)
	return &s.batch
}

func (s *school) step(key uint64) float32 {
	s.Step(&s.batch, key)
	s.dev.Read(s.loss[:], s.Loss.Data)
	return s.loss[0]
}

// logits are the answers to some questions in one call.
func (s *school) logits(qs []sample.Query) []float32 {
	tp := grad.NewTape(s.dev, false)
	defer tp.Close()
	var b sample.Batch
	sample.Gather(s.past, s.Model.Plan(), qs, &b)
	out, _ := model.Logits(tp, s.Model, s.Model.Head(), &b)
	host := make([]float32, out.Len())
	s.dev.Read(host, out.Data)
	return host
}

// random draws questions whose negatives are of a node that has met few, so that the two calls have rows of different
// lengths.
func random(graph golden.Toy, n int) []sample.Query {
	r := rand.New(rand.NewPCG(1, 2))
	qs := make([]sample.Query, n)
	for i := range qs {
		at := graph.Time[r.IntN(len(graph.Time))] + float64(r.IntN(2))
		qs[i] = sample.Query{Src: 1 + r.Int32N(5), Dst: 6 + r.Int32N(4), Time: at}
		if i >= n/2 {
			qs[i].Dst = 30 // unknown
		}
	}
	return qs
}

var factories = map[string]model.Factory{"transformer": Factory, "mamba": FactoryMamba}

func TestThreadsDoNotMatter(t *testing.T) {
	for layer, f := range factories {
		t.Run(layer, func(t *testing.T) { testThreads(t, f) })
	}
}

func testThreads(t *testing.T, f model.Factory) {
	graph, _ := golden.Models(t)
	var want []float32
	for _, threads := range []int{1, 2, 3} {
		s := newSchool(t, modeltest.Device(t, threads), f, graph)
		calls := s.ask(random(graph, 60)).Calls
		if len(calls) != 2 || calls[0].Rows[1].Len <= calls[1].Rows[1].Len {
			t.Fatal("the calls do not differ")
		}
		var got []float32
		for key := range uint64(3) {
			got = append(got, s.step(key))
		}
		for _, p := range s.Model.Params().All() {
			got = append(got, s.Model.Params().Read(p)...)
		}
		if want == nil {
			want = got
		}
		if !slices.EqualFunc(got, want, func(a, b float32) bool { return math.Float32bits(a) == math.Float32bits(b) }) {
			t.Errorf("three steps are others with %d threads", threads)
		}
	}
	if !(want[2] < want[0]) {
		t.Errorf("nothing is learned: %v", want[:3])
	}
}

func TestStepsDoNotAllocate(t *testing.T) {
	modeltest.OnlyCPU(t)
	graph, _ := golden.Models(t)
	for layer, f := range factories {
		s := newSchool(t, modeltest.Device(t, 2), f, graph)
		s.ask(random(graph, 40))
		s.step(0)
		s.step(1)
		if n := testing.AllocsPerRun(5, func() { s.step(2) }); n != 0 {
			t.Errorf("%s: a step allocates %v times", layer, n)
		}
	}
}

// TestCalls: answers depend on their call when rows are padded by call, and on nothing but their own past when rows
// have a fixed length.
func TestCalls(t *testing.T) {
	modeltest.OnlyCPU(t)
	graph, _ := golden.Models(t)
	qs := random(graph, 40)
	for padding, depends := range map[string]bool{"call": true, "fixed": false} {
		s := newSchool(t, modeltest.Device(t, 2), Factory, graph, "padding="+padding)
		whole := s.logits(qs)
		apart := slices.Concat(s.logits(qs[:20]), s.logits(qs[20:]))
		s.Reset(s.ask(qs), 0)
		asked, _ := model.Logits(grad.NewTape(s.dev, false), s.Model, s.Model.Head(), &s.batch)
		host := make([]float32, asked.Len())
		s.dev.Read(host, asked.Data)
		if slices.Equal(whole, apart) == depends {
			t.Errorf("padding=%s: in one call and in two answers differ: %v", padding, !depends)
		}
		if !slices.Equal(host, apart) {
			t.Errorf("padding=%s: positives and negatives are not two calls", padding)
		}
		for i := range whole {
			if alone := s.logits(qs[i : i+1]); !depends && alone[0] != whole[i] {
				t.Fatalf("padding=%s: query %d has logit %v alone, %v among others", padding, i, alone[0], whole[i])
			}
		}
		if len(s.logits(nil)) != 0 {
			t.Error("no queries have answers")
		}
	}
}

// TestZeroFeatures: features that are all zero are skipped, and so are columns that there are not; the answers are
// those of features that are there.
func TestZeroFeatures(t *testing.T) {
	graph, _ := golden.Models(t)
	qs := random(graph, 20)
	answers := func(graph golden.Toy) []float32 {
		return newSchool(t, modeltest.Device(t, 2), Factory, graph).logits(qs)
	}
	none, spread := graph, graph
	none.NodeFeatures.Data, none.EdgeFeatures.Data = nil, nil
	// One more row, of a node and an event that nobody meets, makes a table.
	spread.NodeFeatures, spread.EdgeFeatures = lonely(graph.NodeFeatures), lonely(graph.EdgeFeatures)
	near(t, "no features", answers(none), answers(spread))
	wider := graph
	wider.NodeFeatures, wider.EdgeFeatures = widened(graph.NodeFeatures, 20), widened(graph.EdgeFeatures, 24)
	near(t, "narrow features", answers(graph), answers(wider))
	if slices.Equal(answers(none), answers(graph)) {
		t.Error("features make no difference")
	}
}

func lonely(m golden.Matrix) golden.Matrix {
	x := make([]float32, (m.Rows+1)*m.Cols)
	x[len(x)-1] = 1
	return golden.Matrix{Rows: m.Rows + 1, Cols: m.Cols, Data: x}
}

func widened(m golden.Matrix, cols int) golden.Matrix {
	x := make([]float32, m.Rows*cols)
	for i, v := range m.Data {
		x[i/m.Cols*cols+i%m.Cols] = v
	}
	return golden.Matrix{Rows: m.Rows, Cols: cols, Data: x}
}

func near(t *testing.T, what string, got, want []float32) {
	t.Helper()
	for i := range want {
		if math.Abs(float64(got[i]-want[i])) > 1e-6 {
			t.Fatalf("%s: logit %d is %v, want %v", what, i, got[i], want[i])
		}
	}
}

func TestStartsLikePyTorch(t *testing.T) {
	modeltest.StartsLikePyTorch(t, Factory, "dygformer", "patch_size=2")
}

// BenchmarkStep is a whole step of training on uci as published, in the middle of the training part.
func BenchmarkStep(b *testing.B) {
	for _, name := range []string{"uci", "enron"} {
		b.Run(name, func(b *testing.B) {
			set, err := dataset.Open(context.Background(), name, dataset.Options{DataDir: golden.Shared(b, "data")})
			if err != nil {
				b.Fatal(err)
			}
			defer set.Close()
			spec, err := Factory.Spec("paper", model.Data{Name: name})
			if err != nil {
				b.Fatal(err)
			}
			dev := modeltest.Device(b, 0)
			env := model.Env{Device: dev, Node: set.Node, Edge: set.Edge, NumNodes: set.NumNodes()}
			l, err := train.NewLearner(Factory, env, spec, "")
			if err != nil {
				b.Fatal(err)
			}
			defer l.Close()
			events := set.Log.Span(set.Log.Len()/2, set.Log.Len()/2+replay.BatchSize)
			r := rand.New(rand.NewPCG(1, 2))
			var batch sample.Batch
			var qs []sample.Query
			for i := range 2 * events.Len() {
				e := events.At(i % events.Len())
				if i >= events.Len() {
					e.Dst = set.Log.At(r.IntN(set.Log.Len())).Dst
				}
				qs = append(qs, sample.Query{Src: e.Src, Dst: e.Dst, Time: e.Time})
			}
			batch.Positives, batch.Events = events.Len(), events
			sample.Gather(index.Freeze(set.Log), l.Model.Plan(), qs, &batch)
			for i := range uint64(3) {
				l.Step(&batch, i)
			}
			dev.Sync()
			for b.Loop() {
				l.Step(&batch, 3)
				dev.Sync()
			}
		})
	}
}
