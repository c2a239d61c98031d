package sample

import (
	"math"
	"slices"
	"sort"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/index"
)

// timeAware draws position j of a history with a probability proportional to exp(r_j), where r_j is the share of entry
// j in the sum of the entries up to it, each counted with exp(scale·time). The oldest has r = 1; after it r is near 1
// for an entry that comes long after the others, and near 1/j where nothing happens for long.
//
// The reference takes times relative to the node's last entry in the whole past, in the query's future as it may be.
// That cancels but for underflow, which it replaces. It then softmaxes in float32. Native sums run forward from the
// oldest, see nothing of the future and are kept in float64.
type timeAware struct {
	generator
	options PickerOptions
	past    index.View               // nil: the history shown is all there is
	frozen  bool                     // past never changes, so what was computed of a node is kept
	share   map[event.Node]shares    // reference, over the whole list
	total   map[event.Node][]float64 // native: running sums of exp(r) over the whole list
	work    []float64
}

// shares is r of the reference, and what a softmax of its beginning needs.
type shares struct {
	r    []float32
	most []float32 // of r so far
	e    []float32 // exp(r − 1): nothing is above 1, the r of the oldest
	sum  []float64 // of e so far
}

func newTimeAware(gen generator, past index.View, o PickerOptions) *timeAware {
	p := &timeAware{generator: gen, past: past, options: o, share: map[event.Node]shares{}, total: map[event.Node][]float64{}}
	_, p.frozen = past.(*index.Frozen)
	return p
}

func (p *timeAware) bind(past index.View, sampling string, seed uint64) Picker {
	return p.options.bind(past, sampling, seed)
}

func (p *timeAware) Pick(n event.Node, h index.History, out []int32) int {
	m := h.Len()
	if m == 0 {
		return 0
	}
	if gen, ok := p.generator.(twister); ok {
		gen.Weighted(p.softmax(p.shares(n, h), m), out)
	} else {
		sums := p.totals(n, h)[:m]
		for i := range out {
			x := p.Float64() * sums[m-1]
			out[i] = int32(min(m-1, sort.Search(m, func(j int) bool { return sums[j] > x })))
		}
	}
	byTime(h, out)
	return len(out)
}

// complete is all that the past has of a node.
func (p *timeAware) complete(n event.Node, h index.History) []event.Time {
	if p.past == nil {
		return h.Time
	}
	if all := p.past.Before(n, math.Inf(1)); all.Len() >= h.Len() {
		return all.Time
	}
	return h.Time
}

// shares looks at a node's whole list.
func (p *timeAware) shares(n event.Node, h index.History) shares {
	if s, ok := p.share[n]; ok && len(s.r) >= h.Len() {
		return s
	}
	times := p.complete(n, h)
	s := shares{
		r: make([]float32, len(times)), most: make([]float32, len(times)),
		e: make([]float32, len(times)), sum: make([]float64, len(times)),
	}
	crowd, sum := 0.0, 0.0
	most := float32(-1e10)
	for j, at := range times {
		e := math.Exp(p.options.Scale * (at - times[len(times)-1]))
		crowd += e
		s.r[j] = -1e10
		if crowd != 0 {
			s.r[j] = float32(e / crowd)
		}
		most = max(most, s.r[j])
		s.most[j] = most
		s.e[j] = float32(math.Exp(float64(s.r[j] - 1)))
		sum += float64(s.e[j])
		s.sum[j] = sum
	}
	if p.frozen {
		p.share[n] = s
	}
	return s
}

// softmax is the running sums of the softmax of the first m of r, which is taken in float32.
func (p *timeAware) softmax(s shares, m int) []float64 {
	e, sum := s.e[:m], s.sum[m-1]
	if most := s.most[m-1]; most != 1 { // the oldest vanishes beside the last event of all
		e, sum = make([]float32, m), 0
		for j, x := range s.r[:m] {
			e[j] = float32(math.Exp(float64(x - most)))
			sum += float64(e[j])
		}
	}
	p.work = slices.Grow(p.work[:0], m)[:m]
	running, whole := 0.0, float32(sum)
	for j, x := range e {
		running += float64(x / whole)
		p.work[j] = running
	}
	return p.work
}

// totals is the running sums of exp(r).
func (p *timeAware) totals(n event.Node, h index.History) []float64 {
	if sums, ok := p.total[n]; ok && len(sums) >= h.Len() {
		return sums
	}
	times := h.Time
	if p.frozen {
		times = p.complete(n, h)
	}
	sums := make([]float64, len(times))
	crowd, running := 0.0, 0.0 // the sum of all entries so far, in units of the latest
	for j, at := range times {
		if j > 0 {
			crowd = float64(crowd * math.Exp(-p.options.Scale*(at-times[j-1])))
		}
		crowd++
		running += math.Exp(1 / crowd)
		sums[j] = running
	}
	if p.frozen {
		p.total[n] = sums
	}
	return sums
}
