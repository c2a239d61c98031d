package cawn

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/internal/golden"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/model/modeltest"
	"github.com/dygmamba/dygmamba/sample"
)

// twin computes CAWN in float64 from the list of events, walk by walk, as it is described: nothing is shared between
// walks, and nothing is left out.
type twin struct {
	Config
	toy golden.Toy
	w   modeltest.Plain // weights by name, without "0." or "1." in front
}

// step of a walk.
type step struct {
	node, edge int32
	time       float64
}

func newTwin(y *modeltest.Toy) *twin {
	m := &twin{Config: y.Model.(*Model).cfg, toy: y.Graph, w: modeltest.Plain{}}
	for name, values := range y.Weights() {
		m.w[name[2:]] = values
	}
	return m
}

// walksFrom lists all walks from a node: those who met last are last, padding goes on to padding.
func (m *twin) walksFrom(first step) [][]step {
	walks := [][]step{{first}}
	for range m.Length {
		var longer [][]step
		for _, w := range walks {
			for _, s := range m.before(w[len(w)-1]) {
				longer = append(longer, append(slices.Clone(w), s))
			}
		}
		walks = longer
	}
	return walks
}

func (m *twin) before(at step) []step {
	met := make([]step, m.Neighbors)
	for i := range m.toy.Src {
		other := map[int32]int32{m.toy.Src[i]: m.toy.Dst[i], m.toy.Dst[i]: m.toy.Src[i]}[at.node]
		if other == 0 || m.toy.Time[i] >= at.time {
			continue
		}
		time := m.toy.Time[i]
		if !m.ExactTimes {
			time = float64(float32(time))
		}
		met = append(met[1:], step{other, m.toy.Edge[i], time})
	}
	return met
}

// embed is both embeddings of a query.
func (m *twin) embed(q sample.Query) [2][]float64 {
	var walks [2][][]step
	for side, n := range []int32{q.Src, q.Dst} {
		walks[side] = m.walksFrom(step{n, 0, q.Time})
	}
	var z [2][]float64
	for side := range walks {
		var tokens [][]float64
		for _, walk := range walks[side] {
			valid := slices.DeleteFunc(slices.Clone(walk), func(s step) bool { return s.node == 0 })
			var all, places [][]float64
			for _, s := range valid {
				place := m.place(walks, s.node)
				all = append(all, slices.Concat(m.feature(m.toy.NodeFeatures, s.node, m.NodeDim), m.code(q.Time-s.time),
					m.feature(m.toy.EdgeFeatures, s.edge, m.EdgeDim), place))
				places = append(places, place)
			}
			last := slices.Concat(m.bilstm("walk_encoder.feature_encoder.", all),
				m.bilstm("walk_encoder.position_encoder.", places))
			tokens = append(tokens, m.w.Linear("walk_encoder.projection_layers.0", last))
		}
		tokens = m.transform(tokens)
		mean := make([]float64, len(tokens[0]))
		for _, x := range tokens {
			for k := range x {
				mean[k] += x[k] / float64(len(tokens))
			}
		}
		z[side] = m.w.Linear("walk_encoder.projection_layers.1", mean)
	}
	return z
}

func (m *twin) logit(q sample.Query) float64 {
	z := m.embed(q)
	return m.w.Linear("fc2", modeltest.Each(m.w.Linear("fc1", slices.Concat(z[0], z[1])), modeltest.ReLU))[0]
}

// place encodes in which share of each side's walks the node is the k-th step.
func (m *twin) place(walks [2][][]step, node int32) []float64 {
	sum := make([]float64, m.PositionDim)
	for _, list := range walks {
		share := make([]float64, m.Length+1)
		for _, walk := range list {
			for k, s := range walk {
				if s.node == node {
					share[k] += 1 / float64(len(list))
				}
			}
		}
		hidden := modeltest.Each(m.w.Linear("position_encoder.position_encode_layer.0", share), modeltest.ReLU)
		for k, x := range m.w.Linear("position_encoder.position_encode_layer.2", hidden) {
			sum[k] += x
		}
	}
	return sum
}

func (m *twin) feature(f golden.Matrix, row int32, width int) []float64 {
	x := make([]float64, width)
	for k := range f.Cols {
		x[k] = float64(f.Data[int(row)*f.Cols+k])
	}
	return x
}

func (m *twin) code(delta float64) []float64 {
	x := make([]float64, m.TimeDim)
	for k := range x {
		x[k] = math.Cos(float64(float32(delta))*m.w["time_encoder.w.weight"][k] + m.w["time_encoder.w.bias"][k])
	}
	return x
}

// bilstm is the output of both directions at the last step.
func (m *twin) bilstm(name string, xs [][]float64) []float64 {
	forth, back := m.lstm(name, "", xs), slices.Clone(xs)
	slices.Reverse(back)
	return slices.Concat(forth[len(forth)-1], m.lstm(name, "_reverse", back)[0])
}

func (m *twin) lstm(name, suffix string, xs [][]float64) (states [][]float64) {
	name += "bilstm_encoder."
	in, state := m.w[name+"weight_ih_l0"+suffix], m.w[name+"weight_hh_l0"+suffix]
	inBias, stateBias := m.w[name+"bias_ih_l0"+suffix], m.w[name+"bias_hh_l0"+suffix]
	n := len(inBias) / 4
	h, c := make([]float64, n), make([]float64, n)
	sigmoid := func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
	for _, x := range xs {
		gates := make([]float64, 4*n)
		for g := range gates {
			gates[g] = inBias[g] + stateBias[g] + modeltest.Dot(in[g*len(x):], x) + modeltest.Dot(state[g*n:], h)
		}
		next := make([]float64, n)
		for k := range n {
			c[k] = sigmoid(gates[n+k])*c[k] + sigmoid(gates[k])*math.Tanh(gates[2*n+k])
			next[k] = sigmoid(gates[3*n+k]) * math.Tanh(c[k])
		}
		h = next
		states = append(states, h)
	}
	return states
}

// transform is the post-norm layer.
func (m *twin) transform(xs [][]float64) [][]float64 {
	const name = "walk_encoder.transformer_encoder."
	a := len(xs[0])
	in, bias := m.w[name+"multi_head_attention.in_proj_weight"], m.w[name+"multi_head_attention.in_proj_bias"]
	project := func(part int, x []float64) []float64 {
		return matrix(in[part*a*a:(part+1)*a*a], bias[part*a:(part+1)*a], x)
	}
	var ys [][]float64
	for _, x := range xs {
		q, att := project(0, x), make([]float64, a)
		for h := range m.Heads {
			lo, hi := h*a/m.Heads, (h+1)*a/m.Heads
			total := 0.0
			for _, key := range xs {
				k, v := project(1, key), project(2, key)
				e := math.Exp(modeltest.Dot(q[lo:hi], k[lo:hi]) / math.Sqrt(float64(hi-lo)))
				total += e
				for c := lo; c < hi; c++ {
					att[c] += e * v[c]
				}
			}
			for c := lo; c < hi; c++ {
				att[c] /= total
			}
		}
		y := m.w.Norm(name+"norm_layers.0", modeltest.Plus(x, m.w.Linear(name+"multi_head_attention.out_proj", att)))
		hidden := modeltest.Each(m.w.Linear(name+"linear_layers.0", y), modeltest.ReLU)
		ys = append(ys, m.w.Norm(name+"norm_layers.1", modeltest.Plus(y, m.w.Linear(name+"linear_layers.1", hidden))))
	}
	return ys
}

func matrix(w, b, x []float64) []float64 {
	y := slices.Clone(b)
	for k := range y {
		y[k] += modeltest.Dot(w[k*len(x):], x)
	}
	return y
}

func TestTwinIsTheReleasedProgram(t *testing.T) {
	y := modeltest.NewToy(t, Factory, toy...)
	_, models := golden.Models(t)
	m := newTwin(y)
	var z [2][]float64
	for _, q := range y.Queries() {
		e := m.embed(q)
		z[0], z[1] = append(z[0], e[0]...), append(z[1], e[1]...)
	}
	for side, want := range models["CAWN_recent_sampler"].Outputs {
		modeltest.Near(t, fmt.Sprint("side ", side), z[side], want, 2e-5)
	}
}

// TestLongWalks compares embeddings and, along some directions, the slope of the loss with the twin's.
func TestLongWalks(t *testing.T) {
	for _, settings := range [][]string{
		{"walk_length=2"}, {"walk_length=2", "exact_times=true", "node_feat_dim=11"},
		{"walk_length=3", "num_neighbors=2", "position_feat_dim=5", "edge_feat_dim=9"},
	} {
		t.Run(strings.Join(settings, " "), func(t *testing.T) {
			y := modeltest.NewToy(t, Factory, with(settings...)...)
			m := newTwin(y)
			qs := append(y.Random(6), sample.Query{Src: 1, Dst: 6, Time: -5}) // the last knows nobody
			tp := grad.NewTape(y.Device, true)
			defer tp.Close()
			e := y.Embed(tp, y.Batch(qs))
			var src, dst []float64
			for _, q := range qs {
				z := m.embed(q)
				src, dst = append(src, z[0]...), append(dst, z[1]...)
			}
			modeltest.Near(t, "sources", y.Read(e.Src), src, 2e-5)
			modeltest.Near(t, "destinations", y.Read(e.Dst), dst, 2e-5)
			compareSlopes(t, y, m, qs)
		})
	}
}

// compareSlopes moves each parameter's twin a little, forth and back, along a random direction.
func compareSlopes(t *testing.T, y *modeltest.Toy, m *twin, qs []sample.Query) {
	t.Helper()
	labels := make([]float32, len(qs))
	for i := range labels {
		labels[i] = float32(i % 2)
	}
	loss := func() (sum float64) {
		for i, q := range qs {
			x := m.logit(q)
			sum += (math.Log1p(math.Exp(x)) - float64(labels[i])*x) / float64(len(qs))
		}
		return sum
	}
	tp := grad.NewTape(y.Device, true)
	defer tp.Close()
	logits, _ := model.Logits(tp, y.Model, y.Head(), y.Batch(qs))
	y.Params().ZeroGrad()
	tp.Backward(grad.BCE(tp, logits, tp.Floats(labels, len(labels), 1)))
	r := rand.New(rand.NewPCG(3, 4))
	for _, p := range y.Params().All() {
		if strings.HasPrefix(p.Name, "0.time_encoder.") {
			continue // times are so long that no move is small
		}
		const small = 1e-7
		gradient, w := y.Params().ReadGrad(p), m.w[p.Name[2:]]
		kept, want, got, norm := slices.Clone(w), 0.0, 0.0, 0.0
		way := make([]float64, len(w))
		for k := range way {
			way[k] = r.NormFloat64()
			got += way[k] * float64(gradient[k])
			norm += float64(gradient[k]) * float64(gradient[k])
		}
		for _, sign := range []float64{1, -1} {
			for k := range w {
				w[k] = kept[k] + sign*small*way[k]
			}
			want += sign * loss() / (2 * small)
		}
		copy(w, kept)
		if off := math.Abs(got - want); !(off <= 1e-3*math.Sqrt(norm)+1e-8) {
			t.Errorf("%s: the loss changes by %v along a direction, the twin's by %v", p.Name, got, want)
		}
	}
}
