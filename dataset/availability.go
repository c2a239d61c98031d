package dataset

import (
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/index"
	"github.com/dygmamba/dygmamba/sample"
)

// Availability measures how much history there is to answer queries from: for both ends of each query, the number of
// interactions strictly before its time. Over the positives and negatives of a test set this is the number of available
// historical neighbours of the DyGMamba paper's appendix, as far as that defines it. The zero value is ready for use.
type Availability struct {
	Ends int   // of queries
	Sum  int64 // interactions
	Max  int   // of one end
}

// Add takes queries over a past.
func (a *Availability) Add(past index.View, qs []sample.Query) {
	for _, q := range qs {
		for _, node := range [2]event.Node{q.Src, q.Dst} {
			n := past.Before(node, q.Time).Len()
			a.Ends++
			a.Sum += int64(n)
			a.Max = max(a.Max, n)
		}
	}
}

// Mean is the average over all ends, 0 without any.
func (a *Availability) Mean() float64 {
	if a.Ends == 0 {
		return 0
	}
	return float64(a.Sum) / float64(a.Ends)
}
