package main

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/dygmamba/dygmamba/audit"
	"github.com/dygmamba/dygmamba/internal/study"
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
			doc, err := a.compare(cmd.Context(), args, scenario, negatives, from)
			if err != nil {
				return err
			}
			shown := study.Compare(doc)
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

func (a *app) compare(
	ctx context.Context, paths []string, scenario protocol.Scenario, negatives protocol.Negatives, from loadFlags,
) (doc audit.Comparison, err error) {
	doc.Scenario, doc.Negatives = scenario, negatives
	var seeds [][]string // the directories of each run
	for _, path := range paths {
		files, err := run.Checkpoints(path)
		if err == nil {
			err = run.CheckSameTraining(files)
		}
		if err != nil {
			return doc, err
		}
		var dirs []string
		for _, file := range files {
			dirs = append(dirs, filepath.Dir(file))
		}
		seeds = append(seeds, dirs)
	}
	o, err := a.openRun(ctx, from, filepath.Join(seeds[0][0], run.CheckpointFile))
	if err != nil {
		return doc, err
	}
	defer o.close()
	for i, dirs := range seeds {
		var asked []audit.Compared
		for _, dir := range dirs {
			c, err := audit.Ask(ctx, dir, scenario, negatives, o.load)
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
