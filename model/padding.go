package model

import (
	"fmt"

	"github.com/dygmamba/dygmamba/sample"
)

// Padding says how long the rows are that hold histories of different lengths. Where nothing hides the padding, models
// see its length.
type Padding string

// The two ways of padding.
const (
	PadFixed Padding = "fixed" // as long as configured
	PadCall  Padding = "call"  // as long as the longest of their call needs, sources and destinations apart
)

// Check says what is wrong with p.
func (p Padding) Check() error {
	if p != PadFixed && p != PadCall {
		return fmt.Errorf("padding is %q, must be %q or %q", string(p), PadFixed, PadCall)
	}
	return nil
}

// Plan is a plan with a row for each of a query's nodes: of the given length, or as long as its call asks for, rounded
// up to whole patches.
func (p Padding) Plan(row sample.Draw, length, patch int) sample.Plan {
	if p == PadCall {
		row.RowMultiple = patch
	} else {
		row.RowLen = (length + patch - 1) / patch * patch
	}
	return sample.Plan{Draws: sample.Both(row), ByCall: p == PadCall}
}

// Conditions say what scores depend on beside their own past, see Spec.Conditions.
func (p Padding) Conditions() []string {
	if p == PadCall {
		return []string{"padding by call: a score depends on the other queries of its call; " +
			"the longest history sets the length"}
	}
	return nil
}

// Notes say so before training.
func (p Padding) Notes() []string {
	if p == PadCall {
		return []string{"padding=call makes rows as long as the longest of their call, and positives and negatives " +
			"are two calls: the length may tell one from the other; padding=fixed does not"}
	}
	return nil
}
