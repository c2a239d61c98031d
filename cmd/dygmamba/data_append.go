package main

import (
	"cmp"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/internal/term"
)

func newDataAppend(a *app) *cobra.Command {
	o := dataset.AppendOptions{Options: dataset.ImportOptions{Categories: dataset.DefaultCategories}} // they stay
	cmd := &cobra.Command{
		Use:   "append X.dgm FILE...",
		Short: "Add events to a data set",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) < 2 {
				return usagef("%s needs a .dgm file and a table of events to add to it", cmd.CommandPath())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cmp.Or(someProblems(o.Options), checkForm(o.Options)); err != nil {
				return err
			}
			for _, f := range args[1:] {
				if sameFile(f, args[0]) {
					return usagef("cannot append %s to itself", f)
				}
			}
			done := a.showProgress(&o.Options)
			report, err := dataset.Append(cmd.Context(), args[0], args[1:], o)
			done()
			if err != nil {
				return err
			}
			return a.appended(report)
		},
	}
	flags := cmd.Flags()
	addTableForm(cmd, &o.Options)
	flags.StringVar(&o.Label, "label", "", "column of labels (default: as in the first import)")
	flags.StringVar(&o.ID, "id", "", "`column` of the ids of events (default: as in the first import)")
	addSchema(cmd, &o.Options)
	flags.StringVar(&o.Kind, "kind", "", "`column` of the kinds of events (default: as in the first import)")
	flags.StringSliceVar(&o.EdgeFeatures, "edge-features", nil,
		"columns of numbers that describe an event (default: as in the first import)")
	flags.StringVar(&o.NodeFile, "nodes", "",
		"table with the features of new nodes, one row per node; "+
			"where features change over time: later rows of any node")
	flags.StringVar(&o.NodeTime, "node-time", "", "with --nodes: column of times (default: as in the first import)")
	flags.StringVar(&o.NodeID, "node-id", "", "with --nodes: column of node names (default: as in the first import)")
	flags.StringVar(&o.NodeSide, "node-side", "",
		"with --nodes: column with the values source or destination (default: as in the first import)")
	addLabelFile(cmd, &o.NodeLabels, " (default: as in the first import)")
	flags.BoolVar(&o.Again, "again", false, "append a file even if all its rows are in the data set already")
	flags.IntVar(&o.MaxProblems, "max-problems", 20, "maximum number of problems of each kind to report")
	return cmd
}

type appendDoc struct {
	*dataset.AppendReport
	spanDoc
}

func (a *app) appended(r *dataset.AppendReport) error {
	r.Warnings = a.warn(r.Warnings)
	doc := appendDoc{r, spanOf(r.First, r.Last, dataset.ClockOf(r.TimeFormat, r.TimeUnit))}
	return a.emit(doc, func(w io.Writer, s term.Style) error {
		fmt.Fprintf(w, "added %s to %s\n\n", term.Counted(doc.Added, "event"), s.Strong(doc.Out))
		f := &term.Facts{}
		f.Add("events", term.Count(doc.Events)+" now")
		f.Add("nodes", fmt.Sprintf("%s now, %s of them new", term.Count(doc.Nodes), term.Count(doc.NewNodes)))
		f.Add("times", doc.String())
		if doc.Late > 0 {
			f.Add("late", term.Count(doc.Late)+" earlier than the previous last event; inserted in time order")
		}
		f.Add("columns", doc.Columns.String())
		return f.Write(w, s)
	})
}
