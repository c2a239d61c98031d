package main

import (
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/internal/term"
)

func newDataAppend(a *app) *cobra.Command {
	var o dataset.AppendOptions
	cmd := &cobra.Command{
		Use:   "append X.dgm FILE...",
		Short: "Add later events to a data set",
		Long: `Reads tables of events, as 'data import' does, and adds them to a .dgm file, which is replaced as a
whole when all is well. Ids, names and features of what is there stay, so that a model trained on it goes on to
understand it; nodes that are new are numbered on. Columns are those of the first import, and features are encoded as
they were then: nothing is fitted anew. Rows may come in any order, also before the last event.

If anything is wrong, it says what, where and what would have been right, exits with 3 and leaves the file as it is. A
file all of whose rows are there already is taken for one that was appended before, and refused; --again takes it.`,
		Example: `  dygmamba data append visits.dgm june.csv
  dygmamba data append orders.dgm new.csv --nodes new-customers.csv
  zcat july.csv.gz | dygmamba data append visits.dgm -`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) < 2 {
				return usagef("%s needs a .dgm file and a table of events to add to it", cmd.CommandPath())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.MaxProblems < 1 {
				return usagef("--max-problems is %d, must be at least 1", o.MaxProblems)
			}
			if err := oneOf("format", o.Format, "", dataset.FormatCSV, dataset.FormatJSONL,
				dataset.FormatParquet); err != nil {
				return err
			}
			for _, f := range args[1:] {
				if sameFile(f, args[0]) {
					return usagef("%s is to be added to itself", f)
				}
			}
			progress := a.console.Progress("read", "bytes")
			o.Progress = func(p dataset.ImportProgress) {
				progress.Set(p.Bytes, p.Size, filepath.Base(p.File)+", "+term.Count(p.Rows)+" rows")
			}
			report, err := dataset.Append(cmd.Context(), args[0], args[1:], o)
			progress.Done()
			if err != nil {
				return err
			}
			return a.appended(report)
		},
	}
	addAppendFlags(cmd, &o)
	return cmd
}

// addAppendFlags are the flags that say how to read later tables, where they differ from the first ones.
func addAppendFlags(cmd *cobra.Command, o *dataset.AppendOptions) {
	flags := cmd.Flags()
	flags.StringVar(&o.Source, "src", "", "column of sources (default: as in the first import)")
	flags.StringVar(&o.Target, "dst", "", "column of destinations (default: as in the first import)")
	flags.StringVar(&o.Time, "time", "", "column of times (default: as in the first import)")
	flags.StringVar(&o.Label, "label", "", "column of labels (default: as in the first import)")
	flags.StringSliceVar(&o.EdgeFeatures, "edge-features", nil,
		"columns of numbers that describe an event (default: as in the first import)")
	flags.StringVar(&o.NodeFile, "nodes", "", "a table with features of the nodes that are new, a row each")
	flags.StringVar(&o.NodeID, "node-id", "", "its column of names (default: as in the first import)")
	flags.StringVar(&o.NodeSide, "node-side", "",
		"its column that says source or destination (default: as in the first import)")
	flags.StringVar(&o.Format, "format", "", "csv, jsonl or parquet (default: seen from the content)")
	flags.BoolVar(&o.Again, "again", false, "append also a file whose rows are all there already")
	flags.StringVar(&o.Delimiter, "delimiter", "",
		"between columns of CSV, one character (default: seen from the first line)")
	flags.BoolVar(&o.NoHeader, "no-header", false, "CSV begins with data; columns are called 1, 2, 3, …")
	flags.IntVar(&o.MaxProblems, "max-problems", 20, "how many problems of each kind to report")
	completeWith(cmd, "format", dataset.FormatCSV, dataset.FormatJSONL, dataset.FormatParquet)
}

// appendDoc is the document of data append.
type appendDoc struct {
	File       string     `json:"file"`
	Added      int        `json:"added"`
	Events     int        `json:"events"`
	NewNodes   int        `json:"new_nodes"`
	Nodes      int        `json:"nodes"`
	First      string     `json:"first"` // of the rows added
	Last       string     `json:"last"`
	TimeFormat string     `json:"time_format"`
	Late       int        `json:"late"`  // rows before the last event that was there
	Known      int        `json:"known"` // rows whose source, destination and time were there
	Columns    columnsDoc `json:"columns"`
	Warnings   []string   `json:"warnings,omitempty"`
}

func (a *app) appended(r *dataset.AppendReport) error {
	doc := appendDoc{
		File: r.Out, Added: r.Added, Events: r.Events, NewNodes: r.NewNodes, Nodes: r.Nodes, TimeFormat: r.TimeFormat,
		First: dataset.FormatTime(r.First, r.TimeFormat), Last: dataset.FormatTime(r.Last, r.TimeFormat),
		Late: r.Late, Known: r.Known, Columns: columnsDoc(r.Columns), Warnings: r.Warnings,
	}
	for _, w := range r.Warnings {
		a.log().Warn(w)
	}
	return a.emit(doc, func(w io.Writer, s term.Style) error {
		fmt.Fprintf(w, "added %s events to %s\n\n", term.Count(doc.Added), s.Strong(doc.File))
		f := &term.Facts{}
		f.Add("events", term.Count(doc.Events)+" now")
		f.Add("nodes", fmt.Sprintf("%s now, %s of them new", term.Count(doc.Nodes), term.Count(doc.NewNodes)))
		f.Add("times", doc.First+" … "+doc.Last)
		if doc.Late > 0 {
			f.Add("late", term.Count(doc.Late)+" before the last event that was there; each took its place in time")
		}
		f.Add("columns", doc.Columns.String())
		return f.Write(w, s)
	})
}
