package data

import (
	"math"
	"math/bits"
	"runtime"
	"sync"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/internal/pairs"
	"github.com/dygmamba/dygmamba/internal/parallel"
)

// Info is the statistics of a data set.
type Info struct {
	Name                       string     `json:"name"`
	Nodes                      int        `json:"nodes"` // that occur
	Sources                    int        `json:"sources"`
	Targets                    int        `json:"destinations"`
	MaxNode                    int        `json:"-"` // the largest id; above Nodes where ids have gaps
	Bipartite                  bool       `json:"bipartite"`
	Events                     int        `json:"events"`
	Times                      int        `json:"distinct_times"`
	First, Last                event.Time `json:"-"`
	TimeFormat                 string     `json:"time_format"`
	Pairs                      int        `json:"distinct_pairs"` // ordered
	Repeats                    float64    `json:"repeated"`       // part of the events whose ordered pair met before
	SelfLoops                  int        `json:"self_loops"`
	Labels                     int        `json:"labels"`            // that are not 0
	Classes                    []string   `json:"classes,omitempty"` // of labels with names
	Value                      string     `json:"value,omitempty"`   // column of values
	NodeFeatures, EdgeFeatures int        `json:"-"`                 // columns
	NodeZero, EdgeZero         bool       `json:"-"`                 // all of them are 0
	NodeRows                   int        `json:"-"`                 // of features of nodes that change over time
	Density                    []int      `json:"density"`           // events in DensityBins equal parts of the time
}

// DensityBins is the number of parts in Info.Density.
const DensityBins = 40

// Stats measures a data set.
func Stats(s *Set) Info {
	all := s.Log.All()
	n := all.Len()
	i := Info{Name: s.Name, Events: n, MaxNode: max(0, s.NumNodes()-1), NodeFeatures: s.Node.Cols,
		EdgeFeatures: s.Edge.Cols, NodeZero: s.Node.Data == nil && s.Timeline == nil, EdgeZero: s.Edge.Data == nil,
		NodeRows: s.Timeline.Len(), Bipartite: s.Bipartite,
		TimeFormat: s.TimeFormat, Classes: s.Classes, Value: s.ValueColumn(), Density: make([]int, DensityBins)}
	if n == 0 {
		return i
	}
	i.First, i.Last = all.Time[0], all.Time[n-1]
	var both sync.WaitGroup
	both.Go(func() {
		i.Pairs = pairs.Distinct(all.Src, all.Dst)
		i.Repeats = float64(n-i.Pairs) / float64(n)
	})
	i.countNodes(all)
	i.countTimes(all)
	both.Wait()
	return i
}

// countNodes counts the nodes that occur at either end of events, a bit for each.
func (i *Info) countNodes(all event.Span) {
	const most, many = 8, 1 << 18 // pairs of tables, and events that are worth one
	workers := min(runtime.GOMAXPROCS(0), most, 1+all.Len()/many)
	words := i.MaxNode/64 + 1
	found := make([][2][]uint64, workers)
	parallel.Each(workers, func(w int) {
		sources, targets := make([]uint64, words), make([]uint64, words)
		lo, hi := w*all.Len()/workers, (w+1)*all.Len()/workers
		for k := lo; k < hi; k++ {
			u, v := uint32(all.Src[k]), uint32(all.Dst[k])
			sources[u/64] |= 1 << (u % 64)
			targets[v/64] |= 1 << (v % 64)
		}
		found[w] = [2][]uint64{sources, targets}
	})
	for word := range words {
		var sources, targets uint64
		for _, own := range found {
			sources |= own[0][word]
			targets |= own[1][word]
		}
		i.Sources += bits.OnesCount64(sources)
		i.Targets += bits.OnesCount64(targets)
		i.Nodes += bits.OnesCount64(sources | targets)
	}
}

// countTimes counts what can be told of each event by itself and the one before.
func (i *Info) countTimes(all event.Span) {
	const some = 1 << 18
	var adding sync.Mutex // guards i
	parallel.Ranges(all.Len(), some, func(_, lo, hi int) {
		var own Info
		density := make([]int, DensityBins)
		for k := lo; k < hi; k++ {
			at := all.Time[k]
			own.Times += count(k == 0 || at != all.Time[k-1])
			own.SelfLoops += count(all.Src[k] == all.Dst[k])
			own.Labels += count(all.Label(k) != 0)
			density[bin(at, i.First, i.Last)]++
		}
		adding.Lock()
		defer adding.Unlock()
		i.Times += own.Times
		i.SelfLoops += own.SelfLoops
		i.Labels += own.Labels
		for b, n := range density {
			i.Density[b] += n
		}
	})
}

func bin(t, first, last event.Time) int {
	if last == first {
		return 0
	}
	return min(int((t-first)/(last-first)*DensityBins), DensityBins-1)
}

func count(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// Shares of the time line's events, from the end, that models are validated and tested on.
const ValShare, TestShare = 0.15, 0.15

// TrainEnd is the time up to which models are trained: that of the published protocol, of all times in ascending order.
func TrainEnd(sorted []float64) float64 {
	val, test := ValShare, TestShare // as numbers of 64 bits, which is how splits take them
	return Quantile(sorted, 1-val-test)
}

// Quantile is the q-quantile of ascending values with linear interpolation, to the last bit as NumPy's. It is NaN for
// no values.
func Quantile(sorted []float64, q float64) float64 {
	return QuantileOf(len(sorted), func(i int) float64 { return sorted[i] }, q)
}

// QuantileOf is the Quantile of n ascending values that are not in one slice.
func QuantileOf(n int, value func(i int) float64, q float64) float64 {
	if n == 0 {
		return math.NaN()
	}
	h := q * float64(n-1)
	j := int(h)
	g := h - float64(j)
	a, b := value(j), value(min(j+1, n-1))
	if g < 0.5 { // the products are rounded before they are added, on every machine
		return a + float64((b-a)*g)
	}
	return b - float64((b-a)*(1-g))
}
