package main

import (
	"testing"
	"time"
)

// Lengths of time have the same units everywhere: also days and weeks.
func TestDurations(t *testing.T) {
	for text, want := range map[string]time.Duration{"90s": 90 * time.Second, "1h30m": 90 * time.Minute,
		"250ms": 250 * time.Millisecond, "2d": 48 * time.Hour, "1.5d": 36 * time.Hour, "1w": 168 * time.Hour} {
		var d duration
		if err := d.Set(text); err != nil || time.Duration(d) != want {
			t.Errorf("%q is %v, %v; want %v", text, time.Duration(d), err, want)
		}
	}
	for _, text := range []string{"", "5", "d", "soon", "-2d", "1e999w"} {
		if err := new(duration).Set(text); err == nil {
			t.Errorf("%q is a length of time", text)
		}
	}
	program(t, "train", "--data", trainedRun(t).data, "--max-time", "soon").want(t, exitUsage, "7d or 2w")
}
