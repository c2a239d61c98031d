package ctan

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/internal/golden"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/model/modeltest"
	"github.com/dygmamba/dygmamba/nn"
	"github.com/dygmamba/dygmamba/sample"
)

// bench is a model on the toy graph.
type bench struct {
	*Model
	dev   device.Device
	log   *event.Log
	batch sample.Batch
}

// toyLog is the toy graph's events.
func toyLog(t testing.TB) *event.Log {
	t.Helper()
	toy, _ := golden.Models(t)
	log := event.NewLog(len(toy.Src))
	for i := range toy.Src {
		e := event.Event{Src: toy.Src[i], Dst: toy.Dst[i], Time: toy.Time[i], Edge: toy.Edge[i]}
		if _, err := log.Append(e); err != nil {
			t.Fatal(err)
		}
	}
	return log
}

// environment is a log's, with the event features of the toy graph.
func environment(t testing.TB, dev device.Device, log *event.Log) model.Env {
	toy, _ := golden.Models(t)
	env := model.Env{Device: dev, NumNodes: log.NumNodes(), Train: func() (event.Span, error) { return log.All(), nil }}
	env.Edge.Rows, env.Edge.Cols, env.Edge.Data = toy.EdgeFeatures.Rows, toy.EdgeFeatures.Cols, toy.EdgeFeatures.Data
	return env
}

func newBench(t testing.TB, log *event.Log, c Config, threads int) *bench {
	t.Helper()
	b := &bench{dev: modeltest.Device(t, threads), log: log}
	m, err := Factory.Build(environment(t, b.dev, b.log), model.Spec{Config: &c})
	if err != nil {
		t.Fatal(err)
	}
	b.Model = m.(*Model)
	t.Cleanup(b.Close)
	return b
}

// small is the configuration of the golden numbers.
func small(t testing.TB) Config {
	g, _ := stored(t)
	c := Default
	c.Iters, c.Epsilon, c.Gamma, c.Neighbors = g.Config.Iters, g.Config.Epsilon, g.Config.Gamma, g.Config.Neighbors
	c.Width, c.TimeDim, c.EdgeDim = g.Config.Width, g.Config.Time, g.Config.Edge
	return c
}

// newGolden is a model with the golden weights, node features and time shifts.
func newGolden(t testing.TB, c Config, threads int) *bench {
	t.Helper()
	g, features := stored(t)
	b := newBench(t, toyLog(t), c, threads)
	for name, values := range golden.Fill(g.Params) {
		if err := b.Params().Write(b.Params().Get(name), values); err != nil {
			t.Fatal(err)
		}
	}
	b.Node.Close()
	b.Node = nn.NewFeatures(b.dev, features, len(features), 1)
	if b.shift.Start != g.Start {
		t.Errorf("the data begin at %v, want %v", b.shift.Start, g.Start)
	}
	b.shift.Mean, b.shift.Deviation = g.Config.MeanShift, g.Config.StdShift
	return b
}

// ask makes the batch of events lo to hi−1 and as many golden negatives.
func (b *bench) ask(t testing.TB, lo, hi int) *sample.Batch {
	t.Helper()
	g, _ := stored(t)
	events := b.log.Span(lo, hi)
	var qs []sample.Query
	for i, u := range events.Src {
		qs = append(qs, sample.Query{Src: u, Dst: events.Dst[i], Time: events.Time[i]})
	}
	for i, v := range g.Negatives(hi - lo) {
		qs = append(qs, sample.Query{Src: events.Src[i], Dst: v, Time: events.Time[i]})
	}
	b.batch.Positives, b.batch.Events = hi-lo, events
	sample.Gather(nil, b.Plan(), qs, &b.batch)
	return &b.batch
}

// labels are 1 for the first half.
func labels(n int) []float32 {
	x := make([]float32, n)
	for i := range x[:n/2] {
		x[i] = 1
	}
	return x
}

const each = 5 // events of a golden batch

// TestGolden replays the official program's sixteen batches.
func TestGolden(t *testing.T) {
	g, _ := stored(t)
	for _, final := range []bool{false, true} {
		t.Run(fmt.Sprintf("final tanh %v", final), func(t *testing.T) {
			c, batches := small(t), g.Batches
			if c.FinalTanh = final; final {
				batches = g.WithTanh.Batches
			}
			b := newGolden(t, c, 2)
			checkNames(t, b, g.Params)
			tp := grad.NewTape(b.dev, true)
			defer tp.Close()
			worst := 0.0
			for i, want := range batches {
				worst = max(worst, b.golden(t, tp, i, want))
			}
			t.Logf("logits are off by at most %.1e", worst)
		})
	}
}

// golden asks about a batch, compares, and remembers it. It says by how much logits are off.
func (b *bench) golden(t *testing.T, tp *grad.Tape, i int, want storedBatch) (worst float64) {
	t.Helper()
	tp.Reset(0)
	batch := b.ask(t, each*i, each*(i+1))
	logits, e := model.Logits(tp, b.Model, b.Head(), batch)
	loss := grad.BCE(tp, logits, tp.Floats(labels(2*each), 2*each))
	loss = grad.Scale(tp, loss, 2) // two means instead of one
	for j, got := range b.read(logits.Data) {
		worst = max(worst, math.Abs(got-slices.Concat(want.Positive, want.Negative)[j]))
	}
	if !(worst <= 1e-6) {
		t.Errorf("batch %d: a logit is off by %v", i, worst)
	}
	if got := b.read(loss.Data)[0]; !(math.Abs(got-want.Loss) <= 1e-6) {
		t.Errorf("batch %d: loss %v, want %v", i, got, want.Loss)
	}
	if want.Nodes != nil {
		b.checkGraph(t, i, want)
	}
	b.Commit(tp, batch, &e)
	if want.Memory != nil {
		modeltest.Near(t, fmt.Sprintf("memory after batch %d", i), b.read(b.memory.Data), want.Memory, 1e-6)
		modeltest.Near(t, fmt.Sprintf("last updates after batch %d", i), b.ring.last, want.LastUpdate, 0)
	}
	b.Params().ZeroGrad()
	tp.Backward(loss)
	if want.Gradients != nil {
		b.checkGradients(t, want.Gradients)
	}
	return worst
}

func (b *bench) read(x device.Buffer) []float64 {
	host := make([]float32, x.Len)
	b.dev.Read(host, x)
	wide := make([]float64, len(host))
	for i, v := range host {
		wide[i] = float64(v)
	}
	return wide
}

// checkNames compares names, shapes and order.
func checkNames(t *testing.T, b *bench, want []golden.Param) {
	t.Helper()
	var got, list []string
	for _, p := range b.Params().All() {
		got = append(got, fmt.Sprint(p.Name, p.Shape()))
	}
	for _, p := range want {
		list = append(list, fmt.Sprint(p.Name, p.Shape))
	}
	if !slices.Equal(got, list) {
		t.Errorf("parameters\n%v\nwant\n%v", got, list)
	}
}

// checkGraph compares the subgraph: its nodes, and its edges, each node's newest first.
func (b *bench) checkGraph(t *testing.T, i int, want storedBatch) {
	t.Helper()
	nodes := slices.Clone(b.graph.nodes)
	slices.Sort(nodes)
	if !slices.Equal(nodes, want.Nodes) {
		t.Errorf("batch %d: nodes %v, want %v", i, nodes, want.Nodes)
	}
	edges := [][3]int32{}
	for _, n := range nodes {
		if int(b.graph.place[n]) > b.graph.inner {
			continue
		}
		for _, l := range b.ring.of(n) {
			if l.node != 0 {
				edges = append(edges, [3]int32{l.node, n, l.edge - 1})
			}
		}
	}
	if !slices.Equal(edges, want.Edges) {
		t.Errorf("batch %d: edges %v, want %v", i, edges, want.Edges)
	}
}

// checkGradients compares norms and first numbers. A key's bias is felt by all keys alike, so that its gradient is 0
// but for rounding.
func (b *bench) checkGradients(t *testing.T, want map[string]storedGradient) {
	t.Helper()
	for _, p := range b.Params().All() {
		w, ok := want[p.Name]
		if p.Touched != ok {
			t.Errorf("%s: a gradient arrived is %v, in the official program %v", p.Name, p.Touched, ok)
		}
		norm := 0.0
		grads := b.Params().ReadGrad(p)
		for _, x := range grads {
			norm += float64(x) * float64(x)
		}
		norm = math.Sqrt(norm)
		if math.Abs(norm-w.Norm) > 1e-4*w.Norm+1e-10 {
			t.Errorf("gradient of %s has norm %v, want %v", p.Name, norm, w.Norm)
		}
		for i, first := range w.First {
			if math.Abs(float64(grads[i])-first) > 1e-4*w.Norm+1e-10 {
				t.Errorf("gradient of %s[%d] is %v, want %v", p.Name, i, grads[i], first)
			}
		}
	}
}
