package sample

import (
	"cmp"
	"math"
	"slices"
	"sort"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/internal/pairs"
	"github.com/dygmamba/dygmamba/internal/rng"
)

// Moments are time negatives: questions about the pairs of events at times at which they did not meet, in the order of
// time. They are drawn ahead, so that they can be asked when the stream passes them: nothing is rewound for a question,
// and nothing later is known.
type Moments struct {
	Queries []Query
	asked   event.Span
}

// MomentOptions say how moments are drawn.
type MomentOptions struct {
	Seed   uint64
	Stream string  // names the generator's stream; "" is "negatives time"
	Share  float64 // of the events that get a question; 0 is all of them
}

// NewMoments draws a moment for each event of asked, which are in the order of time. Meetings of the same two, source
// and destination, are looked up in known. Times of a stream lie on a grid, such as whole seconds, and so do moments:
// an odd fraction of a second would tell them from events. An event that leaves no room for a moment has none.
func NewMoments(asked event.Span, known *event.Log, o MomentOptions) *Moments {
	m := &Moments{asked: asked}
	if asked.Len() == 0 {
		return m
	}
	gen := rng.New(o.Seed, cmp.Or(o.Stream, "negatives time"))
	met, grid := newMeetings(known), gridOf(known.All().Time)
	start := slices.Min(asked.Time)
	for i, at := range asked.Time {
		if o.Share > 0 && gen.Float64() >= o.Share {
			continue
		}
		from, before := start, met.of(asked.Src[i], asked.Dst[i])
		if k := sort.SearchFloat64s(before, at); k > 0 {
			from = max(from, before[k-1])
		}
		if t, ok := grid.between(gen, from, at); ok {
			m.Queries = append(m.Queries, Query{Src: asked.Src[i], Dst: asked.Dst[i], Time: t})
		}
	}
	slices.SortStableFunc(m.Queries, func(a, b Query) int { return cmp.Compare(a.Time, b.Time) })
	return m
}

// During are the moments that belong to a batch of the events: from its first time on, up to the first of the batch
// behind it. Whoever has learned of what ends before the batch knows nothing that is not before these.
func (m *Moments) During(pos event.Span) []Query {
	lo, hi := 0, len(m.Queries)
	from := pos.First() - m.asked.First()
	if from > 0 {
		lo = m.upTo(pos.Time[0])
	}
	if next := from + pos.Len(); next < m.asked.Len() {
		hi = max(lo, m.upTo(m.asked.Time[next]))
	}
	return m.Queries[lo:hi]
}

// upTo is the number of moments before t.
func (m *Moments) upTo(t event.Time) int {
	return sort.Search(len(m.Queries), func(i int) bool { return m.Queries[i].Time >= t })
}

// meetings are the times at which pairs met, ascending: those of pair p are times start[p] to start[p+1]−1.
type meetings struct {
	pairs *pairs.Table
	start []int32 // [pairs + 1]
	times []event.Time
}

func newMeetings(known *event.Log) *meetings {
	p := NewPool(known)
	met := p.pairs()
	m := &meetings{pairs: met.Table(), times: make([]event.Time, len(p.time))}
	m.start = make([]int32, met.Len()+1)
	for _, pair := range met.Of {
		m.start[pair+1]++
	}
	for pair := range met.Len() {
		m.start[pair+1] += m.start[pair]
	}
	next := slices.Clone(m.start)
	for i, pair := range met.Of {
		m.times[next[pair]] = p.time[i]
		next[pair]++
	}
	return m
}

// of are the times at which a pair met.
func (m *meetings) of(u, v event.Node) []event.Time {
	var number [1]int32
	m.pairs.Find([]uint64{pairs.Key(u, v)}, number[:])
	if number[0] == pairs.None {
		return nil
	}
	return m.times[m.start[number[0]]:m.start[number[0]+1]]
}

// grid is where the times of a stream lie: at whole numbers of steps of 1/scale, from any of them on.
type grid struct {
	scale float64
	step  int64 // 0: anywhere
}

// gridOf finds the coarsest one that has all times, down to thousandths.
func gridOf(times []event.Time) grid {
	for _, scale := range []float64{1, 10, 100, 1000} {
		if step, ok := stepOf(times, scale); ok {
			return grid{scale, step}
		}
	}
	return grid{}
}

// stepOf is the greatest common divisor of the distances between times, in units of 1/scale; false if one of them is no
// whole number of units.
func stepOf(times []event.Time, scale float64) (step int64, ok bool) {
	const most = 1 << 52 // whole numbers are exact up to here
	for _, t := range times {
		tick := math.Round(t * scale)
		if tick/scale != t || math.Abs(tick) > most {
			return 0, false
		}
		distance := int64(tick - math.Round(times[0]*scale))
		for a := max(distance, -distance); a != 0; {
			a, step = step%a, a
		}
	}
	return max(1, step), true
}

// between draws a time after one and before another, false if there is none.
func (g grid) between(gen *rng.Source, from, to event.Time) (event.Time, bool) {
	if g.step == 0 {
		t := from + gen.Float64()*(to-from)
		return t, t > from && t < to
	}
	first, last := int64(math.Round(from*g.scale)), int64(math.Round(to*g.scale))
	room := (last-first)/g.step - 1
	if room < 1 {
		return 0, false
	}
	return float64(first+(1+int64(gen.Below(int(room))))*g.step) / g.scale, true
}
