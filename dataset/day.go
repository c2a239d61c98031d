package dataset

import (
	"fmt"
	"strconv"

	"github.com/dygmamba/dygmamba/event"
)

// Day is how long a day lasts in the unit of a set's times, 0 where nobody knows the unit: see Clock. Times of most
// built-in sets are seconds from some beginning.
func Day(s *Set) event.Time {
	const day = 86400
	if e, found := Lookup(s.Name); found && e.Seconds && s.TimeFormat != TimeDate {
		return day
	}
	return day * s.Clock().Second()
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
