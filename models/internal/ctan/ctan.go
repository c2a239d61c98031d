// Package ctan is CTAN, the continuous-time anti-symmetric deep graph network (Gravina et al., ICML 2024).
//
// What is remembered of a node is the state of a differential equation on the graph of latest events. A query lets it
// run for a few steps: the states of the queries' nodes, and of all that can reach them in that many steps, move by
// an anti-symmetric weight, which neither forgets nor explodes, and by what their neighbours tell. Where the nodes of
// an event have arrived is what is remembered of them afterwards.
package ctan

import (
	"fmt"
	"math"
	"strings"

	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/internal/memory"
	"github.com/dygmamba/dygmamba/internal/pcg64"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/nn"
	"github.com/dygmamba/dygmamba/sample"
	"github.com/dygmamba/dygmamba/tensor"
)

// Factory builds CTAN.
var Factory = model.Make(model.Kind[Config]{
	Title:   "CTAN",
	Summary: "states that flow over the graph of latest events without forgetting (CTAN)",
	Default: Default, Presets: presets, Prefer: preferred, Shapes: fromTensors,
	// Whole numbers are seconds in published data; in others a unit may be a day.
	Imported:  func(c *Config) { c.IntegerTimes = false },
	Fit:       func(c *Config, d model.Data) { c.EdgeDim = d.EdgeDim },
	Remembers: true,
	Ignore:    func(name string) bool { return strings.HasPrefix(name, "memory.") }, // of the official program
	Lighter:   "fewer num_iters or num_neighbors, or a smaller memory_dim",
	Declare:   declare,
})

// Model is CTAN on a device, with its memory. One goroutine at a time may use it.
type Model struct {
	model.Base // its node features are random numbers, [nodes, 1]
	cfg        Config

	encode nn.Linear        // of memory and feature
	layer  nn.AntiSymmetric // the same for all steps
	time   nn.TimeEncoder

	numbers *pcg64.Source
	damping *tensor.Tensor // [width, width]: γ·I

	state  *nn.State
	memory *nn.Table // [nodes, width]: states
	ring   ring
	shift  shift

	graph  graph // of the last batch that was asked about
	input  input // on the device
	commit []int32
}

// readout is the link predictor: w·relu(W_s·z_s + b_s + W_d·z_d + b_d) + b.
type readout struct{ src, dst, final nn.Linear }

// Logit scores the two nodes together.
func (h readout) Logit(tp *grad.Tape, e model.Embedding) *tensor.Tensor {
	s := grad.Add(tp, h.src.Forward(tp, e.Src), h.dst.Forward(tp, e.Dst)) // [n, hidden]
	return h.final.Forward(tp, grad.Apply(tp, device.ReLU, s))            // [n, 1]
}

// Open makes an empty memory.
func (m *Model) Open(env model.Env) (err error) {
	c, rows := m.cfg, max(1, env.NumNodes)
	need := 4 * (float64(m.Params().Count()) + float64(rows)*float64(c.Width+4*c.Neighbors))
	if free := float64(memory.Available()); free > 0 && need > free {
		return fmt.Errorf("weights and memory of %d nodes take %.1f GiB, and %.1f GiB are free",
			rows, need/(1<<30), free/(1<<30))
	}
	if m.shift, err = newShift(env, c.IntegerTimes); err != nil {
		return err
	}
	env.Node.Data, env.Timeline = nil, nil // the data's own are not looked at
	if err := m.OpenFeatures(env, nodeDim, c.EdgeDim); err != nil {
		return err
	}
	m.state = nn.NewState(env.Device, rows)
	m.memory = m.state.Add("memory", c.Width)
	m.ring = newRing(rows, c.Neighbors, m.shift.Start)
	m.numbers = pcg64.New(9) // the official program's seed, whatever the run's
	m.Node = nn.NewFeatures(env.Device, []float32{0}, 1, nodeDim)
	m.drawFeatures()
	m.damping = damping(env.Device, c)
	return nil
}

// damping uploads γ·I.
func damping(dev device.Device, c Config) *tensor.Tensor {
	host := make([]float32, c.Width*c.Width)
	for i := range c.Width {
		host[i*(c.Width+1)] = float32(c.Gamma)
	}
	t := new(tensor.Tensor)
	t.Set(dev.Alloc(len(host)), c.Width, c.Width)
	dev.Write(t.Data, host)
	return t
}

// drawFeatures gives nodes that have none their number: the first to node 1, and so on.
func (m *Model) drawFeatures() {
	fresh := make([]float32, m.state.Rows()-m.Node.Rows())
	for i := range fresh {
		fresh[i] = m.numbers.Float32()
	}
	m.Node.Grow(fresh, len(fresh))
}

// declare names the parameters as the official program does, in its order.
func declare(c Config, seed uint64) model.Declared {
	m := &Model{cfg: c, Base: model.NewBase(seed)}
	s := m.Params().In("gnn")
	m.encode = nn.NewLinear(s.In("enc_x"), c.Width+nodeDim, c.Width)
	m.layer = nn.NewAntiSymmetric(s.In("aconv"), c.Width, c.EdgeDim+c.TimeDim)
	time := nn.NewLinear(s.In("time_enc.lin"), 1, c.TimeDim)
	m.time = nn.TimeEncoder(time)
	s = m.Params().In("readout")
	m.SetHead(readout{
		src:   nn.NewLinear(s.In("lin_src"), c.Width, c.Hidden()),
		dst:   nn.NewLinear(s.In("lin_dst"), c.Width, c.Hidden()),
		final: nn.NewLinear(s.In("lin_final"), c.Hidden(), 1),
	})
	return m
}

// Plan asks for nothing but the queries: the model keeps its own neighbours.
func (m *Model) Plan() sample.Plan { return sample.Plan{} }

// Close gives all memory back.
func (m *Model) Close() {
	m.Base.Close()
	m.state.Close()
	m.Params().Device().Free(m.damping.Data)
}

// Widths is how wide embeddings are; nothing is said of pairs.
func (m *Model) Widths() (node int, pair bool) { return m.cfg.Width, false }

// Embed lets the states of the subgraph around all queries flow, and reads off where the queries' nodes have arrived.
// V is the number of its nodes, K that of the latest events kept of each. A node's state depends on the queries it
// stands among in nothing: whatever can reach it in this many steps is in the subgraph.
func (m *Model) Embed(tp *grad.Tape, b *sample.Batch) model.Embedding {
	g := m.look(b)
	in := m.load(tp, g)
	x := m.start(tp, in)      // [V, width]
	a := m.attributes(tp, in) // [V·K, width]
	weight := m.damped(tp)    // [width, width]
	for range m.cfg.Iters {
		x = m.step(tp, in, weight, a, x) // [V, width]
	}
	if m.cfg.FinalTanh {
		x = grad.Apply(tp, device.Tanh, x)
	}
	return model.Embedding{Src: grad.Gather(tp, x, in.src, 1), Dst: grad.Gather(tp, x, in.dst, 1)} // [n, width] each
}

// start is what the flow begins with: W_e·[memory ‖ feature] + b.
func (m *Model) start(tp *grad.Tape, in *input) *tensor.Tensor {
	var parts [2]grad.Part
	remembered := grad.Gather(tp, m.memory.Tensor, in.nodes, 1) // [V, width]
	list := append(parts[:0], grad.Part{X: remembered})
	list = m.Node.Part(tp, list, in.features, m.cfg.Width)
	return grad.LinearSum(tp, m.encode.W, m.encode.B, device.Identity, list...) // [V, width]
}

// attributes is what an event adds to what a neighbour says: W_a·[event feature ‖ time code], the same in all steps.
func (m *Model) attributes(tp *grad.Tape, in *input) *tensor.Tensor {
	var parts [2]grad.Part
	list := m.Edge.Part(tp, parts[:0], in.edges, 0)
	code := m.time.Forward(tp, in.delta, device.Ints{}) // [V·K, TimeDim]
	list = append(list, grad.Part{X: code, Lo: m.cfg.EdgeDim})
	return grad.LinearSum(tp, m.layer.Phi.Edge.W, nil, device.Identity, list...) // [V·K, width]
}

// damped is W − Wᵀ − γI: all its eigenvalues lie on −γ + iℝ.
func (m *Model) damped(tp *grad.Tape) *tensor.Tensor {
	w := m.layer.W
	return grad.Sub(tp, grad.Sub(tp, w, grad.Transpose(tp, w)), m.damping)
}

// step is x + ε·tanh((W − Wᵀ − γI)·x + Φ(x) + b).
func (m *Model) step(tp *grad.Tape, in *input, weight, a, x *tensor.Tensor) *tensor.Tensor {
	move := grad.Linear(tp, x, weight, m.layer.B, device.Identity) // [V, width]
	move = grad.Add(tp, move, m.gather(tp, in, a, x))
	move = grad.Apply(tp, device.Tanh, move)
	return grad.Add(tp, x, grad.Scale(tp, move, float32(m.cfg.Epsilon)))
}

// gather is Φ: what the neighbours of each node tell it, weighed by attention to them and their events; 0 for a node
// without any.
func (m *Model) gather(tp *grad.Tape, in *input, a, x *tensor.Tensor) *tensor.Tensor {
	phi, nodes, each, width := &m.layer.Phi, x.Dim(0), m.cfg.Neighbors, m.cfg.Width
	tell := func(l nn.Linear) *tensor.Tensor {
		y := grad.Gather(tp, l.Forward(tp, x), in.neighbors, 1)         // [V·K, width]
		return grad.Reshape(tp, grad.Add(tp, y, a), nodes, each, width) // [V, K, width]
	}
	q := grad.Reshape(tp, phi.Query.Forward(tp, x), nodes, 1, width) // [V, 1, width]
	k, v := tell(phi.Key), tell(phi.Value)
	y := grad.Attention(tp, q, k, v, grad.Heads{Heads: 1, Mask: in.mask, Fill: float32(math.Inf(-1))}) // [V, 1, width]
	return grad.Reshape(tp, y, nodes, width)
}
