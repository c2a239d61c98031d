package main

import (
	"strconv"
	"time"
)

// units are those of durations on the command line.
var units = map[byte]time.Duration{'s': time.Second, 'm': time.Minute, 'h': time.Hour, 'd': 24 * time.Hour,
	'w': 7 * 24 * time.Hour}

// parsePeriod reads a period such as 90s, 15m, 1h, 7d or 2w in seconds, or a plain number in the unit of the data.
func parsePeriod(flag, text string) (float64, error) {
	number, unit := text, 1.0
	if n := len(text); n > 0 {
		if u, ok := units[text[n-1]]; ok {
			number, unit = text[:n-1], u.Seconds()
		}
	}
	v, err := strconv.ParseFloat(number, 64)
	if err != nil || !(v > 0 && v*unit < 1e15) {
		return 0, usagef("%s is %q, must be a period above 0 such as 90s, 15m, 1h, 7d or 2w, or a number in the unit "+
			"of the data", flag, text)
	}
	return v * unit, nil
}
