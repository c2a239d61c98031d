package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/device/bench"
	"github.com/dygmamba/dygmamba/device/open"
	"github.com/dygmamba/dygmamba/internal/term"
)

func newBenchKernels(a *app) *cobra.Command {
	var where deviceFlags
	var rounds int
	cmd := &cobra.Command{
		Use:   "kernels",
		Short: "Measure matrix products, scans and pointwise kernels against this machine's limits",
		Long: `Measures the kernels that take most of a step's time, and the two limits they can meet: the peak of fused multiply-adds on
registers alone, and the bandwidth of a copy (bytes read and written). Limits and kernels take turns in one run, on the same
threads, and each keeps its shortest time. On the CPU everything runs on one thread and on --threads of them.`,
		Example: `  dygmamba bench kernels
  dygmamba bench kernels --threads 4 --json`,
		Args: takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if rounds < 1 {
				return usagef("--rounds is %d, must be at least 1", rounds)
			}
			devices, err := benchDevices(a, &where)
			if err != nil {
				return err
			}
			for _, dev := range devices {
				defer dev.Close()
			}
			progress := a.console.Progress("measure", "kernels")
			o := bench.Options{Rounds: rounds, Progress: func(done, total int) { progress.Set(int64(done), int64(total), "") }}
			report, err := bench.Kernels(cmd.Context(), o, devices...)
			progress.Done()
			if err != nil {
				return err
			}
			return a.emit(report, func(w io.Writer, s term.Style) error { return writeKernels(w, s, report) })
		},
	}
	where.add(cmd)
	cmd.Flags().IntVar(&rounds, "rounds", 7, "how often everything is measured; the shortest time counts")
	return cmd
}

// benchDevices opens the device, and in front of a CPU with several threads one with a single thread.
func benchDevices(a *app, where *deviceFlags) ([]device.Device, error) {
	dev, err := where.open(a)
	if err != nil {
		return nil, err
	}
	if t, ok := dev.(interface{ Threads() int }); !ok || t.Threads() == 1 {
		return []device.Device{dev}, nil
	}
	one, _, err := open.Device("cpu", open.Options{Threads: 1})
	if err != nil {
		dev.Close()
		return nil, err
	}
	return []device.Device{one, dev}, nil
}

// writeKernels draws one line for each kernel: time, rate and share of its limit on every device.
func writeKernels(w io.Writer, s term.Style, r bench.Report) error {
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
			cells = append(cells, figure("%.2f", res.Millis), figure("%.1f", res.Rate), figure("%.0f %%", 100*res.Share))
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
