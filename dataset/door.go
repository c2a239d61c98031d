package dataset

import (
	"github.com/dygmamba/dygmamba/dataset/input"
	"github.com/dygmamba/dygmamba/event"
)

// InputError is a complaint about someone's data: where it is, what was found there, and what would have been right.
type InputError = input.Error

// Problems is everything found wrong with some input. It is an error if Total > 0.
type Problems = input.Problems

// How times are written in a source.
const (
	TimeNumber = input.TimeNumber // in whatever unit the data has
	TimeDate   = input.TimeDate   // as dates, kept as seconds since 1970-01-01T00:00:00Z
)

// DateForms says which dates are read.
const DateForms = input.DateForms

// ParseTime reads a time as Import does: a number, or a date in one of DateForms. format says which it was.
func ParseTime(s string) (at event.Time, format string, err error) { return input.ParseTime(s) }

// FormatTime writes a time as ParseTime reads it, so that nothing is lost.
func FormatTime(at event.Time, format string) string { return input.FormatTime(at, format) }
