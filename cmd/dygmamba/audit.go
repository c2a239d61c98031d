package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/dygmamba/dygmamba/audit"
	"github.com/dygmamba/dygmamba/internal/queries"
	"github.com/dygmamba/dygmamba/internal/term"
	"github.com/dygmamba/dygmamba/protocol"
	"github.com/dygmamba/dygmamba/run"
)

func newAudit(a *app) *cobra.Command {
	var from loadFlags
	var scores string
	var scenario protocol.Scenario
	var negatives protocol.Negatives
	var noStamp bool
	cmd := &cobra.Command{
		Use:   "audit RUN",
		Short: "Check whether the numbers of a run, or the scores of any program, can be trusted",
		Args: func(cmd *cobra.Command, args []string) error {
			if scores != "" {
				return takes()(cmd, args)
			}
			return takes("the directory of a run, or --scores with a file")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := from.where.check(); err != nil {
				return err
			}
			if scores == "" {
				for _, name := range []string{"setting", "negatives"} {
					if cmd.Flags().Changed(name) {
						return usagef("--%s needs --scores; a run has its own", name)
					}
				}
				return a.auditRuns(cmd.Context(), args[0], from, !noStamp)
			}
			if err := cmp.Or(oneOf("setting", scenario, protocol.Scenarios()...),
				oneOf("negatives", negatives, protocol.Published()...)); err != nil {
				return err
			}
			return a.auditScores(cmd.Context(), scores, from.data,
				audit.ScoresOptions{Scenario: scenario, Strategy: negatives})
		},
	}
	from.addRecorded(cmd)
	flags := cmd.Flags()
	flags.StringVar(&scores, "scores", "",
		"`file` with the scores of any program: u,i,ts,label,score; '-' is standard input")
	choiceVar(flags, &scenario, "setting", protocol.Transductive, "with --scores: transductive or inductive")
	choiceVar(flags, &negatives, "negatives", protocol.RandomNegatives,
		"with --scores: kind of negatives: random, historical or inductive")
	flags.BoolVar(&noStamp, "no-stamp", false, "do not write audit.json to the run directory")
	completeWith(cmd, "setting", protocol.Scenarios()...)
	completeWith(cmd, "negatives", protocol.Published()...)
	return cmd
}

// recorded are the directories of the seeds that a path has, with or without their checkpoints.
func recorded(path string) ([]string, error) {
	if run.Exists(filepath.Join(path, run.ConfigFile)) {
		return []string{path}, nil
	}
	var dirs []string
	for _, seed := range run.Seeds(path) {
		dirs = append(dirs, run.SeedDir(path, seed))
	}
	if dirs != nil {
		return dirs, nil
	}
	best, err := run.Best(path)
	return []string{best.Dir()}, err
}

func (a *app) auditRuns(ctx context.Context, path string, from loadFlags, stamp bool) error {
	dirs, err := recorded(path)
	if err != nil {
		return err
	}
	o, err := a.openRun(ctx, from, filepath.Join(dirs[0], run.CheckpointFile))
	if err != nil {
		return err
	}
	defer o.close()
	var all audit.Training
	for _, dir := range dirs {
		progress := a.console.Progress("audit", "events")
		defer progress.Done()
		if mark := run.Mark(dir); mark != "" {
			a.log().Warn(dir + " is " + mark)
		}
		r, err := audit.Run(ctx, audit.Options{
			Dir: dir, Set: o.set, Device: o.dev, Threads: from.where.threads,
			OnBatch: func(what string, done, total int) { progress.Set(int64(done), int64(total), what) },
		})
		if err != nil {
			return err
		}
		progress.Done()
		if stamp {
			if err := audit.WriteStamp(dir, o.dev.Name(), r); err != nil {
				return err
			}
		}
		if len(dirs) == 1 {
			return a.verdict(r, r)
		}
		all.Add(dir, r)
	}
	return a.verdict(&all, &all.Report, all.Runs...)
}

func (a *app) auditScores(ctx context.Context, file string, data dataFlags, o audit.ScoresOptions) (err error) {
	if o.Set, err = data.open(ctx, a); err != nil {
		return err
	}
	defer o.Set.Close()
	if o.Scores, err = queries.NewReader(o.Set).OpenScores(file, a.in); err != nil {
		return err
	}
	r, err := audit.Scores(o)
	if err != nil {
		return err
	}
	return a.verdict(r, r)
}

// verdict prints what was found, of several seeds what was found of each. All but a pass is an exit code of 1.
func (a *app) verdict(doc any, r *audit.Report, seeds ...audit.Judged) error {
	err := a.emit(doc, func(w io.Writer, s term.Style) error {
		for _, c := range r.Checks {
			mark, want := s.Good("ok  "), ""
			if !c.OK {
				mark, want = s.Bad("NOT "), "\n      want  "+c.Want
			}
			text := fmt.Sprintf("%s  %s\n      found %s%s\n", mark, s.Strong(c.Name), c.Found, want)
			if cols := term.Width(w); cols > 0 {
				text = term.Wrap(text, cols)
			}
			if _, err := io.WriteString(w, text); err != nil {
				return err
			}
		}
		judged := func(verdict string) string {
			if verdict == audit.Pass {
				return s.Good(verdict)
			}
			return s.Bad(verdict)
		}
		fmt.Fprintln(w)
		for _, one := range seeds {
			fmt.Fprintf(w, "%s: %s\n", one.Run, judged(one.Verdict))
		}
		_, err := fmt.Fprintf(w, "verdict: %s\n", judged(r.Verdict))
		return err
	})
	if err != nil || r.Verdict == audit.Pass {
		return err
	}
	n := 0
	for _, c := range r.Checks {
		if !c.OK {
			n++
		}
	}
	return fmt.Errorf("verdict %s: %d of %d checks failed", r.Verdict, n, len(r.Checks))
}
