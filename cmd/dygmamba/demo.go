package main

import (
	"context"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/dygmamba/dygmamba/internal/demo"
	"github.com/dygmamba/dygmamba/internal/term"
)

func newDemo(a *app) *cobra.Command {
	var seed uint64
	var out string
	var history historyTour
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Take a tour: generate data, train, evaluate, explain a prediction, write a page",
		Args:  takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if history.dir != "" {
				if cmd.Flags().Changed("out") {
					return usagef("--out is for the tour without --git, which writes a page")
				}
				history.seed = seed
				return a.tourHistory(cmd.Context(), history)
			}
			if history.anonymous {
				return usagef("--anonymous needs --git")
			}
			if out == "" {
				return usagef("--out is empty, want a file for the page")
			}
			if _, err := endingOf("out", out, ".html"); err != nil {
				return err
			}
			return a.guide(cmd.Context(), demo.New(seed), out)
		},
	}
	cmd.Flags().Uint64Var(&seed, "seed", 1, "random seed of the data and of both models")
	cmd.Flags().StringVar(&out, "out", "dygmamba-demo.html", "`file` to write the page to")
	cmd.Flags().StringVar(&history.dir, "git", "",
		"`directory` of a Git repository: tour its history instead of generated data")
	cmd.Flags().BoolVar(&history.anonymous, "anonymous", false, "with --git: number the people instead of naming them")
	durationVar(cmd.Flags(), &history.time, "max-time", 40*time.Second, "with --git: time of the training")
	return cmd
}

// guide takes a tour, tells about each station as soon as it is there, and writes the page.
func (a *app) guide(ctx context.Context, t *demo.Tour, out string) error {
	began := time.Now()
	g := guide{app: a, tour: t}
	t.Tell, t.OnStep = g.tell, g.step
	report, err := t.Take(ctx)
	g.done()
	if err != nil {
		return err
	}
	if err := replaceFile(out, t.WritePage); err != nil {
		return err
	}
	report.Page, report.Seconds = out, time.Since(began).Seconds()
	return a.emit(report, func(w io.Writer, s term.Style) error { return tellFarewell(w, s, report) })
}
