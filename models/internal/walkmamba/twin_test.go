package walkmamba

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/internal/walk"
	"github.com/dygmamba/dygmamba/model/modeltest"
	"github.com/dygmamba/dygmamba/sample"
)

// twin computes what the model computes, a second time: straight from the equations, one query at a time, in float64 on
// plain slices, from the events themselves. It shares with the model its configuration, and with package walk the
// random vectors that nodes begin with.
type twin struct {
	*modeltest.Toy
	c       Config
	options walk.Options
	w       modeltest.Plain
	memo    map[string][]float64 // what walks say
	smooth  bool                 // phases are not rounded, so that they have a derivative
}

func newTwin(y *modeltest.Toy) *twin {
	m := y.Model.(*Model)
	return &twin{Toy: y, c: m.cfg, options: m.walks.options, w: y.Weights(), memo: map[string][]float64{}}
}

// logit answers a query.
func (m *twin) logit(q sample.Query) float64 {
	hu, hv := m.read(m.row(q, q.Src)), m.read(m.row(q, q.Dst))
	askU := m.w.Linear("0.neighbor_selection_layer", m.aggregate(hv))
	askV := m.w.Linear("0.neighbor_selection_layer", m.aggregate(hu))
	var pattern, pair, known []float64
	add := func(x []float64) {
		if pair == nil {
			pair = make([]float64, len(x))
		}
		pair = modeltest.Plus(pair, x)
	}
	if m.c.TimeBlock {
		pattern = m.timeLevel(q)
		up := m.w.Linear("0.projection_layer_t_diff_up", pattern)
		askU, askV = modeltest.Times(askU, up), modeltest.Times(askV, up)
		add(m.w.Linear("0.output_layer_t_diff", pattern))
		known = append(known, pattern...)
	}
	if m.c.Roles {
		roles := m.roles(q)
		add(m.w.Linear("0.output_layer_roles", roles))
		known = append(known, roles...)
	}
	if m.c.NextItem {
		add(m.w.Linear("0.output_layer_sequels", m.nextItem(q)))
	}
	if m.c.Periodicity {
		add(m.w.Linear("0.output_layer_returns", m.periodicity(q)))
	}
	if m.c.Pair {
		g := m.gram(q)
		if len(known) > 0 {
			for i, x := range m.w.Linear("0.walk_gate", known) {
				g[i] /= 1 + math.Exp(-x)
			}
		}
		add(m.w.Linear("0.output_layer_walks", g))
	}
	zu := m.w.Linear("0.output_layer", modeltest.SumRows(modeltest.Softmax(modeltest.Dots(hu, askU)), hu))
	zv := m.w.Linear("0.output_layer", modeltest.SumRows(modeltest.Softmax(modeltest.Dots(hv, askV)), hv))
	hidden := m.w.Linear("1.fc1", slices.Concat(zu, zv, pair))
	return m.w.Linear("1.fc2", modeltest.Each(hidden, modeltest.ReLU))[0]
}

// place is a position of a row.
type place struct {
	node, edge event.Node
	time       float64
	way        float64
	count      [2]int
}

// past are the latest events of a node before t, and the node itself.
func (m *twin) past(n event.Node, t float64) []place {
	var list []place
	for i := range m.Log.Len() {
		e := m.Log.At(i)
		if e.Time >= t {
			continue
		}
		if e.Src == n {
			list = append(list, place{node: e.Dst, edge: e.Edge, time: e.Time, way: 1})
		}
		if e.Dst == n {
			way := -1.0
			if e.Src == n {
				way = 1
			}
			list = append(list, place{node: e.Src, edge: e.Edge, time: e.Time, way: way})
		}
	}
	list = list[max(0, len(list)-(m.c.Length-1)):]
	list = append(list, place{node: n, time: t})
	return append(make([]place, m.c.RowLen()-len(list)), list...)
}

// row is the encoded patches of one of the two nodes of a query.
func (m *twin) row(q sample.Query, n event.Node) [][]float64 {
	u, v, own := m.past(q.Src, q.Time), m.past(q.Dst, q.Time), m.past(n, q.Time)
	tally := func(row []place, x event.Node) (k int) {
		for _, p := range row {
			if p.node == x {
				k++
			}
		}
		return k
	}
	var patches [][]float64
	for lo := 0; lo < len(own); lo += m.c.Patch {
		features := map[string][]float64{}
		for _, p := range own[lo : lo+m.c.Patch] {
			p.count = [2]int{tally(u, p.node), tally(v, p.node)}
			switch { // the pair counts its meetings in its own row only
			case n == q.Src && p.node == q.Dst:
				p.count[1] = p.count[0]
			case n == q.Dst && p.node == q.Src:
				p.count[0] = p.count[1]
			}
			m.position(q, p, features)
		}
		var h []float64
		for _, name := range []string{"node", "edge", "time", "neighbor_co_occurrence", "walk"} {
			if x := features[name]; x != nil {
				h = append(h, m.w.Linear("0.projection_layer."+name, x)...)
			}
		}
		if m.c.Direction {
			for i, x := range m.w.Linear("0.projection_layer.direction", features["direction"]) {
				h[len(h)-m.c.Channel+i] += x
			}
		}
		patches = append(patches, m.w.Linear("0.reduce_layer", h))
	}
	return patches
}

// position adds the features of a position to those of its patch.
func (m *twin) position(q sample.Query, p place, to map[string][]float64) {
	add := func(name string, x ...float64) { to[name] = append(to[name], x...) }
	f := m.Graph.NodeFeatures
	add("node", modeltest.Padded(f.Data[int(p.node)*f.Cols:][:f.Cols], m.c.NodeDim)...)
	f = m.Graph.EdgeFeatures
	add("edge", modeltest.Padded(f.Data[int(p.edge)*f.Cols:][:f.Cols], m.c.EdgeDim)...)
	code := make([]float64, m.c.TimeDim)
	if p.node != 0 {
		code = m.timeCode(float64(float32(q.Time - p.time)))
	}
	add("time", code...)
	add("neighbor_co_occurrence", modeltest.Plus(m.often(p.count[0]), m.often(p.count[1]))...)
	add("direction", p.way)
	if !m.c.Neighbors {
		return
	}
	add("walk", m.products(q, p.node)...)
}

// products is how walks connect a neighbour to the two nodes of a query; padding is not connected.
func (m *twin) products(q sample.Query, other event.Node) (list []float64) {
	key := fmt.Sprint("products", q, other)
	if list, ok := m.memo[key]; ok {
		return list
	}
	for s := range walk.Scales {
		for l := range walk.Levels + 1 {
			for _, n := range []event.Node{q.Src, q.Dst} {
				for k := range walk.Levels + 1 {
					product := 0.0
					if other != 0 {
						product = modeltest.Dot(m.vector(other, l, s, q.Time), m.vector(n, k, s, q.Time))
					}
					list = append(list, math.Log1p(max(0, product)))
				}
			}
		}
	}
	m.memo[key] = list
	return list
}

// vector is that of walks of some steps from a node at t.
func (m *twin) vector(n event.Node, level, scale int, t float64) []float64 {
	key := fmt.Sprint(n, level, scale, t)
	if x, ok := m.memo[key]; ok {
		return x
	}
	h := make([]float64, m.c.WalkDim)
	if level == 0 {
		row := make([]float32, m.options.Width())
		walk.NewState(m.options).Begin(n, row)
		for i := range h {
			h[i] = float64(row[i])
		}
	}
	for i := 0; i < m.Log.Len() && level > 0; i++ {
		e := m.Log.At(i)
		if e.Time >= t || e.Src != n && e.Dst != n {
			continue
		}
		decay := math.Exp(-m.options.Rates()[scale] * float64(level) * (t - e.Time))
		for k, x := range m.vector(e.Src+e.Dst-n, level-1, scale, e.Time) {
			h[k] += decay * x
		}
	}
	m.memo[key] = h
	return h
}

// gram is how walks connect the two nodes of a query.
func (m *twin) gram(q sample.Query) (g []float64) {
	key := fmt.Sprint("gram", q)
	if g, ok := m.memo[key]; ok {
		return slices.Clone(g)
	}
	defer func() { m.memo[key] = slices.Clone(g) }()
	for s := range walk.Scales {
		var all [][]float64
		for _, n := range []event.Node{q.Src, q.Dst} {
			for l := range walk.Levels + 1 {
				all = append(all, m.vector(n, l, s, q.Time))
			}
		}
		for a := range all {
			for b := a; b < len(all); b++ {
				g = append(g, math.Log1p(max(0, modeltest.Dot(all[a], all[b]))))
			}
		}
	}
	return g
}

// roles are tested in package walk.
func (m *twin) roles(q sample.Query) []float64 {
	return m.told("roles", walk.Roles, q, func(s *walk.State, out []float32) {
		doing := s.Activity(q.Src, q.Dst)
		m.options.Roles(&doing, q.Time, out)
	})
}

// next items are tested there, too.
func (m *twin) nextItem(q sample.Query) []float64 {
	return m.told("next items", walk.NextItems, q, func(s *walk.State, out []float32) {
		next := s.NextItem(q.Src, q.Dst, q.Time)
		m.options.NextItems(&next, q.Time, out)
	})
}

// told is n numbers that the state before a query tells of it.
func (m *twin) told(what string, n int, q sample.Query, write func(*walk.State, []float32)) (list []float64) {
	key := fmt.Sprint(what, q)
	if list, ok := m.memo[key]; ok {
		return list
	}
	out := make([]float32, n)
	write(walk.Over(m.Log, m.options).At(q.Time), out)
	for _, x := range out {
		list = append(list, float64(x))
	}
	m.memo[key] = list
	return list
}

func (m *twin) timeCode(delta float64) (code []float64) {
	if m.c.LogTime {
		if delta >= 1e10 {
			delta = 20
		} else {
			delta = math.Log1p(delta / max(m.c.Span, 1e-300) * 1e6)
		}
	}
	w, b := m.w["0.time_encoder.w.weight"], m.w["0.time_encoder.w.bias"]
	for i := range w {
		phase := float64(float32(float32(w[i])*float32(delta)) + float32(b[i]))
		if m.smooth {
			phase = w[i]*delta + b[i]
		}
		code = append(code, math.Cos(phase))
	}
	return code
}

func (m *twin) often(count int) []float64 {
	hidden := m.w.Linear("0.neighbor_co_occurrence_encoder.nif_encode_layer.0", []float64{float64(count)})
	hidden = modeltest.Each(hidden, modeltest.ReLU)
	return m.w.Linear("0.neighbor_co_occurrence_encoder.nif_encode_layer.2", hidden)
}

// read is the node-level block.
func (m *twin) read(h [][]float64) [][]float64 {
	for l := range m.c.Layers {
		if m.c.NodeBlock {
			h = modeltest.PlusRows(h, m.w.Mamba(fmt.Sprintf("0.mamba.%d", l), h))
		}
		for j := range h {
			h[j] = m.w.Norm("0.channel_norm", h[j])
			fed := m.w.FeedForward("0.channel_feedforward.ffn.0", "0.channel_feedforward.ffn.3", h[j])
			h[j] = modeltest.Plus(h[j], fed)
		}
	}
	return h
}

// meetings are the distinct times at which the pair met.
func (m *twin) meetings(q sample.Query) (met []float64) {
	for i := range m.Log.Len() {
		e := m.Log.At(i)
		if e.Time < q.Time && (e.Src == q.Src && e.Dst == q.Dst || e.Src == q.Dst && e.Dst == q.Src) &&
			(len(met) == 0 || met[len(met)-1] != e.Time) {
			met = append(met, e.Time)
		}
	}
	return met
}

// periodicity compares how long ago each of the latest meetings was with how long it was between any two of them.
func (m *twin) periodicity(q sample.Query) (list []float64) {
	var ago []float64 // sums of gaps, which are rounded
	sum, t := 0.0, q.Time
	for _, at := range slices.Backward(m.meetings(q)) {
		if len(ago) < m.c.Meetings {
			sum += float64(float32(t - at))
			ago, t = append(ago, sum), at
		}
	}
	for k := range m.c.Meetings {
		x := 20.0
		for i := range ago {
			for _, later := range ago[:i] {
				if k < len(ago) {
					x = min(x, math.Log1p(math.Abs(ago[k]-(ago[i]-later))/m.c.Span*1e6))
				}
			}
		}
		list = append(list, x)
	}
	return list
}

// timeLevel reads the gaps between the distinct times at which the pair met, and from the last to the query.
func (m *twin) timeLevel(q sample.Query) []float64 {
	met := append(m.meetings(q), q.Time)
	var seq [][]float64
	for i := len(met) - m.c.Meetings; i < len(met); i++ {
		gap := 1e10
		if i > 0 {
			gap = float64(float32(met[i] - met[i-1]))
		}
		seq = append(seq, m.w.Linear("0.projection_layer_t_diff", m.timeCode(gap)))
	}
	for l := range m.c.Layers {
		seq = modeltest.PlusRows(seq, m.w.Mamba(fmt.Sprintf("0.mamba_t_diff.%d", l), seq))
	}
	return modeltest.MeanRows(seq)
}

func (m *twin) aggregate(h [][]float64) []float64 {
	var a []float64
	for _, x := range h {
		a = append(a, m.w.Linear("0.weightagg", x)[0])
	}
	return modeltest.SumRows(a, h)
}

// TestTwin compares logits, for the whole model and with each part left out.
func TestTwin(t *testing.T) {
	for _, c := range forms {
		t.Run(c.name, func(t *testing.T) {
			y := newToy(t, c.settings...)
			m := newTwin(y)
			qs := y.Queries()
			got, want := y.Logits(qs), []float64{}
			for _, q := range qs {
				want = append(want, m.logit(q))
			}
			if spread := slices.Max(want) - slices.Min(want); spread < 1e-3 {
				t.Errorf("answers differ by %v only", spread)
			}
			modeltest.Near(t, "logits", got, want, 2e-5)
		})
	}
}
