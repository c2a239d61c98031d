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
		Short: "Measure the server: how fast events are acknowledged and questions answered",
		Long: `Starts a server and talks to it over loopback from the same process, so that clients take a part of ` +
			`its cores:

  alone     score one pair, request after request
  rank      the best 10 of 1,000 candidates
  score     one pair, 200 requests a second, while 10,000 events a second arrive
  single    events, one a request, over 64 connections
  batched   events, 1,000 a request, over 4 connections
  restart   with a snapshot of so many events

With --store events are on disk before they are acknowledged; without it they are kept in memory only.`,
		Example: `  dygmamba bench serve --run runs/uci --store /var/tmp/bench.store
  dygmamba bench serve --run runs/uci --seconds 20 --restart 10000000 --json`,
		Args: takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if seconds <= 0 || restart < 0 {
				return usagef("--seconds and --restart must be above 0")
			}
			file, set, err := s.open(cmd.Context(), a)
			if err != nil {
				return err
			}
			defer set.Close()
			dev, err := s.where.open(a)
			if err != nil {
				return err
			}
			defer dev.Close()
			b := servebench.Bench{For: time.Duration(seconds * float64(time.Second)), Restart: restart}
			b.Options = serve.Options{Set: set, Checkpoint: file, Logger: a.log(),
				Load: s.what.load(s.order, dev, s.where)}
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
			b.OnPhase = func(name string) { progress.Set(phases, 6, name); phases++ }
			r, err := b.Run(cmd.Context())
			if err != nil {
				return loadError(err)
			}
			progress.Done()
			return a.emit(r, func(w io.Writer, _ term.Style) error { return writeServeBench(w, r) })
		},
	}
	s.from.add(cmd)
	s.data.add(cmd)
	s.what.add(cmd, modelNames, "")
	s.where.add(cmd)
	addOrder(cmd, &s.order)
	cmd.Flags().StringVar(&s.store, "store", "", "`directory` that keeps events; it is made if it is not there")
	cmd.Flags().StringVar(&s.log, "log", "",
		"keep events in a NATS JetStream stream instead, such as `nats://127.0.0.1:4222`")
	cmd.Flags().Float64Var(&seconds, "seconds", 5, "how long each phase takes")
	cmd.Flags().IntVar(&restart, "restart", 0, "measure a restart with a snapshot of so many events")
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
	fmt.Fprintf(w, "%s, %s events known, those that come in are kept %s\n\n", r.Model, term.Count(r.Events), kept)
	line("alone", r.Alone)
	line("rank", r.Rank)
	line("score", r.Score)
	fmt.Fprintf(w, "  %-8s while %s events/s arrived\n", "", term.Count(int(r.Arrived)))
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
