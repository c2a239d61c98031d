// Package feature answers: how do columns as people have them become numbers that a model can read?
//
// A Reader takes the cells of a column: words, numbers, dates, and those that are missing. Fit looks at the part of
// them that models are trained on and makes a Column of it, which encodes the others, and whatever comes later, in
// the same way.
package feature

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/dygmamba/dygmamba/dataset/internal/input"
)

// Kinds of columns.
const (
	Number   = "number"   // scaled to mean 0 and deviation 1
	Category = "category" // a feature for each value, or hashed where there are many
	Date     = "date"     // taken apart: when in the day, the week and the year, and how late
)

// Kinds lists them.
func Kinds() []string { return []string{Number, Category, Date} }

// Column is how the cells of one column become features. What it knows was fitted once and is kept with the data set.
type Column struct {
	Name string `json:"name"`
	Kind string `json:"kind"`

	// Of numbers, and of dates in seconds since 1970.
	Mean      float64  `json:"mean,omitempty"`
	Deviation float64  `json:"deviation,omitempty"`     // never 0
	Missing   bool     `json:"missing,omitempty"`       // a feature tells where the value is missing
	Words     []string `json:"missing_words,omitempty"` // that stand for a missing value, beside the usual ones
	Clock     bool     `json:"clock,omitempty"`         // dates have a time of day

	// Of categories: Values, or Hashed where there are too many to have a feature each.
	Values []string `json:"values,omitempty"` // the most frequent first; "" is the one of missing cells
	Hashed int      `json:"hashed,omitempty"` // features, of which every value takes two
	Seen   int      `json:"seen,omitempty"`   // different values that were seen while fitting

	slots map[string]int // of Values
}

// Width is the number of features.
func (c *Column) Width() int {
	if c.Kind == Category {
		return len(c.Values) + c.Hashed
	}
	n := 1
	if c.Kind == Date {
		n += 2 * len(c.circles())
	}
	if c.Missing {
		n++
	}
	return n
}

// Titles names the features.
func (c *Column) Titles() []string {
	var list []string
	if c.Kind == Category {
		for _, v := range c.Values {
			list = append(list, c.Name+"="+v)
		}
		for i := range c.Hashed {
			list = append(list, c.Name+"#"+strconv.Itoa(i+1))
		}
		return list
	}
	list = append(list, c.Name)
	if c.Kind == Date {
		for _, circle := range c.circles() {
			list = append(list, c.Name+"_"+circle.name+"_sin", c.Name+"_"+circle.name+"_cos")
		}
	}
	if c.Missing {
		list = append(list, c.Name+"_missing")
	}
	return list
}

// Check says what is wrong with a column that came from a file.
func (c *Column) Check() error {
	fits := false
	switch c.Kind {
	case Number, Date:
		fits = len(c.Values)+c.Hashed == 0 && c.Deviation > 0 && input.Finite(c.Mean) && input.Finite(c.Deviation)
	case Category:
		fits = (c.Hashed == 0 || c.Hashed >= 2 && len(c.Values) == 0) && c.Hashed <= mostCategories
	}
	if !fits || c.Name == "" {
		return fmt.Errorf("column %q of kind %q: mean %v, deviation %v, %d values, %d hashed", c.Name, c.Kind, c.Mean,
			c.Deviation, len(c.Values), c.Hashed)
	}
	return nil
}

// Want says what cells of the column must be.
func (c *Column) Want() string {
	return want(c.Kind) + ", as in the rows that were imported, or nothing"
}

// About says in a few words what becomes of the column.
func (c *Column) About() string {
	text := fmt.Sprintf("scaled by mean %.6g and deviation %.6g", c.Mean, c.Deviation)
	switch {
	case c.Hashed > 0:
		return fmt.Sprintf("%d values, hashed", c.Seen)
	case c.Kind == Category:
		return "one for each value: " + c.shown()
	case c.Kind == Date:
		var parts []string
		for _, circle := range c.circles() {
			parts = append(parts, circle.name)
		}
		mean := time.Unix(int64(c.Mean), 0).UTC().Format(time.DateOnly)
		text = fmt.Sprintf("%s, and how late: mean %s, deviation %.4g days", strings.Join(parts, ", "), mean,
			c.Deviation/day)
	}
	if c.Missing {
		text += "; missing values filled with the mean, and told by a feature"
	}
	return text
}

func (c *Column) shown() string {
	const most = 4
	var list []string
	for _, v := range c.Values[:min(most, len(c.Values))] {
		if v == "" {
			v = "(missing)"
		}
		list = append(list, v)
	}
	if len(c.Values) > most {
		list = append(list, "…")
	}
	return strings.Join(list, ", ")
}
