package dygformer

import (
	"fmt"
	"math"
	"testing"

	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/model/modeltest"
	"github.com/dygmamba/dygmamba/models/internal/sequence"
	"github.com/dygmamba/dygmamba/sample"
	"github.com/dygmamba/dygmamba/tensor"
)

// mambaToy is variant G on the toy graph, with rows of different lengths and weights large enough for every part to
// matter.
func mambaToy(t *testing.T, set ...string) (*modeltest.Toy, *Model, *sample.Batch) {
	t.Helper()
	y := modeltest.NewToy(t, FactoryMamba, append([]string{"time_feat_dim=6", "channel_embedding_dim=4", "patch_size=2",
		"max_input_sequence_length=64", "node_feat_dim=8", "edge_feat_dim=8"}, set...)...)
	for _, p := range y.Params().All() {
		x := y.Params().Read(p)
		for i := range x {
			if p.Name != "0.time_encoder.w.weight" {
				x[i] += float32(0.4 * math.Sin(float64(7*i+3*len(p.Name))))
			}
		}
		if err := y.Params().Write(p, x); err != nil {
			t.Fatal(err)
		}
	}
	return y, y.Model.(*Model), y.Batch(y.Queries())
}

// TestMambaReadsTheSequence computes what follows the encoding, which DyGFormer's golden numbers hold, in float64: two
// blocks with residuals, where asked for a norm and a feed-forward after each, and the mean of each side.
func TestMambaReadsTheSequence(t *testing.T) {
	t.Run("bare", func(t *testing.T) { testReads(t) })
	t.Run("with feed-forward", func(t *testing.T) { testReads(t, "feed_forward=true") })
}

func testReads(t *testing.T, set ...string) {
	y, m, b := mambaToy(t, set...)
	tp := grad.NewTape(y.Device, false)
	defer tp.Close()
	m.input.load(tp, b)
	encoded := y.Read(sequence.SideBySide(tp, m.channels, &m.input.Positions)) // [n, P, 4d]
	e := m.Embed(tp, b)
	src, dst := b.Rows[0].Len/m.cfg.Patch, b.Rows[1].Len/m.cfg.Patch
	weights, width := y.Weights(), m.cfg.Width()
	var want [2][]float64
	for range b.Queries {
		seq := make([][]float64, src+dst)
		for j := range seq {
			seq[j], encoded = encoded[:width], encoded[width:]
		}
		for l := range m.cfg.Layers {
			out := modeltest.PlusRows(seq, weights.Mamba(fmt.Sprintf("0.mamba.%d", l), seq))
			for j, x := range out {
				if m.cfg.FeedForward {
					x = weights.Norm("0.channel_norm", x)
					fed := weights.FeedForward("0.channel_feedforward.ffn.0", "0.channel_feedforward.ffn.3", x)
					x = modeltest.Plus(x, fed)
				}
				seq[j] = x
			}
		}
		for side, part := range [2][][]float64{seq[:src], seq[src:]} {
			want[side] = append(want[side], weights.Linear("0.output_layer", modeltest.MeanRows(part))...)
		}
	}
	if src == dst {
		t.Error("both sides are equally long")
	}
	modeltest.Near(t, "z_u", y.Read(e.Src), want[0], 2e-6)
	modeltest.Near(t, "z_v", y.Read(e.Dst), want[1], 2e-6)
}

// TestMambaGradients moves each parameter along its gradient: the loss must change by the gradient's norm.
func TestMambaGradients(t *testing.T) {
	t.Run("bare", func(t *testing.T) { testGradients(t) })
	t.Run("with feed-forward", func(t *testing.T) { testGradients(t, "feed_forward=true") })
}

func testGradients(t *testing.T, set ...string) {
	y, m, b := mambaToy(t, set...)
	tp := grad.NewTape(y.Device, true)
	defer tp.Close()
	loss := func() *tensor.Tensor {
		tp.Reset(0)
		logits, _ := model.Logits(tp, m, m.Head(), b)
		return grad.BCE(tp, logits, tp.Floats([]float32{1, 0, 1, 0, 1, 0}, 6, 1))
	}
	m.Params().ZeroGrad()
	tp.Backward(loss())
	moved := 0
	for _, p := range m.Params().All() {
		if p.Name == "0.time_encoder.w.weight" { // its phases turn many times: no derivative to speak of
			continue
		}
		g, at := m.Params().ReadGrad(p), m.Params().Read(p)
		norm := 0.0
		for _, v := range g {
			norm += float64(v) * float64(v)
		}
		norm = math.Sqrt(norm)
		if norm < 1e-4 { // float32 cannot tell
			continue
		}
		moved++
		h := min(5e-4/norm, 0.05) // far enough to see the loss move
		value := func(sign float64) float64 {
			to := make([]float32, len(at))
			for i := range to {
				to[i] = at[i] + float32(sign*h*float64(g[i])/norm)
			}
			if err := m.Params().Write(p, to); err != nil {
				t.Fatal(err)
			}
			return y.Read(loss())[0]
		}
		got := (value(1) - value(-1)) / (2 * h)
		if err := m.Params().Write(p, at); err != nil {
			t.Fatal(err)
		}
		if math.Abs(got-norm) > 0.02*norm+2e-6/h {
			t.Errorf("along the gradient of %s the loss rises by %v, want %v", p.Name, got, norm)
		}
	}
	if moved < 20 {
		t.Errorf("only %d parameters have gradients", moved)
	}
}

// TestMambaSize: a block of width 4d = 200 has 136,200 numbers where a Transformer layer has many more.
func TestMambaSize(t *testing.T) {
	size := func(layer string, layers int) int {
		c := Default
		c.Layer, c.Layers = layer, layers
		return declare(c, 0).Params().Count()
	}
	if got := size(Mamba, 2) - size(Mamba, 1); got != 136200 {
		t.Errorf("a block has %d numbers, want 136200", got)
	}
	if size(Mamba, 1)-136200 != size(Transformer, 1)-(size(Transformer, 2)-size(Transformer, 1)) {
		t.Error("more than the layers differs")
	}
}
