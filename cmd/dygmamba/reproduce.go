package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/dygmamba/dygmamba/internal/study"
	"github.com/dygmamba/dygmamba/internal/term"
)

// workerCommand is what the program is started with to carry out a part of a reproduction.
const workerCommand = "reproduce-worker"

func newReproduce(a *app) *cobra.Command {
	var where deviceFlags
	var datasets, chosen []string
	var plan bool
	var spread spreadFlags
	o := study.Options{Seeds: 1, Fetch: true}
	cmd := &cobra.Command{
		Use:   "reproduce TABLE|FIGURE|all…",
		Short: "Show the paper's tables and figures beside our own numbers",
		Args:  atLeast(1, "reproduce needs the name of a table or figure, or all; 'reproduce list' lists them"),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			names := []string{"all"}
			for _, e := range study.Exhibits() {
				names = append(names, e.ID+"\t"+e.Title)
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkReproduce(&o, where); err != nil {
				return err
			}
			o.Names, o.Datasets, o.Models = args, words(datasets), words(chosen)
			if err := spread.check(&o); err != nil {
				return err
			}
			return a.launch(cmd.Context(), o, where, spread, plan, a.reproduce)
		},
	}
	where.add(cmd)
	flags := cmd.Flags()
	flags.StringSliceVar(&datasets, "datasets", nil, "only these data sets (default: all of the paper's)")
	flags.StringSliceVar(&chosen, "models", nil, "only these models (default: all of the paper's)")
	flags.IntVar(&o.Seeds, "seeds", 1, "seeds of every training, from 0 on; the paper has 5")
	durationVar(flags, &o.Budget, "budget", 0,
		"end within this time, such as 20m or 2h, report included (default: when all is done)")
	flags.StringVar(&o.Out, "out", "reproduction", "directory of runs, measurements and the report")
	flags.StringSliceVar(&o.Earlier, "runs", nil,
		"`paths` of earlier runs that count as done: directories, or records as in results/")
	flags.StringVar(&o.Into, "into", "",
		"`directory` of records that every run is added to when it is done (default: none); see 'reproduce record'")
	flags.IntVar(&o.Jobs, "jobs", 0, "trainings at once (default: 1 on a CPU, up to 6 on a GPU)")
	flags.IntVar(&o.Epochs, "epochs", 0, "maximum number of epochs, for a first look (default: as published)")
	flags.BoolVar(&o.Fetch, "fetch", true, "download data sets that are not there, where there is a network")
	flags.BoolVar(&plan, "plan", false, "show what would be done, and how long it may take, and stop")
	spread.add(cmd)
	addDataDir(cmd, &o.DataDir)
	complete(cmd, "models", modelNames)
	cmd.AddCommand(newReproduceList(a), newReproduceRuns(a), newReproduceRecord(a))
	return cmd
}

func newReproduceWorker(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     workerCommand,
		Short:   "Carry out a part of a reproduction; reproduce starts it",
		Example: "  dygmamba reproduce all    starts what it needs",
		Hidden:  true,
		Args:    takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			a.answered = true
			return study.Serve(cmd.Context(), a.in, a.out)
		},
	}
}

// atLeast is the argument check of commands that take any number of arguments from some on.
func atLeast(n int, why string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		switch {
		case len(args) >= n:
			return nil
		case n == 1:
			return usagef("%s", why)
		}
		return usagef("%s, found %d", why, len(args))
	}
}

// checkReproduce looks at the flags alone.
func checkReproduce(o *study.Options, where deviceFlags) error {
	if err := where.check(); err != nil {
		return err
	}
	switch {
	case o.Seeds < 1 || o.Seeds > mostRuns:
		return usagef("--seeds is %d, must be from 1 to %d", o.Seeds, mostRuns)
	case o.Jobs < 0 || o.Jobs > 256:
		return usagef("--jobs is %d, must be from 1 to 256", o.Jobs)
	case o.Epochs < 0:
		return usagef("--epochs is %d, must be a number of epochs", o.Epochs)
	case o.Budget < 0 || o.Budget > 0 && o.Budget < 10*time.Second:
		return usagef("--budget is %v, must be a span of time such as 20m or 2h, at least 10s", o.Budget)
	case o.Out == "":
		return usagef("--out is empty, must be a directory")
	}
	return nil
}

// words are the values of a list without spaces around them; nil for none.
func words(list []string) (out []string) {
	for _, x := range list {
		if x = strings.TrimSpace(x); x != "" {
			out = append(out, x)
		}
	}
	return out
}

// versionText is the version in one line, for records.
func versionText() string {
	v := version()
	text := v.Version
	if v.Revision != "" {
		text += fmt.Sprintf(", revision %.12s", v.Revision)
	}
	if v.Modified {
		text += " with changes not committed"
	}
	return text
}

func (a *app) previewPlan(ctx context.Context, o study.Options) error {
	p, err := study.Preview(ctx, o)
	if err != nil {
		return err
	}
	return a.emit(p, func(w io.Writer, s term.Style) error {
		fmt.Fprintf(w, "%s on %s, %d at once, the most informative first\n", term.Counted(len(p.Runs), "run"), p.Device,
			p.Jobs)
		fmt.Fprintf(w, "%s\n\n", p.Sum())
		t := term.NewTable(term.Left("run"), term.Left("state"), term.Right("minimum"), term.Right("typical"))
		for _, r := range p.Runs {
			least, expects := "", ""
			if r.State != study.Done {
				least, expects = term.Duration(seconds(r.Least)), term.Duration(seconds(r.Expects))
			}
			t.Row(r.Run, r.State, least, expects)
		}
		if err := t.Write(w, s); err != nil {
			return err
		}
		return writeMissing(w, p.Missing)
	})
}

func (a *app) reproduce(ctx context.Context, o study.Options) error {
	report, err := a.carryOut(ctx, "reproduce", o)
	if err != nil {
		return err
	}
	return a.emit(report, func(w io.Writer, s term.Style) error { return writeReproduction(w, s, o, report) })
}

// carryOut trains and measures, and says how far it is.
func (a *app) carryOut(ctx context.Context, name string, o study.Options) (*study.Report, error) {
	progress := a.console.Progress(name, "runs")
	o.OnState = func(s study.State) {
		line := fmt.Sprintf("%d done, %d running, %d left, %s", s.Done, s.Running, s.Left,
			term.Duration(s.Spent.Round(time.Second)))
		if o.Budget > 0 {
			line += " of " + term.Duration(o.Budget)
		}
		if s.Ahead > 0 {
			line += ", about " + term.Duration(s.Ahead.Round(time.Second)) + " to go"
		}
		if len(s.Now) > 0 {
			line += ": " + strings.Join(s.Now, ", ")
		}
		progress.Say(line, time.Minute)
	}
	report, err := study.Run(ctx, o)
	progress.Done()
	if errors.Is(err, context.Canceled) && report != nil {
		a.log().Info(fmt.Sprintf("what was done is kept and reported in %s; the same command goes on", o.Out))
	}
	return report, err
}

// writeReproduction tells where the report is, and what it has.
func writeReproduction(w io.Writer, s term.Style, o study.Options, r *study.Report) error {
	var f term.Facts
	f.Add("report", s.Strong(filepath.Join(o.Out, study.PageFile))+", "+study.MarkdownFile+", "+
		study.ReportFile)
	f.Add("runs", fmt.Sprintf("%d done, %d unfinished, %d failed, %d not begun", r.Counted(study.Done),
		r.Counted(study.Unfinished), r.Counted(study.Failed), r.Counted(study.NotBegun)))
	for _, p := range r.Phases {
		f.Add(p.Name, term.Duration(seconds(p.Seconds)))
	}
	if err := f.Write(w, s); err != nil {
		return err
	}
	return writeMissing(w, r.Missing)
}

// writeMissing tells which data sets are not there, and what would bring them.
func writeMissing(w io.Writer, list []study.Missing) error {
	if len(list) == 0 {
		return nil
	}
	fmt.Fprintln(w, "\nmissing data sets:")
	for _, m := range list {
		if _, err := fmt.Fprintf(w, "  %s\n", m.Command); err != nil {
			return err
		}
	}
	return nil
}
