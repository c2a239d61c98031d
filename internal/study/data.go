package study

import (
	"context"
	"maps"
	"slices"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/eval"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/protocol"
)

// DataFacts are the statistics of a data set.
type DataFacts struct {
	Hash         string         `json:"hash"`
	Nodes        int            `json:"nodes"`
	Events       int            `json:"events"`
	EdgeFeatures int            `json:"edge_features"` // columns that are not all zero
	Times        int            `json:"times"`
	First        float64        `json:"first"`
	Last         float64        `json:"last"`
	Bipartite    bool           `json:"bipartite"`
	Histories    []HistoryFacts `json:"histories"`
	Pairs        []PairFacts    `json:"pairs,omitempty"` // where there are few
	Gaps         []float64      `json:"gaps,omitempty"`  // of one pair, from one meeting to the next
	Warnings     []string       `json:"warnings,omitempty"`
}

// HistoryFacts is how many earlier interactions the nodes of test queries have.
type HistoryFacts struct {
	Scenario  protocol.Scenario  `json:"setting"`
	Negatives protocol.Negatives `json:"negatives"`
	Mean      float64            `json:"mean"`
	Max       int                `json:"max"`
}

// PairFacts is how often pairs meet in a part of the events.
type PairFacts struct {
	Part string  `json:"part"` // training, all or period
	Mean float64 `json:"mean"`
	Min  float64 `json:"min"`
	Max  float64 `json:"max"`
}

// describe finds the statistics of a data set.
func describe(ctx context.Context, set *source, threads int) (*DataFacts, error) {
	i := dataset.Stats(set.Set)
	f := &DataFacts{Hash: set.hash, Nodes: i.Nodes, Events: i.Events, Times: i.Times, First: i.First, Last: i.Last,
		Bipartite: i.Bipartite, Warnings: set.Set.Warnings}
	if !i.EdgeZero {
		f.EdgeFeatures = i.EdgeFeatures
	}
	test, err := eval.Open(set.Set, eval.Options{Threads: threads})
	if err != nil {
		return nil, err
	}
	found, err := test.Histories(ctx)
	if err != nil {
		return nil, err
	}
	for _, h := range found {
		f.Histories = append(f.Histories, HistoryFacts{h.Scenario, h.Strategy, h.Mean(), h.Max})
	}
	const few = 1000
	if i.Pairs <= few {
		f.pairs(set.Set.Log.All(), test.Split().Train.All())
	}
	return f, nil
}

// pairs counts meetings, and takes the gaps of the first pair.
func (f *DataFacts) pairs(all, training event.Span) {
	times := meetings(all)
	f.Pairs = append(f.Pairs, spread("training", counts(meetings(training))), spread("all", counts(times)))
	var each []float64
	for _, t := range times {
		periods := 1
		for i := 2; i < len(t); i++ {
			if t[i]-t[i-1] < (t[i-1]-t[i-2])-1 { // growing gaps that start over
				periods++
			}
		}
		if periods > 1 {
			each = append(each, float64(len(t)-1)/float64(periods))
		}
	}
	if len(each) == len(times) && len(each) > 0 {
		f.Pairs = append(f.Pairs, spread("period", each))
	}
	pairs := slices.DeleteFunc(slices.Collect(maps.Keys(times)), func(p [2]event.Node) bool { return p[0] == p[1] })
	if len(pairs) > 0 {
		first := times[slices.MinFunc(pairs, func(a, b [2]event.Node) int { return slices.Compare(a[:], b[:]) })]
		for i := 1; i < len(first); i++ {
			f.Gaps = append(f.Gaps, first[i]-first[i-1])
		}
	}
}

// meetings are the times at which each pair met, in order.
func meetings(events event.Span) map[[2]event.Node][]float64 {
	times := map[[2]event.Node][]float64{}
	for i := range events.Len() {
		k := [2]event.Node{events.Src[i], events.Dst[i]}
		times[k] = append(times[k], events.Time[i])
	}
	return times
}

func counts(times map[[2]event.Node][]float64) (list []float64) {
	for _, t := range times {
		list = append(list, float64(len(t)))
	}
	return list
}

func spread(part string, x []float64) PairFacts {
	p := PairFacts{Part: part}
	if len(x) == 0 {
		return p
	}
	slices.Sort(x) // sums depend on the order
	p.Min, p.Max = x[0], x[len(x)-1]
	for _, v := range x {
		p.Mean += v / float64(len(x))
	}
	return p
}
