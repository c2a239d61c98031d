package main

import (
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/dygmamba/dygmamba/internal/term"
)

// writeWhen shows what a seed says of the times of events.
func (r *nextResultDoc) writeWhen(w io.Writer, s term.Style) error {
	if r.When == nil {
		return nil
	}
	fmt.Fprintln(w, strings.TrimSpace("When does a source act?  "+s.Dim(r.Variant))+"\n")
	t := term.NewTable(term.Left("within"), term.Right("expected"), term.Right("observed"),
		term.Right("calibration error %"), term.Right("Brier score"), term.Right("of the base rate"))
	days := r.Hours != nil
	for _, x := range r.Windows {
		t.Row(x.Length(days), rounded(x.Expected), rounded(x.Observed),
			term.Percent(x.ECE), fmt.Sprintf("%.5f", x.Brier), fmt.Sprintf("%.5f", x.Base))
	}
	if err := t.Write(w, s); err != nil {
		return err
	}
	if len(r.Windows) > 0 {
		fmt.Fprintf(w, "\n  %s\n\n", s.Dim(fmt.Sprintf("of a random known source and its most frequent destination, "+
			"at %s random test times for each window", term.Count(r.Windows[0].Asked))))
	}
	var f term.Facts
	unit := "in the unit of the data's times"
	if days {
		unit = "time in days"
	}
	f.Add("nats per event", fmt.Sprintf("%.4f, %s; fewer are better", r.Nats, unit))
	f.Add("test period", rounded(r.Total.Expected)+" events expected, "+rounded(r.Total.Observed)+" observed")
	r.addHours(&f)
	if err := f.Write(w, s); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w)
	return err
}

// rounded is a number of events, with a decimal where it is small.
func rounded(events float64) string {
	if events < 100 {
		return fmt.Sprintf("%.1f", events)
	}
	return term.Count(int64(math.Round(events)))
}

// addHours draws the hours of the day, where days are known.
func (r *nextResultDoc) addHours(f *term.Facts) {
	if r.Hours == nil {
		return
	}
	var expected, observed []float64
	for _, h := range r.Hours {
		expected, observed = append(expected, h.Expected), append(observed, h.Observed)
	}
	f.Add("hour of day", term.Spark(expected)+"  expected")
	f.Add("", term.Spark(observed)+"  observed")
	f.Add("", fmt.Sprintf("%d of 24 hours differ by more than 5 %% and two standard deviations",
		r.HoursOff()))
}
