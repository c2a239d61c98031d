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
		Short: "Add events to a data set",
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
					return usagef("cannot append %s to itself", f)
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
	flags.StringVar(&o.NodeFile, "nodes", "", "table with the features of new nodes, one row per node")
	flags.StringVar(&o.NodeID, "node-id", "", "with --nodes: column of node names (default: as in the first import)")
	flags.StringVar(&o.NodeSide, "node-side", "",
		"with --nodes: column with the values source or destination (default: as in the first import)")
	flags.StringVar(&o.Format, "format", "", "csv, jsonl or parquet (default: detected from the content)")
	flags.BoolVar(&o.Again, "again", false, "append a file even if all its rows are in the data set already")
	flags.StringVar(&o.Delimiter, "delimiter", "",
		"character between CSV columns (default: detected from the first line)")
	flags.BoolVar(&o.NoHeader, "no-header", false, "CSV has no header line; columns are named 1, 2, 3, …")
	flags.IntVar(&o.MaxProblems, "max-problems", 20, "maximum number of problems of each kind to report")
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
		Late: r.Late, Known: r.Known, Columns: columnsDoc(r.Columns), Warnings: a.warn(r.Warnings),
	}
	return a.emit(doc, func(w io.Writer, s term.Style) error {
		fmt.Fprintf(w, "added %s events to %s\n\n", term.Count(doc.Added), s.Strong(doc.File))
		f := &term.Facts{}
		f.Add("events", term.Count(doc.Events)+" now")
		f.Add("nodes", fmt.Sprintf("%s now, %s of them new", term.Count(doc.Nodes), term.Count(doc.NewNodes)))
		f.Add("times", doc.First+" … "+doc.Last)
		if doc.Late > 0 {
			f.Add("late", term.Count(doc.Late)+" earlier than the previous last event; inserted in time order")
		}
		f.Add("columns", doc.Columns.String())
		return f.Write(w, s)
	})
}
