package input

import (
	"fmt"

	"github.com/dygmamba/dygmamba/event"
)

// Place is where a value stands, for complaints about it.
type Place struct {
	File      string
	Line, Row int
	finder    *Finder
}

// Bad notes what was found there, and what would have been right.
func (p Place) Bad(column, found, want string) {
	p.finder.Add(&Error{File: p.File, Line: p.Line, Row: p.Row, Column: column, Found: found, Want: want})
}

// WantWithin is said of times that are too far away.
var WantWithin = fmt.Sprintf("a time between %g and %g", -event.MaxTime, event.MaxTime)

// WantFloat32 is said of labels and features that are no numbers, or too large.
const WantFloat32 = "a finite number that fits into 32 bits"
