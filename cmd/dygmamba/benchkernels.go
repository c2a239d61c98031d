package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/device/open"
	"github.com/dygmamba/dygmamba/internal/kernelbench"
	"github.com/dygmamba/dygmamba/internal/term"
)

func newBenchKernels(a *app) *cobra.Command {
	var where deviceFlags
	var rounds int
	cmd := &cobra.Command{
		Use:   "kernels",
		Short: "Measure matrix products, scans and pointwise kernels against the limits of the machine",
		Args:  takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if rounds < 1 {
				return usagef("--rounds is %d, must be at least 1", rounds)
			}
			dev, err := where.open(a)
			if err != nil {
				return err
			}
			defer dev.Close()
			devices := []device.Device{dev}
			if t, ok := dev.(device.Threaded); ok && t.Threads() > 1 { // everything on one thread alone, too
				one, _, err := open.Device("cpu", open.Options{Threads: 1})
				if err != nil {
					return err
				}
				defer one.Close()
				devices = []device.Device{one, dev}
			}
			progress := a.console.Progress("measure", "kernels")
			report, err := kernelbench.Kernels(cmd.Context(), kernelbench.Options{
				Rounds: rounds, Progress: func(done, total int) { progress.Set(int64(done), int64(total), "") },
			}, devices...)
			progress.Done()
			if err != nil {
				return err
			}
			return a.emit(report, func(w io.Writer, s term.Style) error { return writeKernels(w, s, report) })
		},
	}
	where.add(cmd)
	where.addRounding(cmd)
	cmd.Flags().IntVar(&rounds, "rounds", 7, "number of measurements of each kernel; the shortest time counts")
	return cmd
}

// writeKernels draws one line for each kernel: time, rate and share of its limit on every device.
func writeKernels(w io.Writer, s term.Style, r kernelbench.Report) error {
	for i, name := range r.Devices {
		fmt.Fprintf(w, "%s %s\n", s.Dim(fmt.Sprintf("(%d)", i+1)), name)
	}
	columns := []term.Column{term.Left("kernel"), term.Left("size")}
	for i := range r.Devices {
		columns = append(columns, term.Right(fmt.Sprintf("ms (%d)", i+1)), term.Right("rate"), term.Right("of limit"))
	}
	if len(r.Devices) > 1 {
		columns = append(columns, term.Right("speed-up"))
	}
	t := term.NewTable(append(columns, term.Left("unit"))...)
	unit := ""
	for _, k := range r.Kernels {
		if k.Unit != unit {
			t.Gap()
			unit = k.Unit
		}
		cells := []string{k.Name, k.Size}
		for _, res := range k.Results {
			cells = append(cells, figure("%.2f", res.Millis), figure("%.1f", res.Rate),
				figure("%.0f %%", 100*res.Share))
		}
		if len(r.Devices) > 1 {
			cells = append(cells, figure("%.2f", k.SpeedUp()))
		}
		t.Row(append(cells, k.Unit)...)
	}
	return t.Write(w, s)
}

// figure formats a number, and leaves out what was not measured.
func figure(format string, x float64) string {
	if !(x > 0) {
		return ""
	}
	return fmt.Sprintf(format, x)
}
