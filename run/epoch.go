package run

// Epoch is what is known of one epoch, a line of the log.
type Epoch struct {
	Epoch  int     `json:"epoch"`
	Loss   float64 `json:"train_loss"` // means over batches
	AP     float64 `json:"train_ap"`
	AUC    float64 `json:"train_auc"`
	Val    *Metric `json:"val,omitempty"`
	NewVal *Metric `json:"new_node_val,omitempty"` // absent where no such events exist
	// Validation with other negatives, where that has a say in which epoch is the best.
	HistoricalVal *Metric `json:"val_historical,omitempty"`
	InductiveVal  *Metric `json:"val_inductive,omitempty"`
	TimeVal       *Metric `json:"val_time,omitempty"`

	Test     *Metric `json:"test,omitempty"` // only when asked for: information, never used to choose
	NewTest  *Metric `json:"new_node_test,omitempty"`
	Improved bool    `json:"improved"`
	Events   float64 `json:"events_per_second"` // training only
	Seconds  Seconds `json:"seconds"`
}

// Judged is what epochs are compared by: the validation, or the mean over the kinds of negatives where others have a
// say. Without validation events training itself must do.
func (e Epoch) Judged() Score {
	if e.Val == nil {
		return Score{AP: e.AP, AUC: e.AUC}
	}
	sum, kinds := e.Val.Score, 1.0
	for _, other := range []*Metric{e.HistoricalVal, e.InductiveVal, e.TimeVal} {
		if other != nil {
			sum.AP, sum.AUC, kinds = sum.AP+other.AP, sum.AUC+other.AUC, kinds+1
		}
	}
	return Score{AP: sum.AP / kinds, AUC: sum.AUC / kinds}
}

// Metric is a set's mean over batches.
type Metric struct {
	Loss float64 `json:"loss"`
	Score
}

// Seconds says where an epoch's time went.
type Seconds struct {
	Train    float64 `json:"train"`
	Waiting  float64 `json:"waiting"` // of Train: for batches to be gathered
	Evaluate float64 `json:"evaluate"`
}

// Score is what an epoch is judged by: average precision and area under the ROC curve on the validation set.
type Score struct {
	AP  float64 `json:"ap"`
	AUC float64 `json:"auc"`
}
