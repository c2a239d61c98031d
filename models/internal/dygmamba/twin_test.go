package dygmamba

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"

	"github.com/dygmamba/dygmamba/model/modeltest"
)

// twin computes what the model computes, a second time: straight from the equations, one query at a time, in float64 on
// plain slices, from the events themselves. It shares nothing with the model but Config's fields.
type twin struct {
	c          Config
	w          modeltest.Plain // parameters by their names in the released checkpoint, bare of its prefixes
	events     []twinEvent
	node, edge [][]float64 // features, row 0 is padding
	smooth     bool        // phases are not rounded, so that they have a derivative
	lengths    [2]int      // of the rows of sources and of destinations, where their call says so
}

type twinEvent struct {
	src, dst int
	time     float64
	edge     int
}

type twinEntry struct {
	node, edge int
	time       float64
}

// answer is everything a query leads to.
type answer struct {
	zu, zv, zt []float64
	betaU      []float64
	betaV      []float64
	logit      float64
}

func (m *twin) answer(u, v int, t float64) answer {
	su, sv := m.history(u, t), m.history(v, t)
	ru, rv := m.row(su, u, t, m.lengths[0]), m.row(sv, v, t, m.lengths[1])
	m.count(&ru, &rv, u, v)
	hu, hv := m.nodeLevel(m.encode(ru, t)), m.nodeLevel(m.encode(rv, t))

	var a answer
	switch m.c.Variant {
	case "a":
		a.zu, a.zv = modeltest.MeanRows(hu), modeltest.MeanRows(hv)
	case "c":
		su, sv := m.each("selection_layer", hu), m.each("selection_layer", hv)
		a.zu, a.zv = selectPerChannel(su, hu), selectPerChannel(sv, hv)
	case "d":
		su, sv := m.each("selection_layer", hu), m.each("selection_layer", hv)
		a.zu, a.zv = selectPerChannel(sv, hu), selectPerChannel(su, hv)
	default:
		pattern := m.timeLevel(m.gaps(su, v, t))
		up := m.w.Linear("projection_layer_t_diff_up", pattern)
		alphaU := modeltest.Times(m.w.Linear("neighbor_selection_layer", m.aggregate(hv)), up)
		alphaV := modeltest.Times(m.w.Linear("neighbor_selection_layer", m.aggregate(hu)), up)
		a.betaU, a.betaV = modeltest.Softmax(modeltest.Dots(hu, alphaU)), modeltest.Softmax(modeltest.Dots(hv, alphaV))
		a.zu, a.zv = modeltest.SumRows(a.betaU, hu), modeltest.SumRows(a.betaV, hv)
		a.zt = m.w.Linear("output_layer_t_diff", pattern)
	}
	a.zu, a.zv = m.w.Linear("output_layer", a.zu), m.w.Linear("output_layer", a.zv)

	hidden := modeltest.Each(m.w.Linear("fc1", slices.Concat(a.zu, a.zv, a.zt)), modeltest.ReLU)
	a.logit = m.w.Linear("fc2", hidden)[0]
	return a
}

// history is everything the node did before t, either end, in time order.
func (m *twin) history(n int, t float64) []twinEntry {
	var s []twinEntry
	for _, e := range m.events {
		if e.time >= t {
			continue
		}
		if e.src == n {
			s = append(s, twinEntry{e.dst, e.edge, e.time})
		}
		if e.dst == n {
			s = append(s, twinEntry{e.src, e.edge, e.time})
		}
	}
	sort.SliceStable(s, func(i, j int) bool { return s[i].time < s[j].time })
	return s
}

// gaps is the row of k intervals between the pair's distinct meeting times and t, 1e10 in front.
func (m *twin) gaps(s []twinEntry, v int, t float64) []float64 {
	k := m.c.Meetings
	var met []float64
	for _, e := range s {
		if e.node == v && (len(met) == 0 || met[len(met)-1] != e.time) {
			met = append(met, e.time)
		}
	}
	met = append(met, t)
	row := make([]float64, k)
	for i := range row {
		row[i] = 1e10
		if j := len(met) - k + i; j >= 1 {
			row[i] = float64(float32(met[j] - met[j-1]))
		}
	}
	return row
}

// twinRow is a padded row: nodes, edges, neighbour times and the two counts per position.
type twinRow struct {
	node, edge []int
	time       []float32
	count      [][2]int
	pad        int // padded positions in front
}

func (m *twin) row(s []twinEntry, n int, t float64, length int) twinRow {
	if len(s) > m.c.Length-1 {
		s = s[len(s)-(m.c.Length-1):]
	}
	want := m.c.Length + 1
	switch {
	case m.c.Arch == Paper:
		want = len(s) + 1
	case length > 0:
		want = length
	}
	p := m.c.Patch
	total := (want + p - 1) / p * p
	r := twinRow{pad: total - len(s) - 1}
	for range r.pad {
		r.node, r.edge, r.time = append(r.node, 0), append(r.edge, 0), append(r.time, 0)
	}
	for _, e := range s {
		r.node, r.edge, r.time = append(r.node, e.node), append(r.edge, e.edge), append(r.time, float32(e.time))
	}
	r.node, r.edge, r.time = append(r.node, n), append(r.edge, 0), append(r.time, float32(t))
	return r
}

func (m *twin) count(ru, rv *twinRow, u, v int) {
	if m.c.Arch == Paper {
		countPaper(ru, rv, u, v)
		return
	}
	tally := func(row []int, x int) (n int) {
		for _, y := range row {
			if x == y {
				n++
			}
		}
		return n
	}
	for _, x := range ru.node {
		c := [2]int{tally(ru.node, x), tally(rv.node, x)}
		if x == v {
			c[1] = c[0]
		}
		ru.count = append(ru.count, c)
	}
	for _, x := range rv.node {
		c := [2]int{tally(ru.node, x), tally(rv.node, x)}
		if x == u {
			c[0] = c[1]
		}
		rv.count = append(rv.count, c)
	}
}

// encode turns positions into patches of features, and patches into the first hidden sequence.
func (m *twin) encode(r twinRow, t float64) [][]float64 {
	c := m.c
	var node, edge, when, often [][]float64
	for j, n := range r.node {
		node = append(node, pad(m.node[n], c.NodeDim))
		edge = append(edge, pad(m.edge[r.edge[j]], c.EdgeDim))
		code := make([]float64, c.TimeDim)
		if n != 0 {
			code = m.timeCode(float32(t - float64(r.time[j])))
		}
		when = append(when, code)
		nif := make([]float64, c.Channel)
		if c.Variant != "f" && (c.Arch != Paper || j >= r.pad) {
			nif = modeltest.Plus(m.frequency(r.count[j][0]), m.frequency(r.count[j][1]))
		}
		often = append(often, nif)
	}
	var seq [][]float64
	for j := 0; j < len(r.node); j += c.Patch {
		var h []float64
		channel := func(name string, x [][]float64) {
			var flat []float64
			for _, row := range x[j : j+c.Patch] {
				flat = append(flat, row...)
			}
			h = append(h, m.w.Linear("projection_layer."+name, flat)...)
		}
		channel("node", node)
		channel("edge", edge)
		if c.Variant != "e" {
			channel("time", when)
		}
		if c.Variant != "f" {
			channel("neighbor_co_occurrence", often)
		}
		if c.Arch != Paper {
			h = m.w.Linear("reduce_layer", h)
		}
		seq = append(seq, h)
	}
	return seq
}

// timeCode rounds the phase to float32, product and sum each, as everyone must to agree about long intervals.
func (m *twin) timeCode(delta float32) []float64 {
	w, b := m.w["time_encoder.w.weight"], m.w["time_encoder.w.bias"]
	code := make([]float64, len(w))
	for i := range w {
		phase := float32(float32(w[i]) * delta)
		phase = float32(phase + float32(b[i]))
		code[i] = math.Cos(float64(phase))
		if m.smooth {
			code[i] = math.Cos(w[i]*float64(delta) + b[i])
		}
		if m.c.Arch == Paper {
			code[i] *= math.Sqrt(1 / float64(len(w)))
		}
	}
	return code
}

func (m *twin) frequency(count int) []float64 {
	hidden := m.w.Linear("neighbor_co_occurrence_encoder.nif_encode_layer.0", []float64{float64(count)})
	hidden = modeltest.Each(hidden, modeltest.ReLU)
	return m.w.Linear("neighbor_co_occurrence_encoder.nif_encode_layer.2", hidden)
}

func (m *twin) nodeLevel(h [][]float64) [][]float64 {
	if m.c.Arch == Paper {
		return m.nodeLevelPaper(h)
	}
	for l := range m.c.Layers {
		if m.c.Variant != "b" {
			h = modeltest.PlusRows(m.w.Mamba(fmt.Sprintf("mamba.%d", l), h), h)
		}
		for j := range h {
			h[j] = m.w.Norm("channel_norm", h[j])
			h[j] = modeltest.Plus(h[j], m.feed("channel_feedforward.ffn", h[j]))
		}
	}
	return h
}

func (m *twin) timeLevel(gaps []float64) []float64 {
	var seq [][]float64
	for _, g := range gaps {
		seq = append(seq, m.w.Linear("projection_layer_t_diff", m.timeCode(float32(g))))
	}
	for l := range m.c.Layers {
		name := fmt.Sprintf("mamba_t_diff.%d", l)
		if m.c.Arch == Paper {
			seq = modeltest.PlusRows(m.s6(name, seq), seq)
		} else {
			seq = modeltest.PlusRows(m.w.Mamba(name, seq), seq)
		}
	}
	return modeltest.MeanRows(seq)
}

// aggregate is ĥ = Σ a[j]·h[j], a = h·w + b.
func (m *twin) aggregate(h [][]float64) []float64 {
	var a []float64
	for _, row := range h {
		a = append(a, m.w.Linear("weightagg", row)[0])
	}
	return modeltest.SumRows(a, h)
}

func (m *twin) feed(name string, x []float64) []float64 {
	return m.w.FeedForward(name+".0", name+".3", x)
}

func (m *twin) each(name string, rows [][]float64) [][]float64 {
	var out [][]float64
	for _, r := range rows {
		out = append(out, m.w.Linear(name, r))
	}
	return out
}

// bare is the tensor's name without the prefix of the released checkpoint.
func bare(name string) string {
	return strings.TrimPrefix(strings.TrimPrefix(name, "0."), "1.")
}

// selectPerChannel weighs h with a softmax over positions taken in each channel of s alone.
func selectPerChannel(s, h [][]float64) []float64 {
	y := make([]float64, len(h[0]))
	for c := range y {
		var column []float64
		for j := range s {
			column = append(column, s[j][c])
		}
		for j, b := range modeltest.Softmax(column) {
			y[c] += b * h[j][c]
		}
	}
	return y
}

func pad(x []float64, n int) []float64 {
	return append(append([]float64{}, x...), make([]float64, n-len(x))...)
}
