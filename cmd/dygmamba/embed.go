package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dygmamba/dygmamba/internal/term"
	"github.com/dygmamba/dygmamba/predict"
)

func newEmbed(a *app) *cobra.Command {
	var data dataFlags
	var where deviceFlags
	var e embedding
	cmd := &cobra.Command{
		Use:   "embed RUN",
		Short: "Write embeddings of nodes at a time, for other programs",
		Long: `Writes what a trained model says of nodes at a time, a row of numbers for each, before its head makes
an answer of it: to a Parquet file (columns node, id, side, time, date, partner, embedding), or to a NumPy matrix with
a table of its rows beside it (FILE.npy and FILE.csv). Only events strictly before the time are seen.

Every node is embedded as the source of the question "will it interact with its partner at that time?". Models that
look at each node alone (such as TGN, TGAT, JODIE or GraphMixer) say the same whoever the partner is. Models that look
at pairs (such as DyGMamba, DyGFormer or TCL) describe the node as seen with the partner: whom it met last before that
time, or itself if nobody. --with takes one partner for all, --alone the node itself (a pair that such a model has
never seen in training), and --queries one for each row (column i).

Without --node or --queries all nodes that occur in the data are embedded, in the order of their ids. A run of
--task node-classification gives what its classifier looks at.`,
		Example: `  dygmamba embed runs/visits --out nodes.parquet
  dygmamba embed runs/visits --at 2024-05-03T08:00:00Z --node ada --node bob --with espresso --out two.npy
  dygmamba embed runs/uci/seed-0 --queries pairs.csv --out pairs.parquet --json`,
		Args: takes("the directory of a run"),
		RunE: func(cmd *cobra.Command, args []string) error {
			e.timed = cmd.Flags().Changed("at")
			if err := e.check(); err != nil {
				return err
			}
			if err := where.check(); err != nil {
				return err
			}
			weights, err := oneCheckpoint(args[0])
			if err != nil {
				return err
			}
			data.redraw(weights)
			if err := data.recall(weights); err != nil {
				return err
			}
			for what, file := range map[string]string{"weights": weights, "data": data.name, "queries": e.queries} {
				for _, out := range e.outputs() {
					if sameFile(file, out) {
						return usagef("--out %s is the file with the %s", out, what)
					}
				}
			}
			return e.run(cmd.Context(), a, weights, data, where)
		},
	}
	data.add(cmd)
	where.add(cmd)
	flags := cmd.Flags()
	addOrder(cmd, &e.order)
	flags.StringVar(&e.out, "out", "", "`file` to write: NAME.parquet, or NAME.npy with NAME.csv beside it")
	flags.StringVar(&e.at, "at", "", "`time` at which nodes are embedded (default: right after the last event)")
	flags.StringArrayVar(&e.nodes, "node", nil, "embed this `node`; repeatable (default: all that occur)")
	flags.StringVar(&e.with, "with", "", "`node` that all are paired with (default: each with whom it met last)")
	flags.BoolVar(&e.alone, "alone", false, "pair each node with itself")
	flags.StringVar(&e.queries, "queries", "",
		"`file` with the columns u, i and ts, as for predict: embed each u, paired with i, at ts; - is standard input")
	return cmd
}

// embedding is one call of embed.
type embedding struct {
	out, at, with, queries string
	nodes                  []string
	order                  string // --order
	timed                  bool   // --at is given
	alone                  bool   // --alone

	doc embedDoc
}

// embedDoc is the document of embed.
type embedDoc struct {
	Model      string `json:"model"`
	Checkpoint string `json:"checkpoint"`
	Data       string `json:"data"`
	Rows       int    `json:"rows"`
	Width      int    `json:"width"`
	At         string `json:"at,omitempty"` // the time of all, if they have one
	Unknown    int    `json:"unknown_nodes"`
	Out        string `json:"out"`
	Names      string `json:"names,omitempty"` // what the rows of a matrix are
}

// check looks at the flags alone.
func (e *embedding) check() error {
	switch {
	case e.out == "":
		return usagef("--out is missing: a file such as nodes.parquet or nodes.npy")
	case !e.parquet() && !strings.HasSuffix(e.out, ".npy"):
		return usagef("--out %s: must end in .parquet or .npy", e.out)
	case e.queries != "" && (e.timed || e.nodes != nil || e.with != "" || e.alone):
		return usagef("--queries says which nodes, when and with whom: want no --at, --node, --with or --alone " +
			"beside it")
	case e.with != "" && e.alone:
		return usagef("--with %s and --alone both choose a partner, want one of them", e.with)
	}
	if err := checkOrder(e.order); err != nil {
		return err
	}
	for _, out := range e.outputs() {
		if err := writable("out", out); err != nil {
			return err
		}
	}
	return nil
}

func (e *embedding) parquet() bool { return strings.HasSuffix(e.out, ".parquet") }

// outputs are the files to write.
func (e *embedding) outputs() []string {
	if e.parquet() {
		return []string{e.out}
	}
	return []string{e.out, strings.TrimSuffix(e.out, ".npy") + ".csv"}
}

func (e *embedding) run(ctx context.Context, a *app, file string, data dataFlags, where deviceFlags) error {
	set, err := data.open(ctx, a)
	if err != nil {
		return err
	}
	defer set.Close()
	data.compare(a, file, set)
	dev, err := where.open(a)
	if err != nil {
		return err
	}
	defer dev.Close()
	progress := a.console.Progress("embed", "nodes")
	defer progress.Done()
	before, all := 0, 0
	p, err := predict.Load(file, predict.Options{
		Set: set, Device: dev, Threads: where.threads, Order: e.order,
		OnBatch: func(done, _ int) { progress.Set(int64(before+done), int64(all), "") },
	})
	if err != nil {
		return loadError(err)
	}
	defer p.Close()
	subjects, err := e.choose(ctx, a, set, p)
	if err != nil {
		return err
	}
	all = len(subjects)
	e.doc.Model, e.doc.Checkpoint, e.doc.Data, e.doc.Out = p.Model(), file, set.Name, e.out
	for _, s := range subjects {
		if !p.Known(s.query.Src) {
			e.doc.Unknown++
		}
	}
	if e.doc.Unknown > 0 {
		a.log().Warn(fmt.Sprintf("%s of the %s rows are of nodes that do not occur in the data and have no history",
			term.Count(e.doc.Unknown), term.Count(len(subjects))))
	}
	if err := e.write(ctx, p, subjects, &before); err != nil {
		return err
	}
	progress.Done()
	return a.emit(e.doc, func(w io.Writer, s term.Style) error {
		var f term.Facts
		f.Add("wrote", fmt.Sprintf("%s, a matrix of %s × %d numbers by %s", s.Strong(e.out), term.Count(e.doc.Rows),
			e.doc.Width, e.doc.Model))
		if e.doc.Names != "" {
			f.Add("", e.doc.Names+", what its rows are")
		}
		if e.doc.At != "" {
			f.Add("at", e.doc.At)
		}
		return f.Write(w, s)
	})
}
