package eval

import (
	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/event"
)

// DataRecord tells which events were used.
type DataRecord struct {
	Name   string `json:"name"`
	Events int    `json:"events"`
	Nodes  int    `json:"nodes"` // that occur
	Hash   string `json:"hash"`  // SHA-256 of events and features
}

// RecordData describes a data set.
func RecordData(set *dataset.Set) DataRecord {
	seen, count, all := make([]bool, set.NumNodes()), 0, set.Log.All()
	for _, nodes := range [][]event.Node{all.Src, all.Dst} {
		for _, n := range nodes {
			if !seen[n] {
				seen[n] = true
				count++
			}
		}
	}
	return DataRecord{set.Name, set.Log.Len(), count, set.Hash()}
}

// SplitRecord tells how events were cut, in numbers of events.
type SplitRecord struct {
	Hash     string `json:"hash"`
	Train    int    `json:"train"`
	Val      int    `json:"val"`
	Test     int    `json:"test"`
	NewVal   int    `json:"new_node_val"`
	NewTest  int    `json:"new_node_test"`
	NewNodes int    `json:"new_nodes"`
}

// RecordSplit describes a split.
func RecordSplit(s *dataset.Split) SplitRecord {
	return SplitRecord{
		Hash: s.Hash, Train: s.Train.Len(), Val: s.Val.Len(), Test: s.Test.Len(),
		NewVal: s.NewVal.Len(), NewTest: s.NewTest.Len(), NewNodes: len(s.NewNodes),
	}
}
