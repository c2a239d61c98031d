package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dygmamba/dygmamba"
	"github.com/dygmamba/dygmamba/internal/queue"
	"github.com/dygmamba/dygmamba/internal/study"
	"github.com/dygmamba/dygmamba/internal/term"
	"github.com/dygmamba/dygmamba/models"
	"github.com/dygmamba/dygmamba/run"
)

func newStudy(a *app) *cobra.Command {
	var where deviceFlags
	var data, chosen, axes []string
	var plan bool
	var spread spreadFlags
	own := &study.Own{}
	o := study.Options{Own: own}
	cmd := &cobra.Command{
		Use:   "study",
		Short: "Compare models on your own data: models × data sets × seeds under equal conditions",
		Args:  takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkReproduce(&o, where); err != nil {
				return err
			}
			own.Data, own.Models, own.Axes = words(data), words(chosen), nil
			for _, text := range axes {
				axis, err := run.ParseAxis(text)
				if err != nil {
					return usagef("--sweep: %v", err)
				}
				own.Axes = append(own.Axes, axis)
			}
			switch {
			case len(own.Data) == 0:
				return usagef("--data is missing: name one data set or more, such as a.dgm,b.dgm")
			case own.Trials < 0 || own.Trials > 0 && len(own.Axes) == 0:
				return usagef("--trials is %d: it needs --sweep, and must be at least 1", own.Trials)
			}
			if err := spread.check(&o); err != nil {
				return err
			}
			return a.launch(cmd.Context(), o, where, spread, plan, a.study)
		},
	}
	where.add(cmd)
	flags := cmd.Flags()
	flags.StringSliceVar(&data, "data", nil, "data sets: names, directories or files made by 'data import'")
	flags.StringSliceVar(&chosen, "models", []string{dygmamba.DefaultModel, models.Leading},
		"models to compare")
	flags.StringVar(&own.Preset, "preset", "", "preset of all models (default: each at its full size)")
	flags.StringArrayVar(&axes, "sweep", nil,
		"values of a setting to try for every model, as `key=value,value,…`, or key=low..high with --trials; "+
			"repeatable")
	flags.IntVar(&own.Trials, "trials", 0,
		"with --sweep: number of random combinations to try for each model (default: all combinations)")
	flags.IntVar(&o.Seeds, "seeds", 1, "seeds of every training, from 0 on")
	durationVar(flags, &o.Budget, "budget", 0,
		"end within this time, such as 20m or 2h, report included; every training gets the same share "+
			"(default: when all is done)")
	flags.IntVar(&o.Epochs, "epochs", 0,
		"equal epochs instead of equal time: at most this many for every training (default: the preset's)")
	flags.StringVar(&o.Out, "out", "study", "directory of the runs and of study.html, .md, .csv, .json and .tex")
	flags.StringSliceVar(&o.Earlier, "runs", nil,
		"`paths` of earlier runs that count as done: directories, or records as in results/")
	flags.IntVar(&o.Jobs, "jobs", 0, "trainings at once (default: 1 on a CPU, up to 6 on a GPU)")
	flags.BoolVar(&plan, "plan", false, "show what would be done, and how long it may take, and stop")
	spread.add(cmd)
	addDataDir(cmd, &o.DataDir)
	complete(cmd, "models", modelNames)
	return cmd
}

// launch does what a command asks for, which trains in processes of its own, or shows the plan of that.
func (a *app) launch(
	ctx context.Context, o study.Options, where deviceFlags, spread spreadFlags, plan bool,
	do func(context.Context, study.Options) error,
) error {
	o.Device, o.Threads, o.Log, o.Version = where.name, where.threads, a.log(), versionText()
	if program, err := os.Executable(); err == nil {
		o.Launch = study.Process(program, workerCommand)
	}
	if plan {
		do = a.previewPlan
	} else if spread.queue != "" {
		q, err := queue.Open(ctx, spread.queue)
		if err != nil {
			return err
		}
		defer q.Close()
		if o.Launch == nil {
			o.Launch = study.Here
		}
		o.Launch = q.Launch(o.Launch)
	}
	err := do(ctx, o)
	if errors.Is(err, study.ErrName) {
		return usagef("%v", err)
	}
	return err
}

func (a *app) study(ctx context.Context, o study.Options) error {
	report, err := a.carryOut(ctx, "study", o)
	if err != nil {
		return err
	}
	page := filepath.Join(o.Out, study.OwnFile)
	if a.json {
		raw, err := os.ReadFile(page + ".json")
		if err != nil {
			return err
		}
		a.answered = true
		_, err = a.out.Write(raw)
		return err
	}
	return a.emit(report, func(w io.Writer, s term.Style) error {
		for _, e := range report.Exhibits {
			for _, t := range e.Tables {
				fmt.Fprintln(w, s.Strong(t.Title))
				if err := t.WriteTerm(w, s); err != nil {
					return err
				}
				fmt.Fprintln(w)
			}
		}
		var f term.Facts
		f.Add("study", s.Strong(page+".html")+", "+strings.Join(study.Formats[1:], ", "))
		f.Add("runs", fmt.Sprintf("%d done, %d cut by time, %d unfinished, %d failed, %d not begun",
			report.Counted(study.Done), report.Counted(study.Cut), report.Counted(study.Unfinished),
			report.Counted(study.Failed), report.Counted(study.NotBegun)))
		return f.Write(w, s)
	})
}
