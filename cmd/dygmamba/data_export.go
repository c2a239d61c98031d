package main

import (
	"cmp"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/internal/term"
)

func newDataExport(a *app) *cobra.Command {
	var dir string
	var e export
	cmd := &cobra.Command{
		Use:               "export X",
		Short:             "Write a data set as CSV or Parquet",
		Args:              takes("a data set"),
		ValidArgsFunction: completeData(&dir),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := e.check(a); err != nil {
				return err
			}
			set, err := a.openSet(cmd.Context(), args[0], dir, "")
			if err != nil {
				return err
			}
			defer set.Close()
			for flag, path := range map[string]string{"out": e.out, "nodes": e.nodes, "node-labels": e.labels} {
				if path != "" && sameFile(args[0], path) {
					return usagef("--%s %s is the data set itself", flag, path)
				}
			}
			if e.nodes != "" && set.Node.Data == nil && set.Timeline == nil {
				return usagef("--nodes %s: the nodes of %s have no features", e.nodes, set.Name)
			}
			if e.labels != "" && set.NodeLabels == nil {
				return usagef("--node-labels %s: the nodes of %s have no labels with times of their own",
					e.labels, set.Name)
			}
			return e.run(cmd.Context(), a, set)
		},
	}
	addDataDir(cmd, &dir)
	cmd.Flags().StringVar(&e.out, "out", "",
		"`file` to write events to: .csv, .csv.gz or .parquet (default: CSV on standard output)")
	cmd.Flags().StringVar(&e.schema, "schema", "",
		"`file` to write the schema to (default: next to --out, with the ending .schema.json)")
	cmd.Flags().BoolVar(&e.encoded, "encoded", false, "write feature columns as the encoded numbers that models see")
	cmd.Flags().StringVar(&e.nodes, "nodes", "", "`file` to write node features to: .csv, .csv.gz or .parquet")
	cmd.Flags().StringVar(&e.labels, "node-labels", "", "`file` to write labels of nodes to: .csv, .csv.gz or .parquet")
	return cmd
}

type export struct {
	out, nodes, labels, schema string
	encoded                    bool
}

// check looks at the flags alone.
func (e *export) check(a *app) error {
	if e.out == "-" {
		e.out = ""
	}
	if e.out == "" && a.json {
		return usagef("--json and the table would both go to standard output: write the table to a file with --out")
	}
	if e.out != "" && filepath.Clean(e.out) == filepath.Clean(e.nodes) {
		return usagef("--out and --nodes are both %s, want two files", e.out)
	}
	if e.labels != "" && (e.out == e.labels || e.nodes == e.labels) {
		return usagef("--node-labels and another flag are both %s, want two files", e.labels)
	}
	for flag, path := range map[string]string{"out": e.out, "nodes": e.nodes, "node-labels": e.labels} {
		if path == "" {
			continue
		}
		if _, err := endingOf(flag, path, ".csv", ".csv.gz", ".parquet"); err != nil {
			return err
		}
	}
	return nil
}

// tableFormat is the format of a file with one of the endings of tables.
func tableFormat(path string) string {
	if strings.HasSuffix(strings.ToLower(path), ".parquet") {
		return dataset.FormatParquet
	}
	return dataset.FormatCSV
}

type exportDoc struct {
	Data   string       `json:"data"`
	Events *exportedDoc `json:"events"`
	Nodes  *exportedDoc `json:"nodes,omitempty"`
	Labels *exportedDoc `json:"node_labels,omitempty"`
	Schema string       `json:"schema"`
	Import []string     `json:"import"` // the command that makes the same data set of it

	nodeRows string // what the rows of Nodes are
}

type exportedDoc struct {
	File string `json:"file"`
	*dataset.Exported
}

func (e *export) run(ctx context.Context, a *app, set *dataset.Set) error {
	write := dataset.ExportEvents
	if e.encoded {
		write = dataset.ExportEncoded
	}
	if e.out == "" {
		_, err := write(ctx, a.out, set, dataset.FormatCSV)
		return err
	}
	events, err := writeTable(ctx, e.out, set, write)
	if err != nil {
		return err
	}
	e.schema = cmp.Or(e.schema, schemaFile(e.out))
	if err := replaceFile(e.schema, func(w io.Writer) error { return encode(w, events.Options.Schema) }); err != nil {
		return err
	}
	if len(events.Encoded) > 0 && !e.encoded {
		a.log().Warn("written as encoded numbers, as their values cannot be told from these: " +
			strings.Join(events.Encoded, ", "))
	}
	doc, o := exportDoc{Data: set.Name, Events: events, Schema: e.schema, nodeRows: "nodes"}, events.Options
	if set.Timeline != nil {
		doc.nodeRows = "rows of node features"
	}
	if e.nodes != "" {
		if doc.Nodes, err = writeTable(ctx, e.nodes, set, dataset.ExportNodes); err != nil {
			return err
		}
		n := doc.Nodes.Options
		o.NodeID, o.NodeSide, o.NodeTime = n.NodeID, n.NodeSide, n.NodeTime
	}
	if e.labels != "" {
		if doc.Labels, err = writeTable(ctx, e.labels, set, exportLabels); err != nil {
			return err
		}
	}
	doc.Import = e.importAgain(o)
	return a.emit(doc, doc.write)
}

// schemaFile is the file of a table's schema: called like it, with another ending.
func schemaFile(table string) string {
	for _, ending := range []string{".csv", ".csv.gz", ".parquet"} {
		if len(table) > len(ending) && strings.EqualFold(table[len(table)-len(ending):], ending) {
			table = table[:len(table)-len(ending)]
			break
		}
	}
	return table + ".schema.json"
}

// writeTable writes one table, which appears whole or not at all.
func writeTable(ctx context.Context, path string, set *dataset.Set,
	export func(context.Context, io.Writer, *dataset.Set, string) (*dataset.Exported, error),
) (*exportedDoc, error) {
	file, err := newPending(path)
	if err != nil {
		return nil, err
	}
	defer file.discard()
	var w io.Writer = file
	var packed *gzip.Writer
	if strings.HasSuffix(strings.ToLower(path), ".gz") {
		packed = gzip.NewWriter(file)
		w = packed
	}
	done, err := export(ctx, w, set, tableFormat(path))
	if err == nil && packed != nil {
		err = packed.Close()
	}
	if err == nil {
		err = file.commit()
	}
	return &exportedDoc{path, done}, err
}

// importAgain is the command that makes the same data set of the tables.
func (e *export) importAgain(o dataset.ImportOptions) []string {
	args := []string{"dygmamba", "data", "import", e.out, "--schema", e.schema}
	if e.nodes != "" {
		args = append(args, "--nodes", e.nodes, "--node-id", o.NodeID)
		if o.NodeSide != "" {
			args = append(args, "--node-side", o.NodeSide)
		}
		if o.NodeTime != "" {
			args = append(args, "--node-time", o.NodeTime)
		}
	}
	if e.labels != "" {
		args = append(args, "--node-labels", e.labels)
	}
	return args
}

func (d exportDoc) write(w io.Writer, s term.Style) error {
	for i, t := range []*exportedDoc{d.Events, d.Nodes, d.Labels} {
		if t != nil {
			fmt.Fprintf(w, "wrote %s: %s %s in %d columns\n", s.Strong(t.File), term.Count(t.Rows),
				[]string{"events", d.nodeRows, "labels of nodes"}[i], len(t.Columns))
		}
	}
	var words []string
	for _, word := range d.Import {
		words = append(words, shellWord(word))
	}
	_, err := fmt.Fprintf(w, "\nto import it again: %s\n", strings.Join(words, " "))
	return err
}

// shellWord quotes a word for a shell where it needs that.
func shellWord(word string) string {
	if word != "" && !strings.ContainsAny(word, " \t\r\n\"'`$&|;<>()*?[]{}!#~\\") {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
