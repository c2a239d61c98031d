package dataset

import (
	"fmt"

	"github.com/dygmamba/dygmamba/event"
)

// place is where a value stands, for complaints about it.
type place struct {
	file      string
	line, row int
	finder    *finder
}

func (p place) bad(column, found, want string) {
	p.finder.add(&InputError{File: p.file, Line: p.line, Row: p.row, Column: column, Found: found, Want: want})
}

// wantWithin is said of times that are too far away.
var wantWithin = fmt.Sprintf("a time between %g and %g", -event.MaxTime, event.MaxTime)

// wantFloat32 is said of labels and features that are no numbers, or too large.
const wantFloat32 = "a finite number that fits into 32 bits"
