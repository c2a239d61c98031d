package dygformer

import (
	"fmt"
	"math"
	"testing"

	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/internal/golden"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/model/modeltest"
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

// wide gives a parameter in float64.
func wide(y *modeltest.Toy, name string) []float64 {
	p := y.Params().Get(name)
	if p == nil {
		panic("no parameter " + name)
	}
	return y.Read(p.Tensor)
}

// apply is x·wᵀ, with bias b where there is one.
func apply(w, b, x []float64) []float64 {
	out := make([]float64, len(w)/len(x))
	for i := range out {
		if b != nil {
			out[i] = b[i]
		}
		for j, v := range x {
			out[i] += w[i*len(x)+j] * v
		}
	}
	return out
}

func silu(x float64) float64 { return x / (1 + math.Exp(-x)) }

// mamba64 is a Mamba block of one sequence in float64.
func mamba64(y *modeltest.Toy, name string, seq [][]float64) (out [][]float64) {
	width := len(seq[0])
	rank := (width + 15) / 16
	w := func(part string) []float64 { return wide(y, name+part) }
	in, conv, convBias, proj := w("in_proj.weight"), w("conv1d.weight"), w("conv1d.bias"), w("x_proj.weight")
	dt, dtBias, aLog, skip, last := w("dt_proj.weight"), w("dt_proj.bias"), w("A_log"), w("D"), w("out_proj.weight")
	state := make([]float64, width*stateDim)
	var xz [][]float64
	for t, x := range seq {
		xz = append(xz, apply(in, nil, x))
		u, row := make([]float64, width), make([]float64, width)
		for c := range u {
			u[c] = convBias[c]
			for j := range convWidth {
				if at := t - convWidth + 1 + j; at >= 0 {
					u[c] += conv[c*convWidth+j] * xz[at][c]
				}
			}
			u[c] = silu(u[c])
		}
		parts := apply(proj, nil, u)
		b, read := parts[rank:rank+stateDim], parts[rank+stateDim:]
		for c, delta := range apply(dt, dtBias, parts[:rank]) {
			delta = math.Log1p(math.Exp(delta))
			for i := range stateDim {
				s := &state[c*stateDim+i]
				*s = math.Exp(-delta*math.Exp(aLog[c*stateDim+i]))**s + delta*b[i]*u[c]
				row[c] += read[i] * *s
			}
			row[c] = (row[c] + skip[c]*u[c]) * silu(xz[t][width+c])
		}
		out = append(out, apply(last, nil, row))
	}
	return out
}

// TestMambaReadsTheSequence computes what follows the encoding, which DyGFormer's golden numbers hold, in float64: two
// blocks with residuals, and the mean of each side.
func TestMambaReadsTheSequence(t *testing.T) {
	t.Run("as it is", func(t *testing.T) { testReads(t) })
	t.Run("normalised", func(t *testing.T) { testReads(t, "pre_norm=true") })
}

func testReads(t *testing.T, set ...string) {
	y, m, b := mambaToy(t, set...)
	tp := grad.NewTape(y.Device, false)
	defer tp.Close()
	m.input.load(tp, b)
	encoded := y.Read(m.encode(tp)) // [n, P, 4d]
	e := m.Embed(tp, b)
	src, dst := b.Rows[0].Len/m.cfg.Patch, b.Rows[1].Len/m.cfg.Patch
	width := m.cfg.Width()
	var want [2][]float64
	for range b.Queries {
		seq := make([][]float64, src+dst)
		for j := range seq {
			seq[j], encoded = encoded[:width], encoded[width:]
		}
		for l := range m.cfg.Layers {
			read := seq
			if m.cfg.PreNorm {
				read = norm64(y, fmt.Sprintf("0.norm.%d.", l), seq)
			}
			for j, x := range mamba64(y, fmt.Sprintf("0.mamba.%d.", l), read) {
				for c := range x {
					seq[j][c] += x[c]
				}
			}
		}
		for side, part := range [2][][]float64{seq[:src], seq[src:]} {
			mean := make([]float64, width)
			for _, x := range part {
				for c, v := range x {
					mean[c] += v / float64(len(part))
				}
			}
			out := apply(wide(y, "0.output_layer.weight"), wide(y, "0.output_layer.bias"), mean)
			want[side] = append(want[side], out...)
		}
	}
	if src == dst {
		t.Error("both sides are equally long")
	}
	modeltest.Near(t, "z_u", y.Read(e.Src), want[0], 2e-6)
	modeltest.Near(t, "z_v", y.Read(e.Dst), want[1], 2e-6)
}

// norm64 makes each step's mean 0 and its variance 1, and scales and shifts it.
func norm64(y *modeltest.Toy, prefix string, seq [][]float64) [][]float64 {
	weight, bias := wide(y, prefix+"weight"), wide(y, prefix+"bias")
	out := make([][]float64, len(seq))
	for j, x := range seq {
		mean, square := 0.0, 0.0
		for _, v := range x {
			mean += v / float64(len(x))
		}
		for _, v := range x {
			square += (v - mean) * (v - mean) / float64(len(x))
		}
		out[j] = make([]float64, len(x))
		for c, v := range x {
			out[j][c] = (v-mean)/math.Sqrt(square+1e-5)*weight[c] + bias[c]
		}
	}
	return out
}

// TestMambaGradients moves each parameter along its gradient: the loss must change by the gradient's norm.
func TestMambaGradients(t *testing.T) {
	t.Run("as it is", func(t *testing.T) { testGradients(t) })
	t.Run("normalised", func(t *testing.T) { testGradients(t, "pre_norm=true") })
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
	m.params.ZeroGrad()
	tp.Backward(loss())
	moved := 0
	for _, p := range m.params.All() {
		if p.Name == "0.time_encoder.w.weight" { // its phases turn many times: no derivative to speak of
			continue
		}
		g, at := m.params.ReadGrad(p), m.params.Read(p)
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
			if err := m.params.Write(p, to); err != nil {
				t.Fatal(err)
			}
			return y.Read(loss())[0]
		}
		got := (value(1) - value(-1)) / (2 * h)
		if err := m.params.Write(p, at); err != nil {
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
	size := func(layer string, layers int) (n int) {
		c := Default
		c.Layer, c.Layers = layer, layers
		for _, s := range Table(c) {
			n += golden.Param{Shape: s.Dims}.Len()
		}
		return n
	}
	if got := size(Mamba, 2) - size(Mamba, 1); got != 136200 {
		t.Errorf("a block has %d numbers, want 136200", got)
	}
	if size(Mamba, 1)-136200 != size(Transformer, 1)-(size(Transformer, 2)-size(Transformer, 1)) {
		t.Error("more than the layers differs")
	}
}
