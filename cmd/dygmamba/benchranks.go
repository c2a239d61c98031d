package main

import (
	"cmp"
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/dygmamba/dygmamba"
	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/internal/bench"
	"github.com/dygmamba/dygmamba/internal/term"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/train"
)

// benchRanks is what to measure.
type benchRanks struct {
	data   dataFlags
	where  deviceFlags
	ranks  rankFlags
	models []string
	preset string
	set    []string
	sizes  []int
	events int
	rounds int
}

// ranksReport is what was measured.
type ranksReport struct {
	Data     string              `json:"data"`
	Ranks    int                 `json:"ranks"`
	Engine   string              `json:"engine"`
	Hosts    []string            `json:"hosts"`
	Shards   int                 `json:"shards"`
	Device   string              `json:"device"`
	Threads  int                 `json:"threads"` // of each rank
	Rows     []bench.RanksRow    `json:"rows"`
	Exchange []bench.ExchangeRow `json:"exchange"`
}

func newBenchRanks(a *app) *cobra.Command {
	f := benchRanks{ranks: rankFlags{start: 2}}
	cmd := &cobra.Command{
		Use:   "ranks",
		Short: "Measure what is lost when processes share a training instead of training independently",
		Args:  takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.check(); err != nil {
				return err
			}
			return f.ranks.run(cmd, a, func(ctx context.Context) error { return f.run(ctx, a) })
		},
	}
	f.data.add(cmd)
	f.where.add(cmd)
	f.where.addRounding(cmd)
	f.ranks.add(cmd)
	flags := cmd.Flags()
	flags.Lookup("ranks").Usage = "number of processes: runs the installed mpirun (default: 2; or those that mpirun, " +
		"srun or torchrun started)"
	flags.StringSliceVar(&f.models, "models", []string{dygmamba.DefaultModel}, "models to measure")
	flags.StringVar(&f.preset, "preset", "", "preset of all models (default: each at its full size)")
	flags.StringArrayVar(&f.set, "set", nil, "setting of all models, as `key=value`; repeatable")
	flags.IntSliceVar(&f.sizes, "batch-sizes", []int{200, 2000}, "numbers of events in a batch")
	flags.IntVar(&f.events, "events", 4000, "number of training events to measure in a turn, the latest; at least "+
		"two batches are measured")
	flags.IntVar(&f.rounds, "rounds", 3, "number of turns of each kind: trainings alone, and together")
	complete(cmd, "models", modelNames)
	return cmd
}

func (f *benchRanks) check() error {
	if f.rounds < 1 || f.events < 1 {
		return usagef("--rounds is %d and --events %d, must be at least 1", f.rounds, f.events)
	}
	for _, n := range f.sizes {
		if n < 1 {
			return usagef("--batch-sizes %v: must be at least 1", f.sizes)
		}
	}
	for _, m := range f.models {
		if _, err := model.Find(m); err != nil {
			return usagef("--models: %v", err)
		}
	}
	return nil
}

// run measures all models as one of the ranks.
func (f *benchRanks) run(ctx context.Context, a *app) error {
	g := f.ranks.group
	f.ranks.place(&f.where)
	set, err := f.data.open(ctx, a)
	if err != nil {
		return err
	}
	defer set.Close()
	dev, err := f.where.open(a)
	if err != nil {
		return err
	}
	defer dev.Close()
	r := ranksReport{Data: set.Name, Ranks: g.Size(), Engine: g.Engine().Name(), Hosts: g.Hosts(),
		Shards: cmp.Or(f.ranks.shards, train.DefaultShards), Device: dev.Name(), Threads: f.where.threads}
	for _, name := range f.models {
		for _, size := range f.sizes {
			row, err := f.measure(ctx, a, set, dev, name, size)
			if err != nil {
				return fmt.Errorf("%s, batches of %d: %w", name, size, err)
			}
			r.Rows = append(r.Rows, row)
		}
	}
	lengths := []int{1 << 16, 1 << 18, 1 << 20, 1 << 22}
	if r.Exchange, err = bench.Exchange(ctx, g, dev, r.Shards, lengths); err != nil {
		return err
	}
	return a.emit(r, func(w io.Writer, s term.Style) error { return writeRanks(w, s, r) })
}

// measure takes one model and one size of batches.
func (f *benchRanks) measure(
	ctx context.Context, a *app, set *dataset.Set, dev device.Device, name string, size int,
) (bench.RanksRow, error) {
	factory, err := model.Find(name)
	if err != nil {
		return bench.RanksRow{}, err
	}
	settings := append(append([]string(nil), f.set...), fmt.Sprintf("batch_size=%d", size))
	spec, err := factory.Spec(f.preset, model.DataOf(set), settings...)
	if err != nil {
		return bench.RanksRow{}, err
	}
	progress := a.console.Progress(fmt.Sprintf("%s, batches of %d", name, size), "turns")
	defer progress.Done()
	return bench.Ranks{Model: name, Factory: factory, Spec: spec, Set: set, Device: dev, Threads: f.where.threads,
		Group: f.ranks.group, Shards: f.ranks.shards, Batches: max(2, f.events/size), Rounds: f.rounds,
		OnTurn: func(done, total int) { progress.Set(int64(done), int64(total), "") }}.Run(ctx)
}

func writeRanks(w io.Writer, s term.Style, r ranksReport) error {
	var f term.Facts
	f.Add("data", r.Data)
	f.Add("ranks", fmt.Sprintf("%d, %s, %d threads each; %d shards", r.Ranks, r.Engine, r.Threads, r.Shards))
	f.Add("device", r.Device)
	if err := f.Write(w, s); err != nil {
		return err
	}
	fmt.Fprintln(w)
	t := term.NewTable(term.Left("model"), term.Right("batch"), term.Right("alone/s"), term.Right("together/s"),
		term.Right("efficiency"), term.Right("rounds"), term.Right("by CPU time"), term.Right("compute"),
		term.Right("exchange"), term.Right("commit"), term.Right("update"), term.Right("other"))
	ms := func(x float64) string { return fmt.Sprintf("%.1f ms", x) }
	percent := func(x float64) string { return fmt.Sprintf("%.1f %%", 100*x) }
	for _, m := range r.Rows {
		rounds := ""
		for _, e := range m.Efficiencies {
			rounds += fmt.Sprintf(" %.0f", 100*e)
		}
		t.Row(m.Model, term.Count(m.BatchSize), fmt.Sprintf("%.0f", m.Alone), fmt.Sprintf("%.0f", m.Rate),
			percent(m.Efficiency), rounds, percent(m.CPU), ms(m.Compute), ms(m.Exchange), ms(m.Commit), ms(m.Update),
			ms(m.Other))
	}
	if err := t.Write(w, s); err != nil {
		return err
	}
	fmt.Fprintln(w)
	t = term.NewTable(term.Right("vector"), term.Right("sum over ranks"), term.Right("to the device"),
		term.Right("from the device"))
	for _, e := range r.Exchange {
		t.Row(term.Bytes(int64(e.Bytes)), fmt.Sprintf("%.2f ms", e.Sum), fmt.Sprintf("%.2f ms", e.Upload),
			fmt.Sprintf("%.2f ms", e.Read))
	}
	return t.Write(w, s)
}
