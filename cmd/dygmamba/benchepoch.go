package main

import (
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/dygmamba/dygmamba"
	"github.com/dygmamba/dygmamba/internal/bench"
	"github.com/dygmamba/dygmamba/internal/term"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/protocol"
)

func newBenchEpoch(a *app) *cobra.Command {
	var data dataFlags
	var what modelFlags
	var where deviceFlags
	var order protocol.Order
	var e bench.Epoch
	cmd := &cobra.Command{
		Use:   "epoch",
		Short: "Measure how long an epoch takes, over consecutive training events",
		Args:  takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if e.Events < 0 || e.Test < 0 || e.Limit < 0 {
				return usagef("--events is %d, --test %d, --limit %v: none may be negative", e.Events, e.Test, e.Limit)
			}
			if err := checkOrder(order); err != nil {
				return err
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
			if err := factory.SetOrder(&spec, order); err != nil {
				return err
			}
			dev, err := where.open(a)
			if err != nil {
				return err
			}
			defer dev.Close()
			e.Model, e.Factory, e.Spec, e.Set, e.Device, e.Threads = what.name, factory, spec, set, dev, where.threads
			progress := a.console.Progress("measure", "events")
			e.OnStep = func(done, total int, rate float64) {
				progress.Set(int64(done), int64(total), fmt.Sprintf("%.0f events/s", rate))
			}
			report, err := e.Run(cmd.Context())
			progress.Done()
			if err != nil {
				return err
			}
			return a.emit(report, func(w io.Writer, s term.Style) error { return writeEpoch(w, s, report) })
		},
	}
	data.add(cmd)
	what.add(cmd, modelNames, dygmamba.DefaultModel)
	where.add(cmd)
	where.addRounding(cmd)
	addOrder(cmd, &order)
	flags := cmd.Flags()
	flags.IntVar(&e.Events, "events", 0, "number of training events to measure (default: a fifth)")
	durationVar(flags, &e.Limit, "limit", 0, "end the measured steps after this time (default: no limit)")
	flags.IntVar(&e.Test, "test", 20_000, "number of events after the measured ones to test the model on")
	flags.BoolVar(&e.Gather, "gather", false, "measure gathering alone, and compute nothing")
	return cmd
}

func writeEpoch(w io.Writer, s term.Style, r bench.EpochReport) error {
	var f term.Facts
	f.Add("model", fmt.Sprintf("%s, preset %s", r.Model, r.Preset))
	f.Add("data", fmt.Sprintf("%s, events %s to %s of %s, in batches of %d", r.Data, term.Count(r.First+1),
		term.Count(r.First+r.Events), term.Count(r.All), r.BatchSize))
	f.Add("device", fmt.Sprintf("%s, %d threads", r.Device, r.Threads))
	if r.Order != "" {
		f.Add("order", r.Order)
	}
	f.Add("start", secondsText(r.Start))
	f.Add("epoch", fmt.Sprintf("%s, at %s events/s over %s", s.Strong(secondsText(r.Epoch)), term.Count(int(r.Rate)),
		time.Duration(r.Seconds*float64(time.Second)).Round(100*time.Millisecond)))
	f.Add("batch", fmt.Sprintf("%.2f ms; gathering takes %.2f ms beside it, and is waited for %.2f ms",
		r.Step, r.Gather, r.Wait))
	f.Add("sampler", term.Count(int(r.Edges))+" edges/s")
	if t := r.Tested; t != nil {
		f.Add("test", fmt.Sprintf("AP %.2f, AUC %.2f on the next %s events; EdgeBank: AP %.2f", 100*t.AP, 100*t.AUC,
			term.Count(t.Events), 100*t.EdgeBank))
	}
	return f.Write(w, s)
}
