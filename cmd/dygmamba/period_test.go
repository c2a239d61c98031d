package main

import (
	"testing"

	"github.com/dygmamba/dygmamba/dataset"
)

// A period with a unit is in the data's own unit where that is known; a plain number always is.
func TestPeriod(t *testing.T) {
	for _, c := range []struct {
		text, unit string
		want       float64 // 0: refused
	}{{"90s", "s", 90}, {"2h", "s", 7200}, {"7d", "ms", 7 * 86400e3}, {"1.5w", "s", 1.5 * 7 * 86400}, {"12", "", 12},
		{"12", "ms", 12}, {"1d", "", 0}, {"", "s", 0}, {"d", "s", 0}, {"-1d", "s", 0}, {"NaN", "s", 0},
		{"1y", "s", 0}} {
		p, err := parsePeriod("--retain", c.text)
		got := 0.0
		if err == nil {
			got, err = p.in(&dataset.Set{TimeFormat: dataset.TimeNumber, TimeUnit: c.unit})
		}
		if (err != nil) != (c.want == 0) || got != c.want && c.want > 0 {
			t.Errorf("%s in %q: %v, %v; want %v", c.text, c.unit, got, err, c.want)
		}
	}
}
