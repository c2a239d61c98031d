// Package event answers: what happened, in order?
package event

import (
	"errors"
	"fmt"
	"math"
)

// Node is a dense node id from 1; 0 is padding and never a node.
type Node = int32

// Edge is an event's id from 1, the row of its features; 0 is padding.
type Edge = int32

// Kind is what kind of interaction an event is, a number from 1 that its data set has a name for; 0: none is known.
type Kind = uint16

// Time is a moment, in the unit of the data. Times stay float64 until two of them are subtracted.
type Time = float64

// MaxTime is how far a time may be from 0: the difference of any two such times fits into 32 bits.
const MaxTime Time = 1e38

// Event is one interaction: Src did something with Dst at Time.
type Event struct {
	Src, Dst Node
	Time     Time
	Label    float32 // state label of Src at this event; 0 where there is none
	Edge     Edge
	Kind     Kind
}

// ErrInvalid is in the chain of every error about an event that no log accepts.
var ErrInvalid = errors.New("invalid event")

// Check says what is wrong with e: ids below 1, a time beyond MaxTime, or a time or label that is no number.
// Edge 0 is right, it asks the log to number the event.
func (e Event) Check() error {
	switch {
	case e.Src < 1:
		return fmt.Errorf("%w: source %d, node ids start at 1", ErrInvalid, e.Src)
	case e.Dst < 1:
		return fmt.Errorf("%w: destination %d, node ids start at 1", ErrInvalid, e.Dst)
	case !(math.Abs(e.Time) <= MaxTime): // NaN too
		return fmt.Errorf("%w: time %v, must be a number between %g and %g", ErrInvalid, e.Time, -MaxTime, MaxTime)
	case e.Label-e.Label != 0: // NaN and the infinities
		return fmt.Errorf("%w: label %v, must be a finite number", ErrInvalid, e.Label)
	case e.Edge < 0:
		return fmt.Errorf("%w: edge %d, edge ids start at 1", ErrInvalid, e.Edge)
	}
	return nil
}
