package data

import (
	"math"
	"sync"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/internal/idset"
	"github.com/dygmamba/dygmamba/internal/pairs"
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
	var sources, targets idset.Set
	for k := range n {
		e := all.At(k)
		if sources.Add(e.Src) {
			i.Sources++
			i.Nodes += count(!targets.Has(e.Src))
		}
		if targets.Add(e.Dst) {
			i.Targets++
			i.Nodes += count(!sources.Has(e.Dst))
		}
		i.Times += count(k == 0 || e.Time != all.Time[k-1])
		i.SelfLoops += count(e.Src == e.Dst)
		i.Labels += count(e.Label != 0)
		i.Density[bin(e.Time, i.First, i.Last)]++
	}
	both.Wait()
	return i
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
