package main

import (
	"strconv"
	"time"

	"github.com/dygmamba/dygmamba/dataset"
)

// units are those of periods on the command line.
var units = map[byte]time.Duration{'s': time.Second, 'm': time.Minute, 'h': time.Hour, 'd': 24 * time.Hour,
	'w': 7 * 24 * time.Hour}

// period is a period of the command line: with a unit such as 7d in seconds, otherwise in the unit of the data.
type period struct {
	flag, text string
	value      float64
	seconds    bool
}

// parsePeriod reads a period such as 90s, 15m, 1h, 7d or 2w, or a plain number.
func parsePeriod(flag, text string) (p period, err error) {
	p = period{flag: flag, text: text}
	number, unit := text, 1.0
	if n := len(text); n > 0 {
		if u, ok := units[text[n-1]]; ok {
			number, unit, p.seconds = text[:n-1], u.Seconds(), true
		}
	}
	p.value, err = strconv.ParseFloat(number, 64)
	if p.value *= unit; err != nil || !(p.value > 0 && p.value < 1e15) {
		return p, usagef("%s is %q, must be a period above 0 such as 90s, 15m, 1h, 7d or 2w, or a number in the unit "+
			"of the data", flag, text)
	}
	return p, nil
}

// in is the period in the unit of a data set's times.
func (p period) in(set *dataset.Set) (float64, error) {
	if !p.seconds {
		return p.value, nil
	}
	clock := set.Clock()
	if !clock.Known() {
		return 0, usagef("%s is %q, but nobody knows how long a unit of the times of %s is; want a plain number in "+
			"that unit", p.flag, p.text, set.Name)
	}
	return p.value * clock.Second(), nil
}
