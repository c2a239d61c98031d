package run

import (
	"github.com/dygmamba/dygmamba/eval"
	"github.com/dygmamba/dygmamba/protocol"
)

// Epoch is what is known of one epoch, a line of the log.
type Epoch struct {
	Epoch  int     `json:"epoch"`
	Loss   float64 `json:"train_loss"` // means over batches
	AP     float64 `json:"train_ap"`
	AUC    float64 `json:"train_auc"`
	Val    *Metric `json:"val,omitempty"`
	NewVal *Metric `json:"new_node_val,omitempty"` // absent where no such events exist
	// Others is validation with other negatives, where that has a say in which epoch is the best.
	Others Validations `json:"val_*,omitempty"`

	Test    *Metric `json:"test,omitempty"` // only when asked for: information, never used to choose
	NewTest *Metric `json:"new_node_test,omitempty"`
	// Next is validation of the task "next", and NextTest its test, only when asked for.
	Next     *eval.Next `json:"next,omitempty"`
	NextTest *eval.Next `json:"next_test,omitempty"`
	Improved bool       `json:"improved"`
	Events   float64    `json:"events_per_second"` // training only
	Seconds  Seconds    `json:"seconds"`
}

// Validations are means over validation events by kind of negatives, written as val_<kind>.
type Validations map[protocol.Negatives]*Metric

const validationPrefix = "val_"

// MarshalJSON writes them in the order of kinds.
func (v Validations) MarshalJSON() ([]byte, error) {
	return protocol.MarshalMembers(v, validationPrefix)
}

// MarshalJSON writes validations of all kinds beside the other members.
func (e Epoch) MarshalJSON() ([]byte, error) {
	type plain Epoch
	return protocol.MarshalInline(plain(e), e.Others, validationPrefix)
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (e *Epoch) UnmarshalJSON(raw []byte) error {
	type plain Epoch
	return protocol.UnmarshalInline(raw, (*plain)(e), &e.Others, validationPrefix)
}

// Judged is what epochs are compared by: the validation, or the mean over the kinds of negatives where others have a
// say. Without validation events training itself must do.
func (e Epoch) Judged() Score {
	if e.Next != nil {
		return Score{Bits: e.Next.WhoBits}
	}
	if e.Val == nil {
		return Score{AP: e.AP, AUC: e.AUC}
	}
	if e.Val.RMSE > 0 {
		return e.Val.Score
	}
	sum, kinds := e.Val.Score, 1.0
	for _, k := range protocol.Kinds() { // in this order: the sum is the same in every run
		if other := e.Others[k.Name]; other != nil {
			sum.AP, sum.AUC, kinds = sum.AP+other.AP, sum.AUC+other.AUC, kinds+1
		}
	}
	return Score{AP: sum.AP / kinds, AUC: sum.AUC / kinds}
}

// Metric is a set's mean over batches.
type Metric struct {
	Loss float64 `json:"loss"`
	Score
	// Which of the events were asked about, nil: all, and what that leaves open: see eval.Result.
	Sampled     *eval.Sampled `json:"sampled,omitempty"`
	APInterval  *[2]float64   `json:"ap_ci,omitempty"`
	AUCInterval *[2]float64   `json:"auc_ci,omitempty"`
	// Of several classes.
	Accuracy *float64 `json:"accuracy,omitempty"`
	MacroF1  *float64 `json:"macro_f1,omitempty"`
}

// Seconds says where an epoch's time went.
type Seconds struct {
	Train    float64 `json:"train"`
	Waiting  float64 `json:"waiting"` // of Train: for batches to be gathered
	Evaluate float64 `json:"evaluate"`
}

// Score is what an epoch is judged by on the validation set: average precision and area under the ROC curve, or bits.
type Score struct {
	AP  float64 `json:"ap"`
	AUC float64 `json:"auc"`
	// Bits per event, of the task "next" alone.
	Bits float64 `json:"who_bits,omitempty"`
	// Errors in the unit of the value, of regression alone.
	MAE  float64 `json:"mae,omitempty"`
	RMSE float64 `json:"rmse,omitempty"`
}
