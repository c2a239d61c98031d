package model

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dygmamba/dygmamba/sample"
)

// Training says how a model learns. Its JSON names are the ones --set takes, and about says what they are.
type Training struct {
	BatchSize    int     `json:"batch_size" about:"events of a step, each with a negative"`
	LearningRate float64 `json:"learning_rate" about:"how far a step goes"`
	Epochs       int     `json:"num_epochs" about:"at most so many"`
	Patience     int     `json:"patience" about:"epochs without a better one till it stops"`
	Optimizer    string  `json:"optimizer" about:"Adam, SGD or RMSprop"` // however capitalised
	// WeightDecay is left out where there is none: older configurations keep their bytes.
	WeightDecay float64 `json:"weight_decay,omitempty" about:"how strongly weights are drawn to 0"`
	// What follows is left out where it is as in the reference programs, too.
	NegativesRandom     Whole   `json:"negatives_random,omitzero" about:"share of negatives with another destination"`
	NegativesHistorical float64 `json:"negatives_historical,omitempty" about:"share of pairs that met before"`
	NegativesTime       float64 `json:"negatives_time,omitempty" about:"share of the same pair at another time"`
	SelectBy            string  `json:"select_by,omitempty" about:"validation that chooses an epoch: random, all, time"`
	Calibrate           bool    `json:"calibrate,omitempty" about:"fit probabilities to validation"`
}

// Whole is a share that is 1 where nothing else is said, and then not written down.
type Whole float64

// IsZero says that there is nothing to write down.
func (w Whole) IsZero() bool { return w == 1 }

// Values of Training.SelectBy.
const (
	SelectByRandom = "random" // "" too: validation with random negatives, as in the reference programs
	SelectByAll    = "all"    // the mean validation AP over all three kinds of negatives
	SelectByTime   = "time"   // the mean validation AP over random and time negatives: who, and when
)

// Shares are the proportions of the kinds of negatives.
func (t Training) Shares() sample.Shares {
	return sample.Shares{Random: float64(t.NegativesRandom), Historical: t.NegativesHistorical, Time: t.NegativesTime}
}

// steps is what of Training concerns a rule.
type steps struct {
	BatchSize int `json:"batch_size" about:"events that are asked about, then remembered, at once"`
}

// Standard is how the reference programs train every model.
var Standard = Training{
	BatchSize: 200, LearningRate: 1e-4, Epochs: 100, Patience: 20, Optimizer: "Adam", NegativesRandom: 1,
}

// Check says what is wrong with t.
func (t Training) Check() error {
	switch {
	case t.BatchSize < 1:
		return fmt.Errorf("batch_size is %d, must be at least 1", t.BatchSize)
	case !(t.LearningRate > 0) || t.LearningRate > 1:
		return fmt.Errorf("learning_rate is %v, must be above 0 and at most 1", t.LearningRate)
	case t.Epochs < 1:
		return fmt.Errorf("num_epochs is %d, must be at least 1", t.Epochs)
	case t.Patience < 1:
		return fmt.Errorf("patience is %d, must be at least 1", t.Patience)
	case !slices.Contains([]string{"adam", "sgd", "rmsprop"}, strings.ToLower(t.Optimizer)):
		return fmt.Errorf("optimizer is %q, must be Adam, SGD or RMSprop", t.Optimizer)
	case !(t.WeightDecay >= 0) || t.WeightDecay > 1:
		return fmt.Errorf("weight_decay is %v, must be at least 0 and at most 1", t.WeightDecay)
	case !slices.Contains([]string{"", SelectByRandom, SelectByAll, SelectByTime}, t.SelectBy):
		return fmt.Errorf("select_by is %q, must be %s, %s or %s", t.SelectBy, SelectByRandom, SelectByAll,
			SelectByTime)
	}
	return t.Shares().Check()
}
