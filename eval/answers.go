package eval

import "github.com/dygmamba/dygmamba/sample"

// Answers are what a scorer said about one batch. The slices are valid until the listener returns.
type Answers struct {
	Batch   int // from 0
	Queries []sample.Query
	Right   []bool    // what should have been said: it happened, or the source has the label
	Scores  []float32 // probabilities as they are measured, 1/(1+e^−logit), or whatever a replay.Ranker ranks by
	Logits  []float32 // what the scorer said itself
	// Paired is how many of the queries are about events. Negatives of query i stand Paired, 2·Paired, … behind it; 0:
	// there are none.
	Paired int
}

// right is what should be said of n queries, of which the first are about events.
func right(to []bool, n, events int) []bool {
	for i := range n {
		to = append(to, i < events)
	}
	return to
}
