package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/dygmamba/dygmamba/internal/queue"
	"github.com/dygmamba/dygmamba/internal/study"
)

// spreadFlags let several machines share the trainings of a study.
type spreadFlags struct {
	queue string // --queue
	shard string // --shard
}

func (f *spreadFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.queue, "queue", "", "`address` of a NATS server with JetStream, such as nats://host:4222, or "+
		"several separated by commas: trainings are given to the workers there, see 'worker --help'")
	flags.StringVar(&f.shard, "shard", "", "part of the trainings to do here, as `i/n` with i from 0 to n-1; for job "+
		"arrays that share --out (default: all)")
}

// check puts the flags into the options of a study.
func (f *spreadFlags) check(o *study.Options) (err error) {
	if f.queue != "" {
		switch {
		case o.Budget > 0:
			return usagef("--budget cannot be used with --queue: workers come and go; use --epochs")
		case o.Jobs == 0:
			o.Jobs = 256 // wait for workers; how many compute is theirs to decide
		}
	}
	o.Shard, o.Shards, err = f.part()
	return err
}

// part is what --shard says; of is 0 without it.
func (f *spreadFlags) part() (i, of int, err error) {
	if f.shard == "" {
		return 0, 0, nil
	}
	if f.queue != "" {
		return 0, 0, usagef("--queue and --shard cannot be used together")
	}
	var rest string
	n, _ := fmt.Sscanf(f.shard, "%d/%d%s", &i, &of, &rest)
	if n != 2 || of < 1 || i < 0 || i >= of {
		return 0, 0, usagef("--shard is %q, must be i/n with i from 0 to n-1, such as 0/4", f.shard)
	}
	return i, of, nil
}

func newWorker(a *app) *cobra.Command {
	var where deviceFlags
	var url string
	w := queue.Worker{}
	cmd := &cobra.Command{
		Use:   "worker",
		Short: "Carry out trainings of studies that others put into a queue",
		Args:  takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if url == "" {
				return usagef("--queue is missing: the address of a NATS server, such as nats://host:4222")
			}
			if err := where.check(); err != nil {
				return err
			}
			host, _ := os.Hostname()
			w.Name, w.Log = fmt.Sprintf("%s %d", host, os.Getpid()), a.log()
			w.Device, w.Threads = where.name, where.threads
			if program, err := os.Executable(); err == nil {
				w.Launch = study.Process(program, workerCommand)
			} else {
				w.Launch = study.Here
			}
			return a.work(cmd.Context(), url, w)
		},
	}
	where.add(cmd)
	flags := cmd.Flags()
	flags.StringVar(&url, "queue", "", "`address` of a NATS server with JetStream, or several separated by commas")
	dirVar(cmd, &w.Dir, "work-dir", "directory for runs while they are trained (default: one below the system's own "+
		"for temporary files)")
	durationVar(flags, &w.Keep, "keep-every", 30*time.Second, "time between two copies of a run's state to the queue")
	durationVar(flags, &w.Idle, "idle", 0, "end after this time without an order (default: wait for ever)")
	addDataDir(cmd, &w.DataDir)
	return cmd
}

// work carries out orders until it is interrupted, or has nothing to do.
func (a *app) work(ctx context.Context, url string, w queue.Worker) error {
	if w.Dir == "" {
		dir, err := os.MkdirTemp("", "dygmamba-worker")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		w.Dir = dir
	}
	abs, err := filepath.Abs(w.Dir)
	if err != nil {
		return err
	}
	w.Dir = abs
	q, err := queue.Open(ctx, url)
	if err != nil {
		return err
	}
	defer q.Close()
	a.log().Info("waiting for orders at " + url)
	err = w.Work(ctx, q)
	a.answered = true
	if errors.Is(err, context.Canceled) {
		a.log().Info("the order under way goes back to the queue, with what was done")
	}
	return err
}
