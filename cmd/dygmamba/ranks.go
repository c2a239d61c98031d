package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/dygmamba/dygmamba/internal/collective"
	"github.com/dygmamba/dygmamba/internal/term"
	"github.com/dygmamba/dygmamba/train"
)

// rankFlags say how many processes share a training.
type rankFlags struct {
	ranks  int // --ranks
	shards int // --shards
	start  int // ranks to start where neither --ranks nor a launcher says how many; 0: none
	group  *collective.Group
}

func (f *rankFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.IntVar(&f.ranks, "ranks", 0, "number of processes that share the training: runs the installed mpirun "+
		"(default: one process; or those that mpirun, srun or torchrun started)")
	flags.IntVar(&f.shards, "shards", 0, fmt.Sprintf("with ranks: number of parts that each batch is cut into, a "+
		"power of two; results depend on it, and not on the number of ranks (default: %d)", train.DefaultShards))
}

// run calls f: in this process when it is alone or one of several ranks, or in those that it starts with --ranks.
func (f *rankFlags) run(cmd *cobra.Command, a *app, work func(context.Context) error) error {
	if f.ranks < 0 || f.shards < 0 {
		return usagef("--ranks is %d and --shards is %d, must not be negative", f.ranks, f.shards)
	}
	l, err := collective.Discover(os.Getenv)
	switch {
	case err != nil:
		return err
	case l == nil && max(f.ranks, f.start) > 0:
		return f.launch(cmd.Context(), a, cmp.Or(f.ranks, f.start))
	case l == nil && f.shards > 0:
		return usagef("--shards is for trainings with ranks, see --ranks")
	case l == nil:
		return work(cmd.Context())
	}
	return f.join(cmd.Context(), a, l, work)
}

// join makes this process one of several ranks.
func (f *rankFlags) join(ctx context.Context, a *app, l *collective.Launch, work func(context.Context) error) error {
	if at := os.Getenv(launcherVariable); at != "" {
		attached, leave := attached(ctx, at)
		defer leave()
		ctx = attached
	}
	g, err := l.Join(ctx, os.Getenv)
	if err != nil {
		return err
	}
	if f.ranks > 0 && f.ranks != g.Size() {
		return usagef("--ranks is %d, but %s started %d", f.ranks, g.Engine().Name(), g.Size())
	}
	if ctx, err = g.Watched(ctx); err != nil {
		return err
	}
	f.group = g
	stderr := a.err
	if g.Rank() > 0 { // rank 0 speaks for all
		a.out, a.err = term.NewOutput(io.Discard), io.Discard
		a.console = term.NewConsole(io.Discard, true)
	}
	err = work(ctx)
	if err == nil {
		return g.Close()
	}
	var lost *collective.LostError
	if errors.As(context.Cause(ctx), &lost) {
		err = lost
	}
	if g.Rank() > 0 && (lost != nil || !errors.Is(err, context.Canceled)) {
		fmt.Fprintf(stderr, "rank %d on %s stops: %v\n", g.Rank(), g.Hosts()[g.Rank()], err)
	}
	if errors.Is(err, context.Canceled) && lost == nil {
		g.AwaitRoot(saving) // a launcher that sees one rank end may end the others
	}
	g.Abort(err)
	return err
}

// takeRanks puts what a rank has to know into the options of a training.
func (f *trainFlags) takeRanks() error {
	g := f.ranks.group
	if g == nil {
		return nil
	}
	if len(f.sweep) > 0 {
		return usagef("--sweep cannot be used with ranks: let each trial have one process, see --queue and --shard")
	}
	if g.Engine().Name() == collective.NCCLName && f.where.name == "cpu" {
		return usagef("--device cpu cannot be used with the variables of torchrun: use mpirun -n N dygmamba train …")
	}
	f.ranks.place(&f.where)
	f.options.Ranks, f.options.Shards = g, f.ranks.shards
	return nil
}

// place gives this rank its share of the cores, and the GPU of its number on the host.
func (f *rankFlags) place(where *deviceFlags) {
	if where.threads == 0 {
		where.threads = max(1, runtime.GOMAXPROCS(0)/f.group.Sharing())
		runtime.GOMAXPROCS(where.threads)
	}
	where.gpu, _ = f.group.Local()
}
