package dataset

import (
	"fmt"
	"strconv"

	"github.com/dygmamba/dygmamba/event"
)

// Day is how long a day lasts in the unit of a set's times, 0 where nobody knows the unit. Times that were dates are in
// seconds, and so are those of most built-in sets. Numbers that would all be Unix times of the years 1985 to 2100, in
// seconds, milliseconds, microseconds or nanoseconds, are taken for that.
func Day(s *Set) event.Time {
	const day = 86400
	if s.TimeFormat == TimeDate {
		return day
	}
	if e, found := Lookup(s.Name); found && e.Seconds {
		return day
	}
	n := s.Log.Len()
	if n == 0 {
		return 0
	}
	for _, unit := range []float64{1, 1e3, 1e6, 1e9} {
		const from, to = 473385600, 4102444800
		if s.Log.At(0).Time >= from*unit && s.Log.At(n-1).Time <= to*unit {
			return day * unit
		}
	}
	return 0
}

// ParseLength reads a length of time, in the unit of a set's times: 90s, 15m, 1h, 7d, 2w, or a number of units. Day is
// how long a day lasts in that unit, 0 where nobody knows: then only numbers are lengths.
func ParseLength(text string, day event.Time) (event.Time, error) {
	number, unit := text, 1.0
	if n := len(text); n > 0 {
		seconds, known := map[byte]float64{'s': 1, 'm': 60, 'h': 3600, 'd': 86400, 'w': 7 * 86400}[text[n-1]]
		switch {
		case known && day == 0:
			return 0, fmt.Errorf("%q: times of the data are numbers of an unknown unit; want a number", text)
		case known:
			number, unit = text[:n-1], seconds*day/86400
		}
	}
	x, err := strconv.ParseFloat(number, 64)
	if length := x * unit; err == nil && length > 0 && length <= event.MaxTime {
		return length, nil
	}
	return 0, fmt.Errorf("%q is no length of time, want one above 0 such as 90s, 15m, 1h, 7d or 2w", text)
}
