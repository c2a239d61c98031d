package sample

import (
	"math"
	"slices"
	"sort"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/index"
	"github.com/dygmamba/dygmamba/internal/mersenne"
	"github.com/dygmamba/dygmamba/protocol"
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
	numbers []float64
	sums    []float64
}

// shares is r of the reference, and what a softmax of its beginning needs.
type shares struct {
	r    []float32
	most []float32 // of r so far
	e    []float32 // exp(r − 1): nothing is above 1, the r of the oldest
	sum  []float64 // of e so far
}

func newTimeAware(gen generator, past index.View, o PickerOptions) *timeAware {
	p := &timeAware{generator: gen, past: past, options: o}
	p.share, p.total = map[event.Node]shares{}, map[event.Node][]float64{}
	_, p.frozen = past.(*index.Frozen)
	return p
}

func (p *timeAware) bind(past index.View, sampling protocol.Sampling, seed uint64) Picker {
	return p.options.bind(past, sampling, seed)
}

// chooser is a Picker that can draw its numbers for all rows first, one after the other, and choose by them on several
// threads afterwards.
type chooser interface {
	// draw takes the numbers for one row, and notes what of the node is to be kept.
	draw(n event.Node, h index.History, numbers []float64)
	// choose is Pick with numbers that were drawn. It works in the memory of sums, and returns it.
	choose(n event.Node, h index.History, numbers []float64, out []int32, sums []float64) []float64
}

func (p *timeAware) Pick(n event.Node, h index.History, out []int32) int {
	if h.Len() == 0 {
		return 0
	}
	p.numbers = slices.Grow(p.numbers[:0], len(out))[:len(out)]
	p.draw(n, h, p.numbers)
	p.sums = p.choose(n, h, p.numbers, out, p.sums)
	return len(out)
}

func (p *timeAware) draw(n event.Node, h index.History, numbers []float64) {
	for i := range numbers {
		numbers[i] = p.Float64()
	}
	if !p.frozen {
		return
	}
	if p.reference() {
		if s, ok := p.share[n]; !ok || len(s.r) < h.Len() {
			p.share[n] = p.shares(n, h)
		}
	} else if s, ok := p.total[n]; !ok || len(s) < h.Len() {
		p.total[n] = p.totals(n, h)
	}
}

func (p *timeAware) choose(n event.Node, h index.History, numbers []float64, out []int32, sums []float64) []float64 {
	m := h.Len()
	if p.reference() {
		s, ok := p.share[n]
		if !ok {
			s = p.shares(n, h)
		}
		if !s.clear(m, numbers, out) {
			sums = s.softmax(m, sums)
			for i, x := range numbers {
				out[i] = mersenne.Weighted(sums, x)
			}
		}
	} else {
		all, ok := p.total[n]
		if !ok {
			all = p.totals(n, h)
		}
		for i, x := range numbers {
			x *= all[m-1]
			out[i] = int32(min(m-1, sort.Search(m, func(j int) bool { return all[j] > x })))
		}
	}
	byTime(h, out)
	return sums
}

func (p *timeAware) reference() bool {
	_, ok := p.generator.(twister)
	return ok
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
	times := p.complete(n, h)
	s := shares{
		r: make([]float32, len(times)), most: make([]float32, len(times)),
		e: make([]float32, len(times)), sum: make([]float64, len(times)),
	}
	total, sum := 0.0, 0.0
	most := float32(-1e10)
	for j, at := range times {
		e := math.Exp(p.options.Scale * (at - times[len(times)-1]))
		total += e
		s.r[j] = -1e10
		if total != 0 {
			s.r[j] = float32(e / total)
		}
		most = max(most, s.r[j])
		s.most[j] = most
		s.e[j] = float32(math.Exp(float64(s.r[j] - 1)))
		sum += float64(s.e[j])
		s.sum[j] = sum
	}
	return s
}

// clear finds what each number falls on in the running sums of the softmax of the first m of r, without computing
// those: they are proportional to the sums of e but for their terms' rounding. It reports whether no number falls so
// near a boundary that this could matter.
func (s shares) clear(m int, numbers []float64, out []int32) bool {
	// Each term of the softmax is off by at most 2⁻²⁴ of itself, and so is their sum by which a running sum is
	// divided. The rest is for sums in float64.
	const off = 2.5 * 0x1p-24
	if s.most[m-1] != 1 {
		return false
	}
	sum := s.sum[:m]
	for i, x := range numbers {
		x *= sum[m-1]
		at := sort.Search(m, func(j int) bool { return sum[j] > x })
		if at == m || sum[at]-x <= off*sum[at] || at > 0 && x-sum[at-1] <= off*sum[at-1] {
			return false
		}
		out[i] = int32(at)
	}
	return true
}

// softmax is the running sums of the softmax of the first m of r, which is taken in float32.
func (s shares) softmax(m int, sums []float64) []float64 {
	e, sum := s.e[:m], s.sum[m-1]
	if most := s.most[m-1]; most != 1 { // the oldest vanishes beside the last event of all
		e, sum = make([]float32, m), 0
		for j, x := range s.r[:m] {
			e[j] = float32(math.Exp(float64(x - most)))
			sum += float64(e[j])
		}
	}
	sums = slices.Grow(sums[:0], m)[:m]
	running, whole := 0.0, float32(sum)
	for j, x := range e {
		running += float64(x / whole)
		sums[j] = running
	}
	return sums
}

// totals is the running sums of exp(r).
func (p *timeAware) totals(n event.Node, h index.History) []float64 {
	times := h.Time
	if p.frozen {
		times = p.complete(n, h)
	}
	sums := make([]float64, len(times))
	total, running := 0.0, 0.0 // the sum of all entries so far, in units of the latest
	for j, at := range times {
		if j > 0 {
			total = float64(total * math.Exp(-p.options.Scale*(at-times[j-1])))
		}
		total++
		running += math.Exp(1 / total)
		sums[j] = running
	}
	return sums
}
