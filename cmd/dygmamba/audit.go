package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/dygmamba/dygmamba/audit"
	"github.com/dygmamba/dygmamba/eval"
	"github.com/dygmamba/dygmamba/internal/queries"
	"github.com/dygmamba/dygmamba/internal/term"
	"github.com/dygmamba/dygmamba/run"
)

func newAudit(a *app) *cobra.Command {
	var data dataFlags
	var where deviceFlags
	var scores, scenario, negatives string
	var noStamp bool
	cmd := &cobra.Command{
		Use:   "audit RUN",
		Short: "Say whether a run's numbers, or any program's scores, can be trusted",
		Long: `Asks the questions of a run's test again and looks at the answers from outside the model: same data, ` +
			`split and
negatives; metrics by a second implementation; an epoch that validation chose; scores that change neither with the batch
they are asked in nor with what lies at or after their time. It also says what rules that learned nothing would ` +
			`get. Runs
that classify nodes have no negatives and no such rules; the rest is looked at all the same.

  pass   all is as the record says, and nothing leaks                                     exit 0
  leak   a score changes with its batch, or with what lies at or after its time           exit 1
  fail   the record is not what this run gives, or what is missing keeps one from telling exit 1

What was found is kept in RUN as audit.json, beside the result. RUN is the directory of a training with one seed, or of
one of its seeds; docs/TRUST.md tells what each check is for.

With --scores FILE, a CSV with the columns u,i,ts,label,score in the order of the test (batches of 200 events, label 1,
each followed by its negatives, label 0), the same is asked of any other program: are these the events, the negatives
and the metrics of the protocol?`,
		Example: `  dygmamba audit runs/uci
  dygmamba audit runs/uci/seed-1 --json
  dygmamba audit --scores scores.csv --data uci --setting transductive --negatives random`,
		Args: func(cmd *cobra.Command, args []string) error {
			if scores != "" {
				return takes()(cmd, args)
			}
			return takes("the directory of a run, or --scores with a file")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := where.check(); err != nil {
				return err
			}
			if scores == "" {
				for _, name := range []string{"setting", "negatives"} {
					if cmd.Flags().Changed(name) {
						return usagef("--%s is for --scores, a run has its own", name)
					}
				}
				return a.auditRun(cmd.Context(), args[0], data, where, !noStamp)
			}
			if err := oneOf("setting", scenario, eval.Scenarios()...); err != nil {
				return err
			}
			if err := oneOf("negatives", negatives, eval.Strategies()...); err != nil {
				return err
			}
			return a.auditScores(cmd.Context(), scores, data,
				audit.ScoresOptions{Scenario: scenario, Strategy: negatives})
		},
	}
	data.add(cmd)
	where.add(cmd)
	flags := cmd.Flags()
	flags.StringVar(&scores, "scores", "",
		"`file` with any program's scores: u,i,ts,label,score; '-' is standard input")
	flags.StringVar(&scenario, "setting", eval.Transductive, "of --scores: transductive or inductive")
	flags.StringVar(&negatives, "negatives", eval.Random, "of --scores: random, historical or inductive")
	flags.BoolVar(&noStamp, "no-stamp", false, "leave the run's directory as it is")
	completeWith(cmd, "setting", eval.Scenarios()...)
	completeWith(cmd, "negatives", eval.Strategies()...)
	return cmd
}

// recorded is the directory of the one seed that a path has, with or without its checkpoint.
func recorded(path string) (string, error) {
	if _, err := os.Stat(filepath.Join(path, run.ConfigFile)); err == nil {
		return path, nil
	}
	seeds := run.Seeds(path)
	switch len(seeds) {
	case 0:
		return oneRun(path)
	case 1:
		return run.SeedDir(path, seeds[0]), nil
	}
	first := run.SeedDir(path, seeds[0])
	return "", usagef("%s holds %d runs, choose one of them, such as %s", path, len(seeds), first)
}

func (a *app) auditRun(ctx context.Context, path string, data dataFlags, where deviceFlags, stamp bool) error {
	dir, err := recorded(path)
	if err != nil {
		return err
	}
	set, dev, err := a.openFor(ctx, dir, data, where)
	if err != nil {
		return err
	}
	defer set.Close()
	defer dev.Close()
	progress := a.console.Progress("audit", "events")
	defer progress.Done()
	r, err := audit.Run(ctx, audit.Options{
		Dir: dir, Set: set, Device: dev, Threads: where.threads,
		OnBatch: func(what string, done, total int) { progress.Set(int64(done), int64(total), what) },
	})
	if err != nil {
		return err
	}
	progress.Done()
	if stamp {
		if err := audit.WriteStamp(dir, dev.Name(), r); err != nil {
			return err
		}
	}
	return a.verdict(r)
}

func (a *app) auditScores(ctx context.Context, file string, data dataFlags, o audit.ScoresOptions) (err error) {
	if o.Set, err = data.open(ctx, a); err != nil {
		return err
	}
	defer o.Set.Close()
	if o.Scores, err = queries.NewAsker(o.Set).OpenScores(file, a.in); err != nil {
		return err
	}
	r, err := audit.Scores(o)
	if err != nil {
		return err
	}
	return a.verdict(r)
}

// verdict prints what was found. All but a pass is an exit code of 1.
func (a *app) verdict(r *audit.Report) error {
	err := a.emit(r, func(w io.Writer, s term.Style) error {
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
		style := s.Bad
		if r.Verdict == audit.Pass {
			style = s.Good
		}
		_, err := fmt.Fprintf(w, "\nverdict: %s\n", style(r.Verdict))
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
	return fmt.Errorf("verdict %s: %d of %d checks are not as they should be", r.Verdict, n, len(r.Checks))
}
