package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/eval"
	"github.com/dygmamba/dygmamba/internal/term"
	"github.com/dygmamba/dygmamba/models/edgebank"
	"github.com/dygmamba/dygmamba/replay"
	"github.com/dygmamba/dygmamba/sample"
)

// demoDoc is the document of demo: what eval says, and some events of the stream.
type demoDoc struct {
	Events []demoEvent `json:"first_events"`
	evalDoc
}

type demoEvent struct {
	Source      string  `json:"src"`
	Destination string  `json:"dst"`
	Time        float64 `json:"time"`
}

func newDemo(a *app) *cobra.Command {
	var seed uint64
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Take a tour: a small stream, its split, a first model",
		Long: `Makes a small stream in which every pair meets in a rhythm of its own, splits it by time, and measures EdgeBank, which predicts that
pairs meet again. Nothing is read, downloaded or written.`,
		Example: `  dygmamba demo
  dygmamba demo --seed 7 --json`,
		Args: takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			doc, err := demo(cmd.Context(), a, seed)
			if err != nil {
				return err
			}
			return a.emit(doc, doc.write)
		},
	}
	cmd.Flags().Uint64Var(&seed, "seed", 1, "seed of the stream")
	return cmd
}

func demo(ctx context.Context, a *app, seed uint64) (*demoDoc, error) {
	set, err := dataset.Periodic(dataset.PeriodicOptions{Seed: seed})
	if err != nil {
		return nil, err
	}
	e := evaluation{
		model: "edgebank", memories: edgebank.Variants(), settings: []string{eval.Transductive}, strategies: []string{sample.Random},
		aggregation: batchMean, options: eval.Options{BatchSize: replay.BatchSize, PerPositive: 1},
	}
	measured, err := e.run(ctx, a, set)
	if err != nil {
		return nil, err
	}
	doc := &demoDoc{evalDoc: *measured}
	for i := range min(5, set.Log.Len()) {
		ev := set.Log.At(i)
		doc.Events = append(doc.Events, demoEvent{set.Names.Name(ev.Src), set.Names.Name(ev.Dst), ev.Time})
	}
	return doc, nil
}

func (d *demoDoc) write(w io.Writer, s term.Style) error {
	fmt.Fprintf(w, "%s  %s events between %s nodes. Each pair meets in a rhythm of its own.\n\n", s.Strong("1. A stream."),
		term.Count(d.Data.Events), term.Count(d.Data.Nodes))
	t := term.NewTable(term.Left("source"), term.Left("destination"), term.Right("time"))
	for _, e := range d.Events {
		t.Row(e.Source, e.Destination, fmt.Sprintf("%.2f", e.Time))
	}
	t.Row("…", "…", "…")
	if err := t.Write(w, s); err != nil {
		return err
	}
	fmt.Fprintf(w, "\n%s  The past is for learning (%s events), the next 15 %% for choosing, the last 15 %% for the verdict.\n",
		s.Strong("2. A split."), term.Count(d.Split.Train))
	fmt.Fprintf(w, "%s  EdgeBank expects pairs that met to meet again. It cannot tell when.\n", s.Strong("3. A model."))
	fmt.Fprintf(w, "%s  Half of the questions are about events that happened, half about events that did not; 50 is chance.\n\n", s.Strong("4. A verdict."))
	return d.table().Write(w, s)
}
