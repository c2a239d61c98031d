package model

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dygmamba/dygmamba/protocol"
)

// Training says how a model learns. Its JSON names are the ones --set takes, and about says what they are.
type Training struct {
	BatchSize    int     `json:"batch_size" in:"[1,inf)" about:"events per step, each with a negative"`
	LearningRate float64 `json:"learning_rate" in:"(0,1]" about:"step size of the optimizer"`
	Epochs       int     `json:"num_epochs" in:"[1,inf)" about:"maximum number of epochs"`
	Patience     int     `json:"patience" in:"[1,inf)" about:"epochs without improvement before it stops"`
	Optimizer    string  `json:"optimizer" about:"Adam, SGD or RMSprop"` // however capitalised
	// WeightDecay is left out where there is none: older configurations keep their bytes.
	WeightDecay float64 `json:"weight_decay,omitempty" in:"[0,1]" about:"L2 penalty of the optimizer"`
	// What follows is left out where it is as in the reference programs, too.
	Negatives protocol.Shares `json:"negatives_*,omitzero"` // settings of their own, negatives_<kind>
	SelectBy  string          `json:"select_by,omitempty" about:"negatives that choose epochs: random, all, time, kind"`
	Calibrate bool            `json:"calibrate,omitempty" about:"fit probabilities to validation data"`
}

// MarshalJSON writes the shares of negatives beside the other settings.
func (t Training) MarshalJSON() ([]byte, error) {
	type plain Training
	return protocol.MarshalInline(plain(t), t.Negatives, protocol.SharePrefix)
}

// UnmarshalJSON reads what MarshalJSON wrote. What is missing stays as it is.
func (t *Training) UnmarshalJSON(raw []byte) error {
	type plain Training
	return protocol.UnmarshalInline(raw, (*plain)(t), &t.Negatives, protocol.SharePrefix)
}

// ByKind says whether queries tell the kind of the event that is asked about: training tells kinds apart.
func (t Training) ByKind() bool { return t.Negatives[protocol.KindNegatives] > 0 }

// steps is what of Training concerns a rule.
type steps struct {
	BatchSize int `json:"batch_size" about:"events that are scored, then remembered, together"`
}

// Standard is how the reference programs train every model.
var Standard = Training{
	BatchSize: 200, LearningRate: 1e-4, Epochs: 100, Patience: 20, Optimizer: "Adam",
	Negatives: protocol.PlainShares(),
}

// Check says what is wrong with t.
func (t Training) Check() error {
	if err := checkBounds(t); err != nil {
		return err
	}
	if !slices.Contains([]string{"adam", "sgd", "rmsprop"}, strings.ToLower(t.Optimizer)) {
		return fmt.Errorf("optimizer is %q, must be Adam, SGD or RMSprop", t.Optimizer)
	}
	if t.SelectBy != "" {
		if err := protocol.Check("select_by is", t.SelectBy, protocol.Selections()); err != nil {
			return err
		}
	}
	return t.Negatives.Check()
}
