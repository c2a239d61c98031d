package data

import (
	"fmt"
	"math"
	"strconv"

	"github.com/dygmamba/dygmamba/dataset/internal/input"
	"github.com/dygmamba/dygmamba/event"
)

// Units of Unix times.
const (
	UnitSeconds = "s"
	UnitMillis  = "ms"
	UnitMicros  = "us"
	UnitNanos   = "ns"
)

// Units lists them, the longest first.
var Units = []string{UnitSeconds, UnitMillis, UnitMicros, UnitNanos}

// perSecond is how many of a unit a second has.
var perSecond = map[string]float64{UnitSeconds: 1, UnitMillis: 1e3, UnitMicros: 1e6, UnitNanos: 1e9}

var unitWords = map[string]string{UnitSeconds: "seconds", UnitMillis: "milliseconds", UnitMicros: "microseconds",
	UnitNanos: "nanoseconds"}

// Clock tells what the times of a set mean. Where nobody knows, Unit is "" and times are plain numbers.
type Clock struct {
	Unit  string // since 1970-01-01T00:00:00Z
	Dates bool   // times were written as dates
}

// Clock is that of the set: dates, the unit that was named or recognised when it was imported, or else the one in which
// all its times would be dates of the years 1985 to 2100.
func (s *Set) Clock() Clock {
	n := 0
	if s.Log != nil {
		n = s.Log.Len()
	}
	switch {
	case s.TimeFormat == input.TimeDate:
		return Clock{UnitSeconds, true}
	case s.TimeUnit != "":
		return Clock{Unit: s.TimeUnit}
	case n > 0:
		return Clock{Unit: UnixUnit(s.Log.At(0).Time, s.Log.At(n-1).Time)}
	}
	return Clock{}
}

// ClockOf is the clock of times that were written in a format, as numbers of a unit where that is known.
func ClockOf(format, unit string) Clock {
	if format == input.TimeDate {
		return Clock{UnitSeconds, true}
	}
	return Clock{Unit: unit}
}

// Write writes a time as the data have it, so that nothing is lost.
func (c Clock) Write(at event.Time) string {
	if c.Dates {
		return input.FormatTime(at, input.TimeDate)
	}
	return input.FormatTime(at, input.TimeNumber)
}

// UnixUnit is the unit in which times from first to last are dates of the years 1985 to 2100, "" for none.
func UnixUnit(first, last event.Time) string {
	const from, to = 473385600, 4102444800
	for _, unit := range Units {
		if per := perSecond[unit]; first >= from*per && last <= to*per {
			return unit
		}
	}
	return ""
}

// Known says whether times are dates, whatever they were written as.
func (c Clock) Known() bool { return c.Unit != "" }

// Second is how long a second is in the unit of the times, 0 where nobody knows.
func (c Clock) Second() float64 { return perSecond[c.Unit] }

// Show writes a time for people: as a date where it is one, to the second.
func (c Clock) Show(at event.Time) string {
	if !c.Known() {
		return strconv.FormatFloat(at, 'f', -1, 64)
	}
	return input.FormatTime(math.Round(at/c.Second()), input.TimeDate)
}

// Parse reads a time in the unit of the set, or a date where times are dates.
func (c Clock) Parse(text string) (event.Time, error) {
	at, format, err := input.ParseTime(text)
	if err != nil || format == input.TimeDate && !c.Known() {
		return 0, fmt.Errorf("found %s; want %s", input.Quote(text), c.Want())
	}
	if format == input.TimeDate {
		at *= c.Second()
	}
	return at, nil
}

// Want says what Parse reads.
func (c Clock) Want() string {
	if !c.Known() {
		return "a finite number, in the unit of the data"
	}
	return "a date such as 2024-05-01T12:00:00Z, or " + unitWords[c.Unit] + " since 1970"
}

// String says what times are.
func (c Clock) String() string {
	switch {
	case c.Dates:
		return "dates"
	case c.Known():
		return "Unix " + unitWords[c.Unit]
	}
	return "numbers"
}
