package main

import (
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"github.com/dygmamba/dygmamba/dataset"
)

// durationVar adds a flag for a length of time, in all the units that questions about data take too.
func durationVar(flags *pflag.FlagSet, to *time.Duration, name string, value time.Duration, usage string) {
	*to = value
	flags.Var((*duration)(to), name, usage)
	if value == 0 {
		flags.Lookup(name).DefValue = "" // nothing, for the help
	}
}

// duration is a flag such as 90s, 1h30m, 7d or 2w.
type duration time.Duration

// Set takes what time.ParseDuration does, and days and weeks.
func (d *duration) Set(text string) error {
	x, err := time.ParseDuration(text)
	if err != nil {
		seconds, failed := dataset.ParseLength(text, 86400)
		if failed != nil || text[len(text)-1] < 'a' { // a number needs a unit
			return fmt.Errorf("want a length of time such as 90s, 15m, 1h, 7d or 2w")
		}
		x = time.Duration(seconds * float64(time.Second))
	}
	*d = duration(x)
	return nil
}

func (d *duration) String() string { return time.Duration(*d).String() }

// Type names it in the help.
func (d *duration) Type() string { return "duration" }
