package run

import (
	"fmt"
	"math"
	"path/filepath"
	"strings"

	"github.com/dygmamba/dygmamba/protocol"
)

// Choice is the seed that answers for a training.
type Choice struct {
	File    string  // its checkpoint
	Of      int     // seeds that there were to choose from
	Measure string  // of validation, that chose: AP, AUC or BitsMeasure
	Value   float64 // of the chosen seed; NaN where none has been validated
}

// ErrorMeasure names that of regression, of which little is good.
const ErrorMeasure = "RMSE"

// BitsMeasure names the measure of the task "next", of which few are good.
const BitsMeasure = "bits per event"

// Dir is the directory of the seed.
func (c Choice) Dir() string { return filepath.Dir(c.File) }

// String says which seed it is and why, "" where there was one only.
func (c Choice) String() string {
	if c.Of < 2 {
		return ""
	}
	name := strings.Replace(filepath.Base(c.Dir()), "-", " ", 1)
	if math.IsNaN(c.Value) {
		return fmt.Sprintf("%s, the first of %d: none has been validated", name, c.Of)
	}
	switch c.Measure {
	case ErrorMeasure:
		return fmt.Sprintf("%s, the best of %d by validation %s (%.4g)", name, c.Of, c.Measure, c.Value)
	case BitsMeasure:
		return fmt.Sprintf("%s, the best of %d by validation, %.3f %s", name, c.Of, c.Value, c.Measure)
	}
	return fmt.Sprintf("%s, the best of %d by validation %s (%.2f)", name, c.Of, c.Measure, 100*c.Value)
}

// Best chooses who answers for what lies at a path: the checkpoint itself, that of a run directory, or of the seeds of
// a training the best by validation; of equal ones the first. The epochs of a seed are judged as its training did.
func Best(path string) (Choice, error) {
	files, err := Checkpoints(path)
	if err != nil {
		return Choice{}, err
	}
	best := Choice{File: files[0], Of: len(files), Measure: "AP", Value: math.NaN()}
	if len(files) == 1 {
		return best, nil
	}
	if err := CheckSameTraining(files); err != nil {
		return Choice{}, err
	}
	for _, file := range files {
		r, err := Open(filepath.Dir(file))
		if err != nil {
			continue // a checkpoint without its record
		}
		if r.Config.Fit != nil { // the run that chose the epoch has its validation
			r.Dir = r.Path(r.Config.Fit.Chosen)
		}
		epochs, err := r.History()
		if err != nil {
			return Choice{}, err
		}
		for _, e := range epochs {
			switch score := e.Judged(); {
			case !e.Improved:
			case e.Next != nil:
				best.take(file, BitsMeasure, score.Bits)
			case r.Task() == protocol.Regression:
				best.take(file, ErrorMeasure, score.RMSE)
			case r.Task() != "":
				best.take(file, "AUC", score.AUC)
			default:
				best.take(file, "AP", score.AP)
			}
		}
	}
	return best, nil
}

// take takes a seed that is better than what there was.
func (c *Choice) take(file, measure string, value float64) {
	better := value > c.Value
	if measure == BitsMeasure || measure == ErrorMeasure {
		better = value < c.Value
	}
	if math.IsNaN(c.Value) || better {
		c.File, c.Measure, c.Value = file, measure, value
	}
}
