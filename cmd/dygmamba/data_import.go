package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/internal/term"
)

func newDataImport(a *app) *cobra.Command {
	var out string
	var o dataset.ImportOptions
	cmd := &cobra.Command{
		Use:   "import FILE...",
		Short: "Turn your own CSV, JSON lines or Parquet into a data set",
		Long: `Reads tables of events, one row each, in any order, plain or gzip-compressed, and writes one .dgm ` +
			`file with events, features and names.
Ids may be words or whole numbers and are shown again in every output. Times are numbers in any unit, or dates:
` + dataset.DateForms + `.
Columns are found by their names where they are usual ones (src, user, from, …; dst, item, to, …; ts, time, date, …).

--features encodes columns that describe an event, and --node-features those of nodes in a second file: words get a
feature for each value, or are hashed where there are many; numbers are scaled; dates are taken apart; what is missing
is filled. The kind is seen from the first values, or named as COLUMN:number, COLUMN:category or COLUMN:date; 'all'
takes every column that is left. What is fitted looks at the training part alone, the first 70 % of the events, and is
kept in the file: 'data append' encodes later rows in the same way. --edge-features takes numbers as they are.

If anything is wrong, it says what, where and what would have been right, exits with 3 and writes nothing.`,
		Example: `  dygmamba data import visits.csv                                   columns are guessed; ` +
			`writes visits.dgm
  dygmamba data import visits.csv --src who --dst what --time when --bipartite
  dygmamba data import a.jsonl.gz b.jsonl.gz --edge-features amount,fee --label fraud --out payments.dgm
  dygmamba data import orders.csv --src customer --dst product --time date --bipartite --features category,price
  dygmamba data import orders.csv --features all --nodes customers.csv --node-features city,age,joined:date
  dygmamba data import calls.parquet --nodes people.csv --node-id phone
  dygmamba data import reddit.csv --format jodie                    raw file of the JODIE project`,
		Args: someFiles,
		RunE: func(cmd *cobra.Command, files []string) error {
			if err := someProblems(o); err != nil {
				return err
			}
			if out == "" {
				out = tableName(files[0]) + ".dgm"
			}
			for _, f := range append(slices.Clip(files), o.NodeFile) {
				if sameFile(f, out) {
					return usagef("--out %s is one of the files to read", out)
				}
			}
			if info, err := os.Stat(filepath.Dir(out)); err != nil || !info.IsDir() {
				return usagef("--out %s: there is no directory %s", out, filepath.Dir(out))
			}
			if o.Format == formatJODIE {
				for _, flag := range []string{"src", "dst", "time", "label", "edge-features", "nodes", "node-id",
					"node-side", "delimiter", "no-header",
					"features", "node-features", "categories", "missing"} {
					if cmd.Flags().Changed(flag) {
						return usagef("--%s does not go with --format jodie, in which every column has its place", flag)
					}
				}
				return a.importJODIE(cmd.Context(), files, out, o)
			}
			if o.Name == "" {
				o.Name = tableName(out)
			}
			report, err := a.importTables(cmd.Context(), files, out, o)
			if err != nil {
				return err
			}
			return a.imported(report)
		},
	}
	cmd.Flags().StringVar(&out, "out", "",
		"file to write (default: the first file's name with .dgm, in the current directory)")
	cmd.Flags().StringVar(&o.Name, "name", "",
		"name of the data set (default: that of --out without its ending; with --format jodie that of the file read)")
	addTableFlags(cmd, &o)
	return cmd
}

// formatJODIE is a format that is read whole and in its own way: ids from 0, an unnamed tail of features.
const formatJODIE = dataset.FormatJODIE

func (a *app) importJODIE(ctx context.Context, files []string, out string, o dataset.ImportOptions) error {
	if len(files) > 1 {
		return usagef("--format jodie reads one file, found %q too", files[1])
	}
	if o.Name == "" {
		o.Name = tableName(files[0])
	}
	set, err := dataset.ReadJODIE(ctx, files[0], dataset.JODIEOptions{Name: o.Name, Bipartite: o.Bipartite})
	if err != nil {
		return err
	}
	return a.save(set, out)
}

func someFiles(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return usagef("%s needs a file: CSV, JSON lines or Parquet; - for standard input", cmd.CommandPath())
	}
	return nil
}

// addTableFlags are the flags that say how to read a table.
func addTableFlags(cmd *cobra.Command, o *dataset.ImportOptions) {
	flags := cmd.Flags()
	addTableForm(cmd, o)
	flags.StringVar(&o.Label, "label", "", "column of labels (default: label, if there is one)")
	flags.StringSliceVar(&o.EdgeFeatures, "edge-features", nil,
		"columns of numbers that describe an event and are taken as they are, separated by commas")
	flags.StringSliceVar(&o.Features, "features", nil,
		"columns that describe an event, to encode: words, numbers, dates; each as `column` or column:kind; 'all' "+
			"for all that are left")
	flags.IntVar(&o.Categories, "categories", dataset.DefaultCategories,
		"so many values of a column have a feature each; of columns with more they are hashed into as many")
	flags.StringSliceVar(&o.Missing, "missing", nil,
		"`words` that stand for a missing number or date, beside NA, null, none, ? and the like")
	flags.BoolVar(&o.Bipartite, "bipartite", false,
		"sources and destinations are different things, even under the same name")
	flags.StringVar(&o.NodeFile, "nodes", "", "a table with features of nodes, a row each")
	flags.StringVar(&o.NodeID, "node-id", "", "its column of names (default: guessed)")
	flags.StringSliceVar(&o.NodeFeatures, "node-features", nil,
		"its `columns` to encode, as with --features (default: all are numbers, taken as they are)")
	flags.StringVar(&o.NodeSide, "node-side", "",
		"with --bipartite: its column that says source or destination (default: side, if there is one)")
	flags.IntVar(&o.MaxProblems, "max-problems", 20, "how many problems of each kind to report")
}

// tableForms are the flags of every command that reads someone's table.
var tableForms = []string{"src", "dst", "time", "format", "delimiter", "no-header"}

// addTableForm adds them.
func addTableForm(cmd *cobra.Command, o *dataset.ImportOptions) {
	flags, formats, jodie := cmd.Flags(), []string{dataset.FormatCSV, dataset.FormatJSONL, dataset.FormatParquet}, ""
	if cmd.Name() != "predict" {
		formats, jodie = append(formats, formatJODIE), "; jodie for the raw files of the JODIE project"
	}
	flags.StringVar(&o.Source, "src", "", "column of sources (default: guessed)")
	flags.StringVar(&o.Target, "dst", "", "column of destinations (default: guessed)")
	flags.StringVar(&o.Time, "time", "", "column of times (default: guessed)")
	flags.StringVar(&o.Format, "format", "", "csv, jsonl or parquet (default: seen from the content)"+jodie)
	flags.StringVar(&o.Delimiter, "delimiter", "",
		"between columns of CSV, one character (default: seen from the first line)")
	flags.BoolVar(&o.NoHeader, "no-header", false, "CSV begins with data; columns are called 1, 2, 3, …")
	completeWith(cmd, "format", formats...)
}

// formGiven is one of them that was given, "" for none.
func formGiven(cmd *cobra.Command) string {
	for _, flag := range tableForms {
		if cmd.Flags().Changed(flag) {
			return flag
		}
	}
	return ""
}

// checkForm looks at --format alone.
func checkForm(o dataset.ImportOptions) error {
	return oneOf("format", o.Format, "", dataset.FormatCSV, dataset.FormatJSONL, dataset.FormatParquet)
}

// someProblems refuses to hide all problems.
func someProblems(o dataset.ImportOptions) error {
	if o.MaxProblems < 1 {
		return usagef("--max-problems is %d, must be at least 1", o.MaxProblems)
	}
	return someFeatures(o)
}

// someFeatures looks at the flags about features alone.
func someFeatures(o dataset.ImportOptions) error {
	const most = 1 << 16
	switch {
	case o.Categories < 2 || o.Categories > most:
		return usagef("--categories is %d, must be from 2 to %d", o.Categories, most)
	case len(o.NodeFeatures) > 0 && o.NodeFile == "":
		return usagef("--node-features is about the file that --nodes names")
	}
	return nil
}

// importTables reads tables with a progress line. With no out it only looks for problems.
func (a *app) importTables(
	ctx context.Context, files []string, out string, o dataset.ImportOptions,
) (*dataset.ImportReport, error) {
	if err := checkForm(o); err != nil {
		return nil, err
	}
	progress := a.console.Progress("read", "bytes")
	o.Progress = func(p dataset.ImportProgress) {
		progress.Set(p.Bytes, p.Size, filepath.Base(p.File)+", "+term.Count(p.Rows)+" rows")
	}
	defer progress.Done()
	return dataset.Import(ctx, files, out, o)
}

// importDoc is the document of data import.
type importDoc struct {
	File         string       `json:"file"`
	Events       int          `json:"events"`
	Nodes        int          `json:"nodes"`
	Sources      int          `json:"sources"`
	Destinations int          `json:"destinations"`
	Bipartite    bool         `json:"bipartite"`
	First        string       `json:"first"`
	Last         string       `json:"last"`
	TimeFormat   string       `json:"time_format"`
	Sorted       bool         `json:"sorted"` // rows were in the order of time
	Labels       bool         `json:"labels"`
	EdgeFeatures int          `json:"edge_features"`
	NodeFeatures int          `json:"node_features"`
	Columns      columnsDoc   `json:"columns"`
	Encoding     *encodingDoc `json:"encoding,omitempty"` // of features that were fitted
	Warnings     []string     `json:"warnings,omitempty"`
}

type columnsDoc struct {
	Source       string   `json:"src"`
	Target       string   `json:"dst"`
	Time         string   `json:"time"`
	Label        string   `json:"label,omitempty"`
	EdgeFeatures []string `json:"edge_features,omitempty"`
	Features     []string `json:"features,omitempty"`
	Ignored      []string `json:"ignored,omitempty"`
}

func importDocOf(r *dataset.ImportReport) importDoc {
	return importDoc{
		File: r.Out, Events: r.Events, Nodes: r.Nodes, Sources: r.Sources, Destinations: r.Targets,
		Bipartite: r.Bipartite, First: dataset.FormatTime(r.First, r.TimeFormat),
		Last: dataset.FormatTime(r.Last, r.TimeFormat), TimeFormat: r.TimeFormat, Sorted: r.Sorted, Labels: r.Labels,
		EdgeFeatures: r.EdgeFeatures, NodeFeatures: r.NodeFeatures, Columns: columnsDoc(r.Columns),
		Encoding: encodingDocOf(r.Recipe, r.TimeFormat), Warnings: r.Warnings,
	}
}

func (a *app) imported(r *dataset.ImportReport) error {
	doc := importDocOf(r)
	for _, w := range r.Warnings {
		a.log().Warn(w)
	}
	return a.emit(doc, func(w io.Writer, s term.Style) error {
		fmt.Fprintf(w, "wrote %s\n\n", s.Strong(doc.File))
		return doc.facts().Write(w, s)
	})
}

func (doc importDoc) facts() *term.Facts {
	f := &term.Facts{}
	f.Add("events", term.Count(doc.Events))
	f.Add("nodes", fmt.Sprintf("%s of %s: %s as sources, %s as destinations",
		term.Count(doc.Nodes), kinds(doc.Bipartite), term.Count(doc.Sources), term.Count(doc.Destinations)))
	f.Add("times", doc.First+" … "+doc.Last)
	f.Add("columns", doc.Columns.String())
	if len(doc.Columns.Ignored) > 0 {
		f.Add("ignored", strings.Join(doc.Columns.Ignored, ", ")+" (--features takes them)")
	}
	if doc.EdgeFeatures+doc.NodeFeatures > 0 {
		f.Add("features", fmt.Sprintf("%d of events, %d of nodes", doc.EdgeFeatures, doc.NodeFeatures))
	}
	doc.Encoding.addTo(f)
	if !doc.Sorted {
		f.Add("order", "rows were not in the order of time; sorted")
	}
	return f
}

func kinds(bipartite bool) string {
	if bipartite {
		return "two kinds"
	}
	return "one kind"
}

func (c columnsDoc) String() string {
	text := fmt.Sprintf("%s → %s at %s", c.Source, c.Target, c.Time)
	if c.Label != "" {
		text += ", label " + c.Label
	}
	return text
}

// tableName is a file's name without its directory and endings.
func tableName(path string) string {
	if path == "-" {
		return "stdin"
	}
	name, _, _ := strings.Cut(filepath.Base(path), ".")
	return name
}

func sameFile(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}
