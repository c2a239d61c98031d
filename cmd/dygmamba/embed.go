package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dygmamba/dygmamba/internal/term"
	"github.com/dygmamba/dygmamba/predict"
)

func newEmbed(a *app) *cobra.Command {
	var e embedding
	cmd := &cobra.Command{
		Use:   "embed RUN",
		Short: "Write embeddings of nodes at a given time",
		Args:  takes("the directory of a run"),
		RunE: func(cmd *cobra.Command, args []string) error {
			e.timed = cmd.Flags().Changed("at")
			if err := e.check(); err != nil {
				return err
			}
			if err := e.where.check(); err != nil {
				return err
			}
			weights, err := a.oneCheckpoint(args[0])
			if err != nil {
				return err
			}
			o, err := a.openRun(cmd.Context(), e.loadFlags, weights)
			if err != nil {
				return err
			}
			defer o.close()
			for _, out := range e.outputs() {
				if err := o.spare("out", out, map[string]string{"queries": e.queries}); err != nil {
					return err
				}
			}
			return e.run(cmd.Context(), a, o)
		},
	}
	e.data.add(cmd)
	e.where.add(cmd)
	flags := cmd.Flags()
	addOrder(cmd, &e.order)
	flags.StringVar(&e.out, "out", "", "`file` to write: NAME.parquet, or NAME.npy (also writes NAME.csv)")
	flags.StringVar(&e.at, "at", "", "`time` of the embeddings (default: right after the last event)")
	flags.StringArrayVar(&e.nodes, "node", nil, "`node` to embed; repeatable (default: all nodes with events)")
	flags.StringVar(&e.with, "with", "",
		"`node` to use as the partner of all nodes (default: the last partner of each node)")
	flags.BoolVar(&e.alone, "alone", false, "use each node as its own partner")
	flags.StringVar(&e.queries, "queries", "",
		"`file` with the columns u, i and ts, as for predict: embed u with partner i at ts; - is standard input")
	return cmd
}

type embedding struct {
	loadFlags
	out, at, with, queries string
	nodes                  []string
	timed                  bool // --at is given
	alone                  bool // --alone

	doc embedDoc
}

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
	case e.queries != "" && (e.timed || e.nodes != nil || e.with != "" || e.alone):
		return usagef("--queries cannot be used with --at, --node, --with or --alone: it gives all of them")
	case e.with != "" && e.alone:
		return usagef("--with %s and --alone both choose a partner, want one of them", e.with)
	}
	if err := checkOrder(e.order); err != nil {
		return err
	}
	ending, err := endingOf("out", e.out, ".parquet", ".npy")
	if err != nil || ending == ".parquet" {
		return err
	}
	return writable("out", e.names())
}

func (e *embedding) parquet() bool { return !strings.HasSuffix(strings.ToLower(e.out), ".npy") }

func (e *embedding) outputs() []string {
	if e.parquet() {
		return []string{e.out}
	}
	return []string{e.out, e.names()}
}

// names is the table of what the rows of a matrix are.
func (e *embedding) names() string { return e.out[:len(e.out)-len(".npy")] + ".csv" }

func (e *embedding) run(ctx context.Context, a *app, o *openedRun) error {
	progress := a.console.Progress("embed", "nodes")
	defer progress.Done()
	before, all := 0, 0
	o.load.OnBatch = func(done, _ int) { progress.Set(int64(before+done), int64(all), "") }
	p, err := predict.LoadEmbedder(o.files[0], o.load)
	if errors.Is(err, predict.ErrNoEmbeddings) {
		err = fmt.Errorf("%w. Embed a run of another model: train --task link, or --task next --model graphmixer", err)
	}
	if err != nil {
		return loadError(err)
	}
	defer p.Close()
	subjects, err := e.choose(ctx, a, o.set, p)
	if err != nil {
		return err
	}
	all = len(subjects)
	e.doc.Model, e.doc.Checkpoint, e.doc.Data, e.doc.Out = p.Model(), o.files[0], o.set.Name, e.out
	for _, s := range subjects {
		if !p.Known(s.query.Src) {
			e.doc.Unknown++
		}
	}
	if e.doc.Unknown > 0 {
		a.log().Warn(fmt.Sprintf("%s of %s rows are nodes that are not in the data and have no history",
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
			f.Add("", e.doc.Names+", which describes its rows")
		}
		if e.doc.At != "" {
			f.Add("at", e.doc.At)
		}
		return f.Write(w, s)
	})
}
