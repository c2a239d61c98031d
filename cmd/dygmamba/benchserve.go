package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/dygmamba/dygmamba/internal/servebench"
	"github.com/dygmamba/dygmamba/internal/term"
	"github.com/dygmamba/dygmamba/serve"
)

func newBenchServe(a *app) *cobra.Command {
	var s serving
	var seconds float64
	var restart int
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Measure how fast the server acknowledges events and answers queries",
		Args:  takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if seconds <= 0 || restart < 0 {
				return usagef("--seconds and --restart must be above 0")
			}
			o, err := s.open(cmd.Context(), a)
			if err != nil {
				return err
			}
			defer o.close()
			b := servebench.Bench{For: time.Duration(seconds * float64(time.Second)), Restart: restart}
			b.Options = serve.Options{Set: o.set, Checkpoint: o.files[0], Logger: a.log(), Load: o.load}
			if err := s.keep(cmd.Context(), a, &b.Options); err != nil {
				return err
			}
			defer b.Options.Log.Close()
			b.Options.Snapshots = serve.Snapshots{}
			if b.Dir, err = os.MkdirTemp(s.store, "bench-"); err != nil {
				return err
			}
			defer os.RemoveAll(b.Dir)
			progress := a.console.Progress("measure", "phases")
			defer progress.Done()
			phases := int64(0)
			b.OnPhase = func(name string) { progress.Set(phases, 7, name); phases++ }
			limitGarbage()
			r, err := b.Run(cmd.Context())
			if err != nil {
				return loadError(err)
			}
			progress.Done()
			return a.emit(r, func(w io.Writer, _ term.Style) error { return writeServeBench(w, r) })
		},
	}
	s.loadFlags.add(cmd, modelNames)
	cmd.Flags().StringVar(&s.store, "store", "", "`directory` to store events in; created if it does not exist")
	cmd.Flags().StringVar(&s.log, "log", "",
		"NATS JetStream server to store events in instead, such as `nats://127.0.0.1:4222`")
	cmd.Flags().Float64Var(&seconds, "seconds", 5, "duration of each phase in seconds")
	cmd.Flags().IntVar(&restart, "restart", 0,
		"measure a restart from a snapshot of `N` events (default: not measured)")
	return cmd
}

func writeServeBench(w io.Writer, r servebench.Report) error {
	kept := "in memory"
	if r.Durable {
		kept = "on disk"
	}
	line := func(name string, l servebench.Latency) {
		fmt.Fprintf(w, "  %-8s p50 %7.3f ms   p99 %7.3f ms   max %7.3f ms   %s requests\n", name, l.P50, l.P99, l.Most,
			term.Count(l.Requests))
	}
	fmt.Fprintf(w, "%s, %s events at the start, new events are stored %s\n\n", r.Model, term.Count(r.Events), kept)
	line("alone", r.Alone)
	line("rank", r.Rank)
	line("score", r.Score)
	fmt.Fprintf(w, "  %-8s while %s events/s arrived\n", "", term.Count(int(r.Arrived)))
	line("late", r.Late)
	fmt.Fprintf(w, "  %-8s %s events/s acknowledged, p50 %.2f ms, p99 %.2f ms\n", "single",
		term.Count(int(r.Single.PerSecond)), r.Single.Latency.P50, r.Single.Latency.P99)
	_, err := fmt.Fprintf(w, "  %-8s %s events/s acknowledged, p50 %.2f ms, p99 %.2f ms\n", "batched",
		term.Count(int(r.Batched.PerSecond)), r.Batched.Latency.P50, r.Batched.Latency.P99)
	if r.Restart != nil {
		_, err = fmt.Fprintf(w, "  %-8s %s events in %.2f s, written in %.2f s\n", "restart",
			term.Count(r.Restart.Events), r.Restart.Restart, r.Restart.Write)
	}
	return err
}
