package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/dygmamba/dygmamba"
	"github.com/dygmamba/dygmamba/internal/bench"
	"github.com/dygmamba/dygmamba/internal/term"
	"github.com/dygmamba/dygmamba/model"
)

func newBenchStep(a *app) *cobra.Command {
	var data dataFlags
	var what modelFlags
	var where deviceFlags
	var batches int
	cmd := &cobra.Command{
		Use:   "step",
		Short: "Measure the training steps of a model on a data set",
		Args:  takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if batches < 2 {
				return usagef("--batches is %d, must be at least 2", batches)
			}
			factory, err := model.Find(what.name)
			if err != nil {
				return usagef("%v", err)
			}
			set, err := data.open(cmd.Context(), a)
			if err != nil {
				return err
			}
			defer set.Close()
			spec, err := factory.Spec(what.preset, model.DataOf(set), what.set...)
			if err != nil {
				return err
			}
			dev, err := where.open(a)
			if err != nil {
				return err
			}
			defer dev.Close()
			progress := a.console.Progress("measure", "phases")
			report, err := bench.Step{
				Model: what.name, Factory: factory, Spec: spec, Set: set, Device: dev, Threads: where.threads,
				Batches: batches,
				OnPhase: func(done, total int, name string) { progress.Set(int64(done), int64(total), name) },
			}.Run(cmd.Context())
			progress.Done()
			if err != nil {
				return err
			}
			return a.emit(report, func(w io.Writer, s term.Style) error { return writeStep(w, s, report) })
		},
	}
	data.add(cmd)
	what.add(cmd, modelNames, dygmamba.DefaultModel)
	where.add(cmd)
	where.addRounding(cmd)
	cmd.Flags().IntVar(&batches, "batches", 20, "number of training batches to measure")
	return cmd
}

func writeStep(w io.Writer, s term.Style, d bench.StepReport) error {
	ms := func(x float64) string { return fmt.Sprintf("%.1f ms", x) }
	var f term.Facts
	f.Add("model", fmt.Sprintf("%s, preset %s", d.Model, d.Preset))
	f.Add("data", fmt.Sprintf("%s, %d batches of %d positives", d.Data, d.Batches, d.BatchSize))
	f.Add("device", fmt.Sprintf("%s, %d threads", d.Device, d.Threads))
	f.Add("step", fmt.Sprintf("%s, %.2f × the floor of its products", s.Strong(ms(d.Step)), d.Step/d.Floor))
	f.Add("epoch", fmt.Sprintf("%.1f s", d.Epoch))
	f.Add("products", fmt.Sprintf("%.1f GFLOP in %s: %.0f GFLOP/s", d.GFLOP, ms(d.Floor), d.GFLOP/d.Floor*1000))
	f.Add("memory", fmt.Sprintf("%s, %d heap allocations a step", term.Bytes(d.Peak), d.Allocations))
	if err := f.Write(w, s); err != nil {
		return err
	}
	fmt.Fprintln(w)
	t := term.NewTable(term.Left("part"), term.Right("time"), term.Right("of the step"))
	for _, part := range []struct {
		name string
		time float64
	}{{"gather", d.Gather}, {"transfer", d.Transfer}, {"compute", d.Compute}, {"forward", d.Forward},
		{"backward", d.Backward}, {"optimizer", d.Optimizer}} {
		t.Row(part.name, ms(part.time), fmt.Sprintf("%.0f %%", 100*part.time/d.Step))
	}
	if err := t.Write(w, s); err != nil {
		return err
	}
	fmt.Fprintln(w)
	t = term.NewTable(term.Left("kernel"), term.Right("calls"), term.Right("time"))
	for _, k := range d.Kernels {
		t.Row(k.Name, fmt.Sprint(k.Calls), ms(k.Time))
	}
	return t.Write(w, s)
}
