package data

import (
	"slices"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/internal/idset"
)

// Info is the statistics of a data set.
type Info struct {
	Name                       string
	Nodes, Sources, Targets    int // that occur, that occur as source, as destination
	MaxNode                    int // the largest id; above Nodes where ids have gaps
	Events                     int
	NodeFeatures, EdgeFeatures int  // columns
	NodeZero, EdgeZero         bool // all of them are 0
	Bipartite                  bool
	Times                      int // distinct timestamps
	First, Last                event.Time
	TimeFormat                 string
	Pairs                      int     // distinct ordered pairs
	Repeats                    float64 // part of the events whose ordered pair met before
	SelfLoops                  int
	Labels                     int   // labels that are not 0
	Density                    []int // events in each of DensityBins equal parts of the time from first to last
}

// DensityBins is the number of parts in Info.Density.
const DensityBins = 40

// Stats measures a data set.
func Stats(s *Set) Info {
	all := s.Log.All()
	n := all.Len()
	i := Info{Name: s.Name, Events: n, MaxNode: max(0, s.NumNodes()-1), NodeFeatures: s.Node.Cols,
		EdgeFeatures: s.Edge.Cols, NodeZero: s.Node.Data == nil, EdgeZero: s.Edge.Data == nil, Bipartite: s.Bipartite,
		TimeFormat: s.TimeFormat, Density: make([]int, DensityBins)}
	if n == 0 {
		return i
	}
	i.First, i.Last = all.Time[0], all.Time[n-1]
	var nodes, sources, targets idset.Set
	pairs := make([]uint64, n)
	for k := range n {
		e := all.At(k)
		pairs[k] = uint64(uint32(e.Src))<<32 | uint64(uint32(e.Dst))
		i.Nodes += count(nodes.Add(e.Src)) + count(nodes.Add(e.Dst))
		i.Sources += count(sources.Add(e.Src))
		i.Targets += count(targets.Add(e.Dst))
		i.Times += count(k == 0 || e.Time != all.Time[k-1])
		i.SelfLoops += count(e.Src == e.Dst)
		i.Labels += count(e.Label != 0)
		i.Density[bin(e.Time, i.First, i.Last)]++
	}
	slices.Sort(pairs)
	i.Pairs = len(slices.Compact(pairs))
	i.Repeats = float64(n-i.Pairs) / float64(n)
	return i
}

// bin is the part of the time line that t falls into.
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
