package run

import (
	"fmt"
	"math"
	"path/filepath"
	"strings"
)

// Choice is the seed that answers for a training.
type Choice struct {
	File    string  // its checkpoint
	Of      int     // seeds that there were to choose from
	Measure string  // of validation, that chose: AP or AUC
	Value   float64 // of the chosen seed; NaN where none has been validated
}

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
		epochs, err := r.History()
		if err != nil {
			return Choice{}, err
		}
		labels := r.Task() != ""
		for _, e := range epochs {
			measure, value := "AP", e.Judged().AP
			if labels {
				measure, value = "AUC", e.Judged().AUC
			}
			if e.Improved && (math.IsNaN(best.Value) || value > best.Value) {
				best.File, best.Measure, best.Value = file, measure, value
			}
		}
	}
	return best, nil
}
