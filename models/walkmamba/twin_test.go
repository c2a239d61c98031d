package walkmamba

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/model/modeltest"
	"github.com/dygmamba/dygmamba/sample"
	"github.com/dygmamba/dygmamba/walk"
)

// twin computes what the model computes, a second time: straight from the equations, one query at a time, in float64 on
// plain slices, from the events themselves. It shares with the model its configuration, and with package walk the
// random vectors that nodes begin with.
type twin struct {
	*modeltest.Toy
	c       Config
	options walk.Options
	memo    map[string][]float64 // parameters by name, and vectors
	smooth  bool                 // phases are not rounded, so that they have a derivative
}

func newTwin(y *modeltest.Toy) *twin {
	m := y.Model.(*Model)
	return &twin{Toy: y, c: m.cfg, options: m.walks.Options, memo: map[string][]float64{}}
}

func (m *twin) param(name string) []float64 {
	if x, ok := m.memo[name]; ok {
		return x
	}
	p := m.Params().Get(name)
	if p == nil {
		return nil
	}
	var x []float64
	for _, v := range m.Params().Read(p) {
		x = append(x, float64(v))
	}
	m.memo[name] = x
	return x
}

// linear is W·x + b.
func (m *twin) linear(name string, x []float64) []float64 {
	w := m.param(name + ".weight")
	if len(w)%len(x) != 0 || len(w) == 0 {
		panic(fmt.Sprintf("%s: %d weights against %d inputs", name, len(w), len(x)))
	}
	y := make([]float64, len(w)/len(x))
	copy(y, m.param(name+".bias"))
	for o := range y {
		y[o] += dot(w[o*len(x):(o+1)*len(x)], x)
	}
	return y
}

// logit answers a query.
func (m *twin) logit(q sample.Query) float64 {
	hu, hv := m.read(m.row(q, q.Src)), m.read(m.row(q, q.Dst))
	askU := m.linear("0.neighbor_selection_layer", m.aggregate(hv))
	askV := m.linear("0.neighbor_selection_layer", m.aggregate(hu))
	var pattern, pair, known []float64
	add := func(x []float64) {
		if pair == nil {
			pair = make([]float64, len(x))
		}
		pair = plus(pair, x)
	}
	if m.c.TimeBlock {
		pattern = m.timeLevel(q)
		up := m.linear("0.projection_layer_t_diff_up", pattern)
		askU, askV = times(askU, up), times(askV, up)
		add(m.linear("0.output_layer_t_diff", pattern))
		known = append(known, pattern...)
	}
	if m.c.Roles {
		roles := m.roles(q)
		add(m.linear("0.output_layer_roles", roles))
		known = append(known, roles...)
	}
	if m.c.Returns {
		add(m.linear("0.output_layer_returns", m.returns(q)))
	}
	if m.c.Pair {
		g := m.gram(q)
		if len(known) > 0 {
			for i, x := range m.linear("0.walk_gate", known) {
				g[i] /= 1 + math.Exp(-x)
			}
		}
		add(m.linear("0.output_layer_walks", g))
	}
	zu := m.linear("0.output_layer", weigh(softmax(dots(hu, askU)), hu))
	zv := m.linear("0.output_layer", weigh(softmax(dots(hv, askV)), hv))
	hidden := m.linear("1.fc1", append(append(append([]float64{}, zu...), zv...), pair...))
	for i := range hidden {
		hidden[i] = max(0, hidden[i])
	}
	return m.linear("1.fc2", hidden)[0]
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
				h = append(h, m.linear("0.projection_layer."+name, x)...)
			}
		}
		if m.c.Direction {
			for i, x := range m.linear("0.projection_layer.direction", features["direction"]) {
				h[len(h)-m.c.Channel+i] += x
			}
		}
		patches = append(patches, m.linear("0.reduce_layer", h))
	}
	return patches
}

// position adds the features of a position to those of its patch.
func (m *twin) position(q sample.Query, p place, to map[string][]float64) {
	add := func(name string, x ...float64) { to[name] = append(to[name], x...) }
	f := m.Graph.NodeFeatures
	add("node", padded(f.Data[int(p.node)*f.Cols:], f.Cols, m.c.NodeDim)...)
	f = m.Graph.EdgeFeatures
	add("edge", padded(f.Data[int(p.edge)*f.Cols:], f.Cols, m.c.EdgeDim)...)
	code := make([]float64, m.c.TimeDim)
	if p.node != 0 {
		code = m.timeCode(float64(float32(q.Time - p.time)))
	}
	add("time", code...)
	add("neighbor_co_occurrence", plus(m.often(p.count[0]), m.often(p.count[1]))...)
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
						product = dot(m.vector(other, l, s, q.Time), m.vector(n, k, s, q.Time))
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
				g = append(g, math.Log1p(max(0, dot(all[a], all[b]))))
			}
		}
	}
	return g
}

// roles are tested in package walk.
func (m *twin) roles(q sample.Query) (r []float64) {
	key := fmt.Sprint("roles", q)
	if r, ok := m.memo[key]; ok {
		return r
	}
	out := make([]float32, walk.Roles)
	doing := walk.Over(m.Log, m.options).At(q.Time).Activity(q.Src, q.Dst)
	m.options.Roles(&doing, q.Time, out)
	for _, x := range out {
		r = append(r, float64(x))
	}
	m.memo[key] = r
	return r
}

func (m *twin) timeCode(delta float64) (code []float64) {
	if m.c.LogTime {
		if delta >= 1e10 {
			delta = 20
		} else {
			delta = math.Log1p(delta / max(m.c.Span, 1e-300) * 1e6)
		}
	}
	w, b := m.param("0.time_encoder.w.weight"), m.param("0.time_encoder.w.bias")
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
	hidden := m.linear("0.neighbor_co_occurrence_encoder.nif_encode_layer.0", []float64{float64(count)})
	for i := range hidden {
		hidden[i] = max(0, hidden[i])
	}
	return m.linear("0.neighbor_co_occurrence_encoder.nif_encode_layer.2", hidden)
}

// read is the node-level block.
func (m *twin) read(h [][]float64) [][]float64 {
	for l := range m.c.Layers {
		if m.c.NodeBlock {
			for j, x := range m.mamba(fmt.Sprintf("0.mamba.%d", l), h) {
				h[j] = plus(h[j], x)
			}
		}
		for j := range h {
			h[j] = m.norm("0.channel_norm", h[j])
			hidden := m.linear("0.channel_feedforward.ffn.0", h[j])
			for i, x := range hidden {
				hidden[i] = x * 0.5 * (1 + math.Erf(x/math.Sqrt2))
			}
			h[j] = plus(h[j], m.linear("0.channel_feedforward.ffn.3", hidden))
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

// returns compares how long ago each of the latest meetings was with how long it was between any two of them.
func (m *twin) returns(q sample.Query) (list []float64) {
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
		seq = append(seq, m.linear("0.projection_layer_t_diff", m.timeCode(gap)))
	}
	for l := range m.c.Layers {
		for j, x := range m.mamba(fmt.Sprintf("0.mamba_t_diff.%d", l), seq) {
			seq[j] = plus(seq[j], x)
		}
	}
	mean := make([]float64, len(seq[0]))
	for _, x := range seq {
		for i := range x {
			mean[i] += x[i] / float64(len(seq))
		}
	}
	return mean
}

func (m *twin) aggregate(h [][]float64) []float64 {
	var a []float64
	for _, x := range h {
		a = append(a, m.linear("0.weightagg", x)[0])
	}
	return weigh(a, h)
}

func (m *twin) norm(name string, x []float64) []float64 {
	var mean, v float64
	for _, e := range x {
		mean += e / float64(len(x))
	}
	for _, e := range x {
		v += (e - mean) * (e - mean) / float64(len(x))
	}
	y := make([]float64, len(x))
	for i, e := range x {
		y[i] = (e-mean)/math.Sqrt(v+1e-5)*m.param(name + ".weight")[i] + m.param(name + ".bias")[i]
	}
	return y
}

// mamba is one block: two branches, convolution, selective scan, gate.
func (m *twin) mamba(name string, seq [][]float64) (out [][]float64) {
	width := len(seq[0])
	rank := (width + 15) / 16
	conv, bias := m.param(name+".conv1d.weight"), m.param(name+".conv1d.bias")
	aLog, skip := m.param(name+".A_log"), m.param(name+".D")
	state := make([]float64, width*stateDim)
	silu := func(x float64) float64 { return x / (1 + math.Exp(-x)) }
	var branches [][]float64
	for _, x := range seq {
		branches = append(branches, m.linear(name+".in_proj", x))
	}
	for t := range seq {
		u, y := make([]float64, width), make([]float64, width)
		for c := range u {
			sum := bias[c]
			for j := max(0, convWidth-1-t); j < convWidth; j++ {
				sum += conv[c*convWidth+j] * branches[t-(convWidth-1)+j][c]
			}
			u[c] = silu(sum)
		}
		parts := m.linear(name+".x_proj", u)
		in, read := parts[rank:rank+stateDim], parts[rank+stateDim:]
		for c, d := range m.linear(name+".dt_proj", parts[:rank]) {
			delta := math.Log1p(math.Exp(d))
			for i := range stateDim {
				at := c*stateDim + i
				state[at] = math.Exp(-delta*math.Exp(aLog[at]))*state[at] + delta*in[i]*u[c]
				y[c] += read[i] * state[at]
			}
			y[c] = (y[c] + skip[c]*u[c]) * silu(branches[t][width+c])
		}
		out = append(out, m.linear(name+".out_proj", y))
	}
	return out
}

func dot(x, y []float64) (s float64) {
	for i := range x {
		s += x[i] * y[i]
	}
	return s
}

func dots(rows [][]float64, v []float64) (y []float64) {
	for _, r := range rows {
		y = append(y, dot(r, v))
	}
	return y
}

func plus(a, b []float64) []float64 {
	y := make([]float64, len(a))
	for i := range a {
		y[i] = a[i] + b[i]
	}
	return y
}

func times(a, b []float64) []float64 {
	y := make([]float64, len(a))
	for i := range a {
		y[i] = a[i] * b[i]
	}
	return y
}

func weigh(w []float64, rows [][]float64) []float64 {
	y := make([]float64, len(rows[0]))
	for j, r := range rows {
		for c := range r {
			y[c] += w[j] * r[c]
		}
	}
	return y
}

func softmax(x []float64) []float64 {
	top, sum := math.Inf(-1), 0.0
	for _, e := range x {
		top = max(top, e)
	}
	y := make([]float64, len(x))
	for i, e := range x {
		y[i] = math.Exp(e - top)
		sum += y[i]
	}
	for i := range y {
		y[i] /= sum
	}
	return y
}

func padded(x []float32, n, width int) []float64 {
	y := make([]float64, width)
	for i := range n {
		y[i] = float64(x[i])
	}
	return y
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
