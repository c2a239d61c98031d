package main

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/dygmamba/dygmamba/audit"
	"github.com/dygmamba/dygmamba/internal/study"
	"github.com/dygmamba/dygmamba/predict"
	"github.com/dygmamba/dygmamba/protocol"
	"github.com/dygmamba/dygmamba/run"
)

func newCompare(a *app) *cobra.Command {
	var from loadFlags
	var out string
	var scenario protocol.Scenario
	var negatives protocol.Negatives
	cmd := &cobra.Command{
		Use:   "compare RUN RUN…",
		Short: "Set runs side by side, with paired differences per batch",
		Args:  atLeast(2, "compare needs the directories of two runs or more"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := from.where.check(); err != nil {
				return err
			}
			if err := oneOf("setting", scenario, protocol.Scenarios()...); err != nil {
				return err
			}
			if err := oneOf("negatives", negatives, protocol.Published()...); err != nil {
				return err
			}
			write, err := documentTo(out)
			if err != nil {
				return err // before measuring, which may take long
			}
			doc, shown, err := a.compare(cmd.Context(), args, scenario, negatives, from)
			if err != nil {
				return err
			}
			if err := write(study.Document{Title: "Runs side by side", Parts: []study.Shown{shown}}); err != nil {
				return err
			}
			return a.emit(doc, shown.Tables[0].WriteTerm)
		},
	}
	from.addRecorded(cmd)
	choiceVar(cmd.Flags(), &scenario, "setting", protocol.Transductive, "transductive or inductive")
	choiceVar(cmd.Flags(), &negatives, "negatives", protocol.RandomNegatives, "random, historical or inductive")
	cmd.Flags().StringVar(&out, "out", "", "`file` for the table: .html, .md, .csv, .json or .tex")
	completeWith(cmd, "setting", protocol.Scenarios()...)
	completeWith(cmd, "negatives", protocol.Published()...)
	return cmd
}

// compare measures runs of links by AP, and runs of the task next by bits.
func (a *app) compare(
	ctx context.Context, paths []string, scenario protocol.Scenario, negatives protocol.Negatives, from loadFlags,
) (doc any, shown study.Shown, err error) {
	seeds, err := seedDirs(paths)
	if err != nil {
		return nil, shown, err
	}
	o, err := a.openRun(ctx, from, filepath.Join(seeds[0][0], run.CheckpointFile))
	if err != nil {
		return nil, shown, err
	}
	defer o.close()
	next, err := ofNext(paths, seeds)
	if err != nil {
		return nil, shown, err
	}
	if next {
		c, err := audit.CompareNext(ctx, paths, seeds, o.load)
		return c, study.CompareNext(c), loadError(err)
	}
	c, err := compareLinks(ctx, paths, seeds, audit.Comparison{Scenario: scenario, Negatives: negatives}, o.load)
	return c, study.Compare(c), err
}

// ofNext says whether the runs are of the task next: all of them, or none.
func ofNext(paths []string, seeds [][]string) (next bool, err error) {
	for i, dirs := range seeds {
		record, err := run.Open(dirs[0])
		if err != nil {
			return false, err
		}
		is := record.Task() == protocol.Next
		if i > 0 && is != next {
			return false, usagef("%s and %s learned different tasks: compare runs of links with each other, and runs "+
				"of the task next with each other", paths[0], paths[i])
		}
		next = is
	}
	return next, nil
}

// seedDirs are the directories of each run's seeds.
func seedDirs(paths []string) (seeds [][]string, err error) {
	for _, path := range paths {
		files, err := run.Checkpoints(path)
		if err == nil {
			err = run.CheckSameTraining(files)
		}
		if err != nil {
			return nil, err
		}
		var dirs []string
		for _, file := range files {
			dirs = append(dirs, filepath.Dir(file))
		}
		seeds = append(seeds, dirs)
	}
	return seeds, nil
}

func compareLinks(ctx context.Context, paths []string, seeds [][]string, doc audit.Comparison, load predict.Options,
) (audit.Comparison, error) {
	for i, dirs := range seeds {
		var asked []audit.Compared
		for _, dir := range dirs {
			c, err := audit.Ask(ctx, dir, doc.Scenario, doc.Negatives, load)
			if errors.Is(err, audit.ErrTask) {
				return doc, usagef("%v", err)
			}
			if err != nil {
				return doc, err
			}
			asked = append(asked, c)
		}
		c, err := audit.Mean(paths[i], asked)
		if err != nil {
			return doc, &inputError{err}
		}
		doc.Runs = append(doc.Runs, c)
		if i > 0 {
			d, err := c.Against(doc.Runs[0])
			if err != nil {
				return doc, &inputError{err}
			}
			doc.Differences = append(doc.Differences, d)
		}
	}
	return doc, nil
}
