package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/dygmamba/dygmamba/internal/report"
	"github.com/dygmamba/dygmamba/internal/term"
	"github.com/dygmamba/dygmamba/predict"
	"github.com/dygmamba/dygmamba/protocol"
	"github.com/dygmamba/dygmamba/run"
)

func newReport(a *app) *cobra.Command {
	var from loadFlags
	var o report.Options
	var out string
	cmd := &cobra.Command{
		Use:   "report RUN",
		Short: "Write a page about a run: training, test results, calibration, example cases",
		Args:  takes("the directory of a run"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := from.where.check(); err != nil {
				return err
			}
			if err := oneOf("setting", o.Scenario, protocol.Scenarios()...); err != nil {
				return err
			}
			if err := oneOf("negatives", o.Negatives, protocol.Published()...); err != nil {
				return err
			}
			if o.Cases < 0 || o.Cases > mostCases {
				return usagef("--cases is %d, must be from 0 to %d", o.Cases, mostCases)
			}
			dir, err := a.oneRun(args[0])
			if err != nil {
				return err
			}
			for _, seed := range run.Seeds(args[0]) {
				o.Seeds = append(o.Seeds, run.SeedDir(args[0], seed))
			}
			if out == "" {
				out = filepath.Join(dir, "report.html")
				if info, err := os.Stat(args[0]); err == nil && info.IsDir() {
					out = filepath.Join(args[0], "report.html")
				}
			}
			if err := endingEarly("out", out, ".html"); err != nil {
				return err
			}
			o.Dir = dir
			return a.report(cmd.Context(), o, from, out)
		},
	}
	from.addRecorded(cmd)
	flags := cmd.Flags()
	flags.StringVar(&out, "out", "", "`file` for the page (default: report.html in RUN)")
	choiceVar(flags, &o.Scenario, "setting", protocol.Transductive,
		"test setting: transductive or inductive")
	choiceVar(flags, &o.Negatives, "negatives", protocol.RandomNegatives,
		"kind of negatives: random, historical or inductive")
	flags.IntVar(&o.Cases, "cases", 3,
		"number of cases to show of each kind: missed, false alarms, expected, dismissed")
	completeWith(cmd, "setting", protocol.Scenarios()...)
	completeWith(cmd, "negatives", protocol.Published()...)
	return cmd
}

// mostCases is more than anyone reads.
const mostCases = 100

func (a *app) report(ctx context.Context, o report.Options, from loadFlags, out string) error {
	opened, err := a.openRun(ctx, from, filepath.Join(o.Dir, run.CheckpointFile))
	if err != nil {
		return err
	}
	defer opened.close()
	if err := opened.spare("out", out, nil); err != nil {
		return err
	}
	if _, err := endingOf("out", out, ".html"); err != nil {
		return err
	}
	o.Set = opened.set
	o.Predictor, err = opened.predictor()
	switch {
	case errors.Is(err, predict.ErrNext):
		if o.Chooser, err = predict.LoadChooser(opened.files[0], opened.load); err != nil {
			return loadError(err)
		}
		defer o.Chooser.Close()
	case err != nil:
		return err
	default:
		defer o.Predictor.Close()
	}
	progress := a.console.Progress("report", "events")
	defer progress.Done()
	o.OnBatch = func(what string, done, total int) { progress.Set(int64(done), int64(total), what) }
	r, err := report.Make(ctx, o)
	if err != nil {
		return err
	}
	progress.Done()
	for _, n := range r.Notes {
		a.log().Warn(n)
	}
	if err := replaceFile(out, r.WritePage); err != nil {
		return err
	}
	r.Page = out
	return a.emit(r, func(w io.Writer, s term.Style) error {
		var f term.Facts
		f.Add("run", fmt.Sprintf("%s, %s on %s, seed %d", r.Run, r.Model, r.Data.Name, r.Seed))
		if n := r.Next; n != nil {
			f.Add("test", fmt.Sprintf("%.3f bits per event, MRR %s %%", n.WhoBits, term.Percent(*n.MRR)))
		} else {
			f.Add("test", fmt.Sprintf("AP %s, AUC %s, calibration error %s", term.Percent(r.Measured.AP),
				term.Percent(r.Measured.AUC), term.Percent(r.Reliability.ECE)))
		}
		f.Add("page", s.Strong(out))
		f.Add("took", term.Duration(time.Duration(r.Seconds*float64(time.Second))))
		return f.Write(w, s)
	})
}
