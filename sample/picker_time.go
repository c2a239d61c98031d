package sample

import (
	"math"
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
	share   map[event.Node][]float32 // reference: r over the whole list
	total   map[event.Node][]float64 // native: running sums of exp(r) over the whole list
	work    []float64
}

func newTimeAware(gen generator, past index.View, o PickerOptions) *timeAware {
	p := &timeAware{generator: gen, past: past, options: o, share: map[event.Node][]float32{}, total: map[event.Node][]float64{}}
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
		gen.Weighted(p.softmax(p.shares(n, h)[:m]), out)
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

// shares is r of the reference.
func (p *timeAware) shares(n event.Node, h index.History) []float32 {
	if r, ok := p.share[n]; ok && len(r) >= h.Len() {
		return r
	}
	times := p.complete(n, h)
	r := make([]float32, len(times))
	sum := 0.0
	for j, at := range times {
		e := math.Exp(p.options.Scale * (at - times[len(times)-1]))
		sum += e
		if sum == 0 {
			r[j] = -1e10
		} else {
			r[j] = float32(e / sum)
		}
	}
	if p.frozen {
		p.share[n] = r
	}
	return r
}

// softmax is the running sums of the softmax of r, which is taken in float32.
func (p *timeAware) softmax(r []float32) []float64 {
	most := r[0]
	for _, x := range r {
		most = max(most, x)
	}
	p.work = p.work[:0]
	sum := 0.0
	for _, x := range r {
		e := float64(float32(math.Exp(float64(x - most))))
		sum += e
		p.work = append(p.work, e)
	}
	running := 0.0
	for j, e := range p.work {
		running += float64(float32(e) / float32(sum))
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
