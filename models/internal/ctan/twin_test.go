package ctan

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/internal/golden"
	"github.com/dygmamba/dygmamba/internal/streamtest"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/model/modeltest"
	"github.com/dygmamba/dygmamba/sample"
)

// twin is the model once more in float64, straight from the equations: edge by edge, over all nodes that there are,
// with neighbours that are looked up in the log.
type twin struct {
	c        Config
	weights  modeltest.Plain
	features []float64
	edges    golden.Matrix
	memory   [][]float64
	shift    shift
	past     event.Span
}

// twinOf knows what the model knows, whose memory has learned of the first events of its log.
func twinOf(t testing.TB, b *bench, events int) *twin {
	t.Helper()
	toy, _ := golden.Models(t)
	w := &twin{c: b.cfg, weights: modeltest.Plain{}, edges: toy.EdgeFeatures, shift: b.shift}
	w.past = b.log.Span(0, events)
	for _, p := range b.Params().All() {
		w.weights[p.Name] = b.read(p.Data)
	}
	w.features = b.read(b.Node.Table().Data)
	memory := b.read(b.memory.Data)
	for at := 0; at < len(memory); at += b.cfg.Width {
		w.memory = append(w.memory, memory[at:at+b.cfg.Width])
	}
	return w
}

// edge is an event that a node has heard of: from whom, and its attribute.
type edge struct {
	from      event.Node
	attribute []float64
}

// heard lists each node's latest events.
func (w *twin) heard() [][]edge {
	list := make([][]edge, len(w.memory))
	last := map[event.Node]float64{}
	for i := range w.past.Len() {
		e := w.past.At(i)
		last[e.Src], last[e.Dst] = w.shift.cut(e.Time), w.shift.cut(e.Time) // logs are in order
	}
	hear := func(n, from event.Node, e event.Event) {
		if len(list[n]) == w.c.Neighbors {
			return
		}
		wait := (math.Abs(last[from]-w.shift.cut(e.Time)) - w.shift.Mean) / w.shift.Deviation
		a := make([]float64, w.c.EdgeDim)
		if int(e.Edge) < w.edges.Rows {
			for c := range a {
				a[c] = float64(w.edges.Data[int(e.Edge)*w.edges.Cols+c])
			}
		}
		for _, x := range w.weights.Linear("gnn.time_enc.lin", []float64{wait}) {
			a = append(a, math.Cos(x))
		}
		list[n] = append(list[n], edge{from, w.weights.Linear("gnn.aconv.phi.lin_edge", a)})
	}
	for i := w.past.Len() - 1; i >= 0; i-- {
		e := w.past.At(i)
		hear(e.Dst, e.Src, e)
		hear(e.Src, e.Dst, e)
	}
	return list
}

// phi is what a node's neighbours tell it.
func (w *twin) phi(q []float64, x [][]float64, heard []edge) []float64 {
	if len(heard) == 0 {
		return make([]float64, w.c.Width)
	}
	var scores []float64
	var values [][]float64
	for _, e := range heard {
		k := modeltest.Plus(w.weights.Linear("gnn.aconv.phi.lin_key", x[e.from]), e.attribute)
		v := modeltest.Plus(w.weights.Linear("gnn.aconv.phi.lin_value", x[e.from]), e.attribute)
		scores, values = append(scores, modeltest.Dot(q, k)/math.Sqrt(float64(w.c.Width))), append(values, v)
	}
	return modeltest.SumRows(modeltest.Softmax(scores), values)
}

// states are all nodes' after the last step.
func (w *twin) states() [][]float64 {
	var x [][]float64
	for n, z := range w.memory {
		x = append(x, w.weights.Linear("gnn.enc_x", append(slices.Clone(z), w.features[n])))
	}
	heard, weight, bias, width := w.heard(), w.weights["gnn.aconv.W"], w.weights["gnn.aconv.bias"], w.c.Width
	for range w.c.Iters {
		var next [][]float64
		for n := range x {
			move := modeltest.Plus(bias, w.phi(w.weights.Linear("gnn.aconv.phi.lin_query", x[n]), x, heard[n]))
			y := slices.Clone(x[n])
			for r := range width {
				for c := range width {
					a := weight[r*width+c] - weight[c*width+r]
					if r == c {
						a -= w.c.Gamma
					}
					move[r] += a * x[n][c]
				}
				y[r] += w.c.Epsilon * math.Tanh(move[r])
			}
			next = append(next, y)
		}
		x = next
	}
	if w.c.FinalTanh {
		for _, y := range x {
			for c := range y {
				y[c] = math.Tanh(y[c])
			}
		}
	}
	return x
}

func (w *twin) logits(qs []sample.Query) []float64 {
	x := w.states()
	var out []float64
	for _, q := range qs {
		src, dst := w.weights.Linear("readout.lin_src", x[q.Src]), w.weights.Linear("readout.lin_dst", x[q.Dst])
		h := modeltest.Each(modeltest.Plus(src, dst), modeltest.ReLU)
		out = append(out, w.weights.Linear("readout.lin_final", h)[0])
	}
	return out
}

// loss is the mean cross-entropy of positives and as many negatives.
func (w *twin) loss(qs []sample.Query) float64 {
	sum := 0.0
	for i, x := range w.logits(qs) {
		if i < len(qs)/2 {
			x = -x
		}
		sum += math.Log1p(math.Exp(x))
	}
	return sum / float64(len(qs))
}

// sparse is a stream in which a few steps reach a part of the nodes only, some of them from themselves.
func sparse() *event.Log {
	shape := streamtest.Shape{Events: 60, Sources: 40, Dests: 40, Instants: 50, Shared: true, Repeat: 0.2}
	return streamtest.Generate(shape, 3)
}

// TestTwin compares logits with the twin's, whose graph is all there is, and every number of the gradient with finite
// differences of the twin's loss.
func TestTwin(t *testing.T) {
	for name, change := range map[string]func(*Config) *event.Log{
		"toy":         func(*Config) *event.Log { return toyLog(t) },
		"final tanh":  func(c *Config) *event.Log { c.FinalTanh = true; return toyLog(t) },
		"exact times": func(c *Config) *event.Log { c.IntegerTimes = false; return toyLog(t) },
		"sparse":      func(c *Config) *event.Log { c.Iters, c.Neighbors = 2, 2; return sparse() },
		"one step":    func(c *Config) *event.Log { c.Iters = 1; return sparse() },
	} {
		t.Run(name, func(t *testing.T) {
			c := small(t)
			log := change(&c)
			b := newBench(t, log, c, 2)
			tp := grad.NewTape(b.dev, true)
			defer tp.Close()
			const events = 55
			for lo := 0; lo < events; lo += each {
				tp.Reset(0)
				b.Commit(tp, b.ask(t, lo, lo+each), nil)
			}
			tp.Reset(0)
			batch := b.ask(t, events, events+each)
			logits, _ := model.Logits(tp, b.Model, b.Head(), batch)
			if name == "sparse" && len(b.graph.nodes) >= log.NumNodes()/2 {
				t.Errorf("%d of %d nodes are reached: no part", len(b.graph.nodes), log.NumNodes())
			}
			w := twinOf(t, b, events)
			for i, want := range w.logits(batch.Queries) {
				if got := b.read(logits.Data)[i]; !(math.Abs(got-want) <= 1e-6) {
					t.Errorf("logit %d is %v, want %v", i, got, want)
				}
			}
			b.Params().ZeroGrad()
			tp.Backward(grad.BCE(tp, logits, tp.Floats(labels(2*each), 2*each)))
			worst := 0.0
			for _, p := range b.Params().All() {
				g := b.Params().ReadGrad(p)
				for i, want := range w.slopes(p.Name, batch.Queries) {
					d := math.Abs(float64(g[i]) - want)
					if worst = max(worst, d); !(d <= 1e-6) {
						t.Fatalf("gradient of %s[%d] is %v, finite differences give %v", p.Name, i, g[i], want)
					}
				}
			}
			t.Logf("gradients are off by at most %.1e", worst)
		})
	}
}

// slopes are the finite differences of the loss by all numbers of a parameter.
func (w *twin) slopes(name string, qs []sample.Query) []float64 {
	const h = 1e-5
	var list []float64
	values := w.weights[name]
	for i, v := range values {
		values[i] = v + h
		up := w.loss(qs)
		values[i] = v - h
		down := w.loss(qs)
		values[i] = v
		list = append(list, (up-down)/(2*h))
	}
	return list
}

// TestScoreDependsOnItsQueryAlone: a graph around many queries gives what the graph around each gives.
func TestScoreDependsOnItsQueryAlone(t *testing.T) {
	onlyCPU(t)
	c := small(t)
	c.Iters, c.Width = 2, 32
	b := newBench(t, sparse(), c, 2)
	b.replay(t, 11)
	whole := b.logits(t, b.ask(t, 50, 60).Queries)
	for i := range whole {
		alone := b.logits(t, []sample.Query{b.ask(t, 50, 60).Queries[i]})
		if math.Float32bits(alone[0]) != math.Float32bits(whole[i]) {
			t.Errorf("query %d has logit %v among others, %v alone", i, whole[i], alone[0])
		}
	}
	if whole[0] == whole[1] && whole[1] == whole[2] {
		t.Errorf("answers do not differ: %v", whole)
	}
	if none := b.logits(t, nil); len(none) != 0 {
		t.Errorf("no queries have logits %v", none)
	}
}

// replay lets the model learn of this many batches of five.
func (b *bench) replay(t testing.TB, batches int) {
	t.Helper()
	tp := grad.NewTape(b.dev, false)
	defer tp.Close()
	for i := range batches {
		tp.Reset(0)
		b.Commit(tp, b.ask(t, each*i, each*(i+1)), nil)
	}
}

func (b *bench) logits(t testing.TB, qs []sample.Query) []float32 {
	t.Helper()
	var batch sample.Batch
	sample.Gather(nil, b.Plan(), slices.Clone(qs), &batch)
	out := make([]float32, len(qs))
	s := model.NewScorer(b.Model)
	defer s.Close()
	if err := s.Score(&batch, out); err != nil {
		t.Fatal(err)
	}
	return out
}

// text makes numbers comparable.
func text(x []float32) string { return fmt.Sprintf("%x", x) }
