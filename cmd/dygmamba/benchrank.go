package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/dygmamba/dygmamba/internal/rankbench"
	"github.com/dygmamba/dygmamba/internal/term"
)

func newBenchRank(a *app) *cobra.Command {
	var f loadFlags
	var m rankbench.Measurement
	cmd := &cobra.Command{
		Use:   "rank",
		Short: "Measure how many of the best partners fast rankings find, and how long they take",
		Args:  takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case m.Queries < 1:
				return usagef("--queries is %d, must be at least 1", m.Queries)
			case m.Best < 1:
				return usagef("--best is %d, must be at least 1", m.Best)
			case m.Candidates < 0:
				return usagef("--candidates is %d, must be at least 0", m.Candidates)
			}
			o, err := f.open(cmd.Context(), a)
			if err != nil {
				return err
			}
			defer o.close()
			if m.Model, err = o.predictor(); err != nil {
				return err
			}
			defer m.Model.Close()
			progress := a.console.Progress("rank", "rankings")
			m.Events, m.OnQuery = o.set.Log, func(done, total int) { progress.Set(int64(done), int64(total), "") }
			report, err := m.Run(cmd.Context())
			progress.Done()
			if err != nil {
				return err
			}
			report.Data, report.Device = o.set.Name, o.dev.Name()
			return a.emit(report, func(w io.Writer, s term.Style) error { return writeRankBench(w, s, report) })
		},
	}
	f.add(cmd, modelNames)
	flags := cmd.Flags()
	flags.IntVar(&m.Queries, "queries", 100, "number of rankings: sources and times of events from the last 15 %")
	flags.IntVar(&m.Best, "best", 10, "number of partners to find")
	flags.IntVar(&m.Candidates, "candidates", 0, "number of candidates, drawn at random (default: all destinations)")
	flags.Uint64Var(&m.Seed, "seed", 0, "seed of the draws")
	return cmd
}

func writeRankBench(w io.Writer, s term.Style, r rankbench.Report) error {
	times := func(t rankbench.Times) string {
		return fmt.Sprintf("%s median, %.1f ms mean, %.1f ms 90 %%", s.Strong(fmt.Sprintf("%.1f ms", t.Median)), t.Mean,
			t.P90)
	}
	var f term.Facts
	f.Add("model", fmt.Sprintf("%s on %s, %s", r.Model, r.Data, r.Device))
	f.Add("rankings", fmt.Sprintf("the best %d of %.0f candidates, %s sources", r.Best, r.Candidates,
		term.Count(r.Queries)))
	f.Add("scored", fmt.Sprintf("%.0f candidates on average, %s at most", r.Scored, term.Count(r.MostScored)))
	f.Add("recall", fmt.Sprintf("%s of the best are found, %.0f %% in the worst ranking; %s rankings miss any",
		s.Strong(fmt.Sprintf("%.2f %%", 100*r.Recall)), 100*r.Worst, term.Count(r.Different)))
	f.Add("fast", times(r.Fast))
	f.Add("exact", times(r.Exact))
	return f.Write(w, s)
}
