package dygmamba

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/internal/golden"
	"github.com/dygmamba/dygmamba/internal/optim"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/model/modeltest"
	"github.com/dygmamba/dygmamba/sample"
)

// random draws queries on the toy graph, many of them equal in source and time.
func random(toy golden.Toy, n int) []sample.Query {
	r := rand.New(rand.NewPCG(1, 2))
	qs := make([]sample.Query, n)
	for i := range qs {
		at := toy.Time[r.IntN(len(toy.Time))] + float64(r.IntN(2))
		qs[i] = sample.Query{Src: 1 + r.Int32N(5), Dst: 6 + r.Int32N(4), Time: at}
	}
	return qs
}

// ordinary is a configuration of ordinary size, where kernels take their vector paths and split work.
func ordinary(change func(*Config)) Config {
	return with(Default, func(c *Config) {
		c.Length, c.Patch, c.Meetings, c.NodeDim, c.EdgeDim = 32, 4, 5, 20, 24
		change(c)
	})
}

func (b *bench) logits(t testing.TB, qs []sample.Query) []float32 {
	b.gather(t, qs)
	out := b.Score(grad.NewTape(b.dev, false), &b.batch)
	host := make([]float32, out.Len())
	b.dev.Read(host, out.Data)
	return host
}

func TestScoreDependsOnItsQueryAlone(t *testing.T) {
	onlyCPU(t)
	toy, _ := golden.Models(t)
	for name, c := range map[string]Config{
		"released": ordinary(func(*Config) {}), "paper": ordinary(func(c *Config) { c.Arch, c.Channel = Paper, 20 }),
		"c": ordinary(func(c *Config) { c.Variant = "c" }), "patches of one": ordinary(func(c *Config) { c.Patch = 1 }),
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, c, 2, toy)
			qs := random(toy, 97)
			whole := b.logits(t, qs)
			if whole[0] == whole[1] && whole[1] == whole[2] {
				t.Errorf("answers do not differ: %v", whole[:3])
			}
			for _, cut := range []int{1, 2, 50, 96} {
				parts := append(b.logits(t, qs[:cut]), b.logits(t, qs[cut:])...)
				for i := range whole {
					if math.Float32bits(whole[i]) != math.Float32bits(parts[i]) {
						t.Fatalf("query %d has logit %v among 97 queries, %v when they are cut at %d",
							i, whole[i], parts[i], cut)
					}
				}
			}
			if empty := b.logits(t, nil); len(empty) != 0 {
				t.Errorf("no queries have logits %v", empty)
			}
		})
	}
}

// step trains once and returns the loss.
func (b *bench) step(tp *grad.Tape, rule *optim.Optimizer, key uint64, labels []float32) float32 {
	tp.Reset(key)
	b.Params().ZeroGrad()
	loss := grad.BCE(tp, b.Score(tp, &b.batch), tp.Floats(labels, len(labels), 1))
	tp.Backward(loss)
	rule.Step()
	b.dev.Read(b.host[:], loss.Data)
	return b.host[0]
}

func labels(n int) []float32 {
	x := make([]float32, n)
	for i := range x[:n/2] {
		x[i] = 1
	}
	return x
}

func TestTrainingDoesNotDependOnThreads(t *testing.T) {
	toy, _ := golden.Models(t)
	t.Run("fixed", func(t *testing.T) {
		testThreads(t, toy, ordinary(func(*Config) {}), func(b *bench) { b.gather(t, random(toy, 60)) })
	})
	t.Run("by call", func(t *testing.T) {
		testThreads(t, toy, ordinary(byCall), func(b *bench) { b.gatherCalls(t, random(toy, 60)) })
	})
}

func testThreads(t *testing.T, toy golden.Toy, c Config, gather func(*bench)) {
	var want []float32
	for _, threads := range []int{1, 2, 3, 16} {
		b := newBench(t, c, threads, toy)
		gather(b)
		tp, rule := grad.NewTape(b.dev, true), optim.New(b.Params(), optim.Config{Rule: device.Adam, Rate: 1e-3})
		var got []float32
		for key := range uint64(3) {
			got = append(got, b.step(tp, rule, key, labels(60)))
		}
		for _, p := range b.Params().All() {
			got = append(got, b.Params().Read(p)...)
		}
		if want == nil {
			want = got
		}
		for i := range want {
			if math.Float32bits(want[i]) != math.Float32bits(got[i]) {
				t.Fatalf("number %d after three steps is %v with 1 thread, %v with %d", i, want[i], got[i], threads)
			}
		}
	}
	if want[0] == want[1] {
		t.Errorf("the loss does not move: %v", want[:3])
	}
}

func TestStepDoesNotAllocate(t *testing.T) {
	onlyCPU(t)
	toy, _ := golden.Models(t)
	for name, c := range map[string]Config{
		"released": ordinary(func(*Config) {}), "paper": ordinary(func(c *Config) { c.Arch, c.Channel = Paper, 20 }),
		"d": ordinary(func(c *Config) { c.Variant = "d" }), "by call": ordinary(byCall),
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, c, 2, toy)
			b.gather(t, random(toy, 40))
			if c.Padding == model.PadCall {
				b.gatherCalls(t, random(toy, 40))
			}
			tp, rule := grad.NewTape(b.dev, true), optim.New(b.Params(), optim.Config{Rule: device.Adam, Rate: 1e-3})
			y := labels(40)
			b.step(tp, rule, 0, y)
			b.step(tp, rule, 1, y)
			if n := testing.AllocsPerRun(5, func() { b.step(tp, rule, 2, y) }); n != 0 {
				t.Errorf("a step allocates %v times", n)
			}
		})
	}
}

// byCall pads rows, which have room for every history, by call.
func byCall(c *Config) { c.Padding, c.Length = model.PadCall, 128 }

// gatherCalls gathers questions as positives and negatives, whose calls have rows of different lengths: negatives are
// about a node that has met nobody.
func (b *bench) gatherCalls(t *testing.T, qs []sample.Query) {
	t.Helper()
	b.batch.Positives = len(qs) / 2
	for i := len(qs) / 2; i < len(qs); i++ {
		qs[i].Dst = 30
	}
	sample.Gather(b.past(t), b.Plan(), qs, &b.batch)
	calls := b.batch.Calls
	if len(calls) != 2 || calls[0].Rows[1].Len == calls[1].Rows[1].Len || calls[0].Rows[0].Len == calls[0].Rows[1].Len {
		t.Fatal("calls and sides do not differ in their lengths")
	}
}

// TestCalls: positives and negatives that are padded by call are two calls, and answers depend on them, but not in the
// paper's equations, which see no padding and say the same with rows of a fixed length.
func TestCalls(t *testing.T) {
	onlyCPU(t)
	toy, _ := golden.Models(t)
	for name, change := range map[string]func(*Config){
		"released": func(*Config) {},
		"paper":    func(c *Config) { c.Arch, c.Channel = Paper, 20 },
	} {
		b := newBench(t, ordinary(func(c *Config) { byCall(c); change(c) }), 2, toy)
		qs := random(toy, 40)
		b.gatherCalls(t, qs)
		calls := b.read(b.Score(grad.NewTape(b.dev, false), &b.batch))
		b.batch = sample.Batch{}
		apart := wide(append(b.logits(t, qs[:20]), b.logits(t, qs[20:])...))
		modeltest.Near(t, name+": two calls", calls, apart, 0)
		whole := wide(b.logits(t, qs))
		if name == "paper" {
			modeltest.Near(t, "one call", whole, apart, 1e-5)
			fixed := newBench(t, ordinary(func(c *Config) { byCall(c); change(c); c.Padding = model.PadFixed }), 2, toy)
			modeltest.Near(t, "rows of a fixed length", wide(fixed.logits(t, qs)), apart, 1e-5)
			continue
		}
		far := 0.0
		for i := range whole {
			far = max(far, math.Abs(whole[i]-apart[i]))
		}
		if far < 1e-4 {
			t.Errorf("no answer depends on its call: they differ by %v", far)
		}
	}
}

func TestDropoutDrops(t *testing.T) {
	toy, _ := golden.Models(t)
	logits := func(rate float64, record bool, key uint64) string {
		b := newBench(t, ordinary(func(c *Config) { c.Dropout = rate }), 2, toy)
		tp := grad.NewTape(b.dev, record)
		tp.Reset(key)
		return fmt.Sprint(b.read(b.Score(tp, &b.batch)))
	}
	first, again, other := logits(0.5, true, 1), logits(0.5, true, 1), logits(0.5, true, 2)
	if first == other {
		t.Error("two keys drop the same")
	}
	if first != again {
		t.Error("one key drops differently")
	}
	if logits(0.5, false, 1) != logits(0, false, 1) {
		t.Error("evaluation drops")
	}
}

// TestNewerThanTheFeatures: events and nodes that came after the features were made have zero features.
func TestNewerThanTheFeatures(t *testing.T) {
	toy, _, _, c := goldenConfig(t)
	const nodes, edges = 7, 40
	zeroed, short := toy, toy
	zeroed.NodeFeatures.Data = cut(toy.NodeFeatures, nodes, toy.NodeFeatures.Rows)
	zeroed.EdgeFeatures.Data = cut(toy.EdgeFeatures, edges, toy.EdgeFeatures.Rows)
	short.NodeFeatures.Rows, short.NodeFeatures.Data = nodes, cut(toy.NodeFeatures, nodes, nodes)
	short.EdgeFeatures.Rows, short.EdgeFeatures.Data = edges, cut(toy.EdgeFeatures, edges, edges)
	want, got, whole := newBench(t, c, 2, zeroed), newBench(t, c, 2, short), newBench(t, c, 2, toy)
	qs := random(toy, 20)
	if a, b := fmt.Sprint(want.logits(t, qs)), fmt.Sprint(got.logits(t, qs)); a != b {
		t.Errorf("missing rows give %s, rows of zeros %s", b, a)
	}
	if a, b := fmt.Sprint(want.logits(t, qs)), fmt.Sprint(whole.logits(t, qs)); a == b {
		t.Error("the features make no difference")
	}
}

// cut keeps the first rows of m and makes a matrix of the given height of them.
func cut(m golden.Matrix, keep, rows int) []float32 {
	x := make([]float32, rows*m.Cols)
	copy(x, m.Data[:keep*m.Cols])
	return x
}
