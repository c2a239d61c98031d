package nn_test

import (
	"math"
	"slices"
	"testing"

	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/device/cpu"
	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/internal/optim"
	"github.com/dygmamba/dygmamba/nn"
	"github.com/dygmamba/dygmamba/tensor"
)

// net is a small model with one of everything: time codes, tables, Mamba, norms, attention, cells, pooling and a
// predictor.
type net struct {
	params *nn.Params
	opt    *optim.Optimizer
	tape   *grad.Tape

	time   nn.TimeEncoder
	table  *tensor.Tensor
	reduce nn.Linear
	mamba  *nn.Mamba
	norm   nn.LayerNorm
	ffn    nn.FeedForward
	layer  *nn.Transformer
	gru    nn.GRU
	lstm   nn.BiLSTM
	weight nn.Linear
	merge  nn.Merge

	delta, labels, one []float32
	mask, rows         []int32
	first, rest        []int32   // steps
	here, gaps         []float32 // which of the rest count, and which do not
	tree               nn.Tree   // of two levels: the first step of every sequence, and all others going on from there
}

const (
	batch, steps, width = 30, 7, 20
	timeDim, states     = 10, 16
)

// still tells parameters that need not move: the backward direction of BiLSTM.Ends starts from a state of zeros and
// takes one step, and what is added to all scores of a softmax changes it by rounding at most.
func still(name string) bool {
	return name == "0.lstm.weight_hh_l0_reverse" || name == "0.weightagg.bias"
}

func newNet(dev device.Device) *net {
	n := &net{params: nn.NewParams(7), tape: grad.NewTape(dev, true), one: []float32{1, 2, 3}}
	s := n.params.In("0")
	n.time = nn.NewTimeEncoder(s.In("time_encoder"), timeDim)
	n.table = s.Add("table", nn.Normal, 9, width)
	n.reduce = nn.NewLinear(s.In("reduce_layer"), timeDim+width+3, width)
	n.mamba = nn.NewMamba(s.In("mamba.0"), width, states, 4)
	n.norm = nn.NewLayerNorm(s.In("channel_norm"), width)
	n.ffn = nn.NewFeedForward(s.In("channel_feedforward"), "ffn.0", "ffn.3", width, 4*width, width, device.GELU, 0.1)
	n.layer = nn.NewTransformer(s.In("transformers.0"), width, 2, device.ReLU, 0.1)
	n.gru = nn.NewGRU(s.In("gru"), width, width)
	n.lstm = nn.NewBiLSTM(s.In("lstm"), width, 5)
	n.weight = nn.NewLinear(s.In("weightagg"), width, 1)
	n.merge = nn.NewMerge(n.params.In("1"), 2*width+10, width, 1)
	n.params.Place(dev)
	n.opt = optim.New(n.params, optim.Config{Rule: device.Adam, Rate: 1e-3})
	for i := range batch * steps {
		n.delta = append(n.delta, float32(1e5*(1+math.Sin(float64(i)))))
		n.mask = append(n.mask, int32(min(i%5, 1)))
		n.rows = append(n.rows, int32(i%9), int32(i*i%10)-1)
	}
	for i := range batch {
		n.labels = append(n.labels, float32(i%2))
		n.first = append(n.first, int32(i*steps))
		for k := range steps - 1 {
			n.rest = append(n.rest, int32(i*steps+k+1))
			n.here, n.gaps = append(n.here, float32((i+k)%2)), append(n.gaps, float32(1-(i+k)%2))
		}
	}
	n.tree = nn.Tree{
		Levels: make([]int, 2), Fan: steps - 1, Steps: make([]*tensor.Tensor, 1), Gaps: make([]*tensor.Tensor, 1),
	}
	return n
}

// score gives the first b queries' logits, [b, 1].
func (n *net) score(tp *grad.Tape, b int) *tensor.Tensor {
	delta := tp.Floats(n.delta[:b*steps], b, steps)
	mask, rows := tp.Ints(n.mask[:b*steps]), tp.Ints(n.rows[:2*b*steps])
	first, rest := tp.Ints(n.first[:b]), tp.Ints(n.rest[:b*(steps-1)])
	n.tree.Levels[0], n.tree.Levels[1] = first.Len, rest.Len
	n.tree.Steps[0] = tp.Floats(n.here[:rest.Len], b, steps-1)
	n.tree.Gaps[0] = tp.Floats(n.gaps[:rest.Len], b, steps-1)
	one := tp.Floats(n.one, 3)

	code := n.time.Forward(tp, delta, mask)                                      // [B, L, dT]
	seen := grad.Reshape(tp, grad.Gather(tp, n.table, rows, 2), b, steps, width) // [B, L, D]
	h := n.reduce.Join(tp, device.Identity, code, one, seen)                     // [B, L, D]
	h = n.norm.Add(tp, n.mamba.Forward(tp, h), h)
	h = grad.Add(tp, h, n.ffn.Forward(tp, h))
	h = n.layer.PostNorm(tp, h, h, mask)
	h = n.layer.PreNorm(tp, h)
	a := grad.Reshape(tp, n.weight.Forward(tp, h), b, steps)       // [B, L]
	sum := grad.Pool(tp, grad.Softmax(tp, a, device.Ints{}, 0), h) // [B, D]
	mean := n.gru.Forward(tp, sum, grad.MeanSteps(tp, h))          // [B, D]
	flat := grad.Reshape(tp, h, b*steps, width)                    // [B·L, D]
	flat = grad.Stack(tp, grad.Gather(tp, flat, first, 1), grad.Gather(tp, flat, rest, 1))
	forth, back := n.lstm.Ends(tp, &n.tree, grad.Part{X: flat}) // [B·(L−1), 5] each
	forth = grad.MeanSteps(tp, grad.Reshape(tp, forth, b, steps-1, 5))
	back = grad.MeanSteps(tp, grad.Reshape(tp, back, b, steps-1, 5))
	return n.merge.Forward(tp, sum, mean, forth, back) // [B, 1]
}

// step trains once and returns the loss.
func (n *net) step(number int) *tensor.Tensor {
	tp := n.tape
	tp.Reset(grad.Key(7, uint64(number)))
	n.params.ZeroGrad()
	labels := tp.Floats(n.labels, batch)
	loss := grad.BCE(tp, n.score(tp, batch), labels)
	tp.Backward(loss)
	n.opt.Step()
	return loss
}

func (n *net) weights() []float32 {
	data, _ := n.params.Flat()
	out := make([]float32, data.Len)
	n.params.Device().Read(out, data)
	return out
}

// TestThreads trains with different numbers of threads and wants the same bits.
func TestThreads(t *testing.T) {
	for _, plain := range []bool{false, true} {
		var want []float32
		for _, threads := range []int{1, 2, 3, 16} {
			dev := cpu.New(cpu.Options{Threads: threads, Plain: plain})
			n := newNet(dev)
			for i := range 3 {
				n.step(i)
			}
			got := n.weights()
			dev.Close()
			if want == nil {
				want = got
			}
			for i := range got {
				if math.Float32bits(got[i]) != math.Float32bits(want[i]) {
					t.Fatalf("plain %v: with %d threads weight %d is %v, with one %v",
						plain, threads, i, got[i], want[i])
				}
			}
		}
	}
}

// TestRowsAlone wants the same bits for a query, whatever else is in its batch.
func TestRowsAlone(t *testing.T) {
	for _, plain := range []bool{false, true} {
		dev := cpu.New(cpu.Options{Threads: 2, Plain: plain})
		defer dev.Close()
		n := newNet(dev)
		tp := grad.NewTape(dev, false)
		all := read(dev, n.score(tp, batch))
		for _, b := range []int{1, 2, 7, 29} {
			tp.Reset(0)
			for i, v := range read(dev, n.score(tp, b)) {
				if math.Float32bits(v) != math.Float32bits(all[i]) {
					t.Fatalf("plain %v: query %d scores %v in a batch of %d, %v in one of %d",
						plain, i, v, b, all[i], batch)
				}
			}
		}
	}
}

// TestAllocations wants a training step that leaves the Go heap alone.
func TestAllocations(t *testing.T) {
	dev := cpu.New(cpu.Options{Threads: 2})
	defer dev.Close()
	n := newNet(dev)
	number := 0
	for range 2 {
		n.step(number)
	}
	if a := testing.AllocsPerRun(5, func() { number++; n.step(number) }); a != 0 {
		t.Errorf("a training step makes %v heap allocations, want none", a)
	}
}

// TestLearns trains until the loss is small, so that every part must pass its gradient on.
func TestLearns(t *testing.T) {
	dev := cpu.New(cpu.Options{Threads: 2})
	defer dev.Close()
	n := newNet(dev)
	n.opt = optim.New(n.params, optim.Config{Rule: device.Adam, Rate: 3e-3})
	before := n.weights()
	loss := make([]float32, 1)
	first := float32(0)
	for i := range 150 {
		dev.Read(loss, n.step(i).Data)
		if i == 0 {
			first = loss[0]
		}
	}
	if !(loss[0] < first/2) {
		t.Errorf("the loss went from %v to %v, want less than half", first, loss[0])
	}
	after := n.weights()
	for _, q := range n.params.All() {
		if slices.Equal(before[q.Lo:q.Hi], after[q.Lo:q.Hi]) && !still(q.Name) {
			t.Errorf("%s did not move", q.Name)
		}
	}
}

// TestFreeze keeps frozen parameters where they are and out of the count.
func TestFreeze(t *testing.T) {
	dev := cpu.New(cpu.Options{Threads: 1})
	defer dev.Close()
	n := newNet(dev)
	total := n.params.Count()
	n.params.Freeze("0.time_encoder.", "0.mamba.0.A_log")
	if got, want := n.params.Count(), total-2*timeDim-width*states; got != want {
		t.Errorf("%d trainable numbers, want %d", got, want)
	}
	before := n.weights()
	n.step(0)
	after := n.weights()
	for _, q := range n.params.All() {
		if same := slices.Equal(before[q.Lo:q.Hi], after[q.Lo:q.Hi]); same != q.Frozen && !still(q.Name) {
			t.Errorf("%s: frozen %v, moved %v", q.Name, q.Frozen, !same)
		}
	}
}
