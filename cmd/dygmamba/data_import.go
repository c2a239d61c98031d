package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/internal/term"
	"github.com/dygmamba/dygmamba/run"
)

func newDataImport(a *app) *cobra.Command {
	var out string
	var o dataset.ImportOptions
	var repository string
	var git dataset.GitOptions
	cmd := &cobra.Command{
		Use:   "import FILE... | --git DIR",
		Short: "Convert CSV, JSON lines, Parquet or the history of a Git repository to a data set",
		Args: func(cmd *cobra.Command, args []string) error {
			if repository == "" {
				return someFiles(cmd, args)
			}
			if len(args) > 0 {
				return usagef("--git reads a repository, found the file %q too", args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, files []string) error {
			if err := someProblems(o); err != nil {
				return err
			}
			if repository != "" {
				return a.importGit(cmd, repository, out, git, o)
			}
			if git.Anonymous {
				return usagef("--anonymous needs --git")
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
			if o.Format == dataset.FormatJODIE {
				for _, flag := range []string{"src", "dst", "time", "label", "value", "edge-features", "nodes",
					"node-id", "node-side", "delimiter", "no-header",
					"features", "node-features", "categories", "missing"} {
					if cmd.Flags().Changed(flag) {
						return usagef("--%s cannot be used with --format jodie, which fixes all columns", flag)
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
		"file to write (default: name of the first file with the ending .dgm, in the current directory)")
	cmd.Flags().StringVar(&o.Name, "name", "",
		"name of the data set (default: name of the --out file; with --format jodie, of the input file)")
	cmd.Flags().StringVar(&repository, "git", "",
		"`directory` of a Git repository: each file that a commit changes is an event, person → file")
	cmd.Flags().BoolVar(&git.Anonymous, "anonymous", false, "with --git: number the people instead of naming them")
	addTableFlags(cmd, &o)
	return cmd
}

// importGit imports the history of a repository.
func (a *app) importGit(cmd *cobra.Command, dir, out string, g dataset.GitOptions, o dataset.ImportOptions) error {
	for _, flag := range append(slices.Clone(tableForms), "label", "value", "edge-features", "time-unit",
		"time-format") {
		if cmd.Flags().Changed(flag) {
			return usagef("--%s cannot be used with --git, which fixes all columns", flag)
		}
	}
	whole, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	if out == "" {
		out = tableName(whole) + ".dgm"
	}
	o.Name = cmp.Or(o.Name, tableName(out))
	progress := a.console.Progress("read", "commits")
	g.Commits = func(n int) { progress.Set(int64(n), 0, "") }
	report, err := dataset.ImportGit(cmd.Context(), dir, out, g, o)
	progress.Done()
	if err != nil {
		return err
	}
	return a.imported(report)
}

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
	flags.StringVar(&o.Label, "label", "", "column of labels: numbers, or words for classes; a row without one has an "+
		"empty cell (default: the column label, if it exists)")
	flags.StringVar(&o.Value, "value", "", "`column` of the number that an event has, for --task regression; later "+
		"events see it as a feature (default: none)")
	flags.StringVar(&o.ID, "id", "", "`column` of the ids of events, for 'data retract' (default: none)")
	addSchema(cmd, o)
	flags.StringVar(&o.Kind, "kind", "", "`column` of the kinds of events, such as viewed or bought (default: none)")
	flags.BoolVar(&o.KindOfFile, "kind-of-file", false,
		"each file holds the events of one kind, called like the file without endings")
	flags.StringSliceVar(&o.EdgeFeatures, "edge-features", nil,
		"comma-separated columns of numbers that describe an event, used without encoding")
	flags.StringSliceVar(&o.Features, "features", nil,
		"`columns` that describe an event, to encode: words, numbers or dates; each as column or column:kind; "+
			"'all' for all remaining columns")
	flags.IntVar(&o.Categories, "categories", dataset.DefaultCategories,
		"maximum number of features per category column; columns with more values are hashed")
	flags.StringSliceVar(&o.Missing, "missing", nil,
		"`words` that mean a missing number or date, in addition to NA, null, none, ? and similar")
	flags.BoolVar(&o.Bipartite, "bipartite", false,
		"sources and destinations are different nodes, even if they have the same name")
	flags.StringVar(&o.NodeFile, "nodes", "", "table with node features: one row per node, or more with --node-time")
	flags.StringVar(&o.NodeTime, "node-time", "",
		"with --nodes: `column` of times; a row holds from its time until the node's next row")
	flags.StringVar(&o.NodeID, "node-id", "", "with --nodes: column of node names (default: detected)")
	flags.StringSliceVar(&o.NodeFeatures, "node-features", nil,
		"with --nodes: `columns` to encode, as with --features (default: all columns, as numbers)")
	flags.StringVar(&o.NodeSide, "node-side", "",
		"with --nodes and --bipartite: column with the values source or destination (default: side, if it exists)")
	addLabelFile(cmd, &o.NodeLabels, " (default: detected)")
	flags.IntVar(&o.MaxProblems, "max-problems", 20, "maximum number of problems of each kind to report")
}

// tableForms are the flags of every command that reads someone's table.
var tableForms = []string{"src", "dst", "time", "format", "delimiter", "no-header"}

func addTableForm(cmd *cobra.Command, o *dataset.ImportOptions) {
	flags, formats, jodie := cmd.Flags(), []string{dataset.FormatCSV, dataset.FormatJSONL, dataset.FormatParquet}, ""
	found := " (default: detected)"
	switch cmd.Name() {
	case "append":
		found = " (default: as in the first import)"
	case "import", "check":
		formats, jodie = append(formats, dataset.FormatJODIE), "; jodie for raw files of the JODIE project"
	}
	flags.StringVar(&o.Source, "src", "", "column of sources"+found)
	flags.StringVar(&o.Target, "dst", "", "column of destinations"+found)
	flags.StringVar(&o.Time, "time", "", "column of times"+found)
	flags.StringVar(&o.TimeUnit, "time-unit", "",
		"unit of times that are numbers, since 1970: s, ms, us or ns (default: recognised by their size)")
	flags.StringVar(&o.TimeLayout, "time-format", "",
		"`layout` of dates, such as '%d.%m.%Y %H:%M' (default: ISO 8601 and similar)")
	flags.StringVar(&o.Format, "format", "", "csv, jsonl or parquet (default: detected from the content)"+jodie)
	flags.StringVar(&o.Delimiter, "delimiter", "",
		"character between CSV columns (default: detected from the first line)")
	flags.BoolVar(&o.NoHeader, "no-header", false, "CSV has no header line; columns are named 1, 2, 3, …")
	completeWith(cmd, "format", formats...)
}

// addSchema is a flag that says what all columns mean and how they become numbers.
func addSchema(cmd *cobra.Command, o *dataset.ImportOptions) {
	cmd.Flags().Func("schema", "`file` that says what all columns mean and how they become numbers, as 'data export' "+
		"writes it; a .dgm file or a checkpoint works too", func(path string) (err error) {
		o.Schema, err = readSchema(path)
		return err
	})
}

// readSchema reads the schema of a file, of a data set or of a checkpoint.
func readSchema(path string) (*dataset.Schema, error) {
	var schema *dataset.Schema
	switch strings.ToLower(filepath.Ext(path)) {
	case ".dgm":
		set, err := dataset.OpenNative(path)
		if err != nil {
			return nil, err
		}
		defer set.Close()
		schema = set.Schema()
	case ".safetensors":
		file, err := run.ReadCheckpoint(path)
		if err != nil {
			return nil, err
		}
		if raw := file.Meta[run.SchemaKey]; raw != "" {
			return dataset.ParseSchema([]byte(raw))
		}
	default:
		raw, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		if schema, err = dataset.ParseSchema(raw); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	if schema == nil {
		return nil, fmt.Errorf("%s has no schema: the data did not come from tables", path)
	}
	return schema, nil
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
	if err := oneOf("time-unit", o.TimeUnit, append([]string{""}, dataset.TimeUnits...)...); err != nil {
		return err
	}
	return oneOf("format", o.Format, "", dataset.FormatCSV, dataset.FormatJSONL, dataset.FormatParquet)
}

// someProblems looks at the flags about problems and features.
func someProblems(o dataset.ImportOptions) error {
	const most = 1 << 16
	switch {
	case o.MaxProblems < 1:
		return usagef("--max-problems is %d, must be at least 1", o.MaxProblems)
	case o.Categories < 2 || o.Categories > most:
		return usagef("--categories is %d, must be from 2 to %d", o.Categories, most)
	case o.Kind != "" && o.KindOfFile:
		return usagef("--kind and --kind-of-file cannot be used together")
	case len(o.NodeFeatures) > 0 && o.NodeFile == "":
		return usagef("--node-features needs --nodes")
	case o.NodeTime != "" && o.NodeFile == "":
		return usagef("--node-time needs --nodes")
	case o.NodeLabels.Path == "" && o.NodeLabels != (dataset.LabelFile{}):
		return usagef("--node-label, --node-label-id, --node-label-side and --node-label-time need --node-labels")
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
	defer a.showProgress(&o)()
	return dataset.Import(ctx, files, out, o)
}

// showProgress shows how far tables are read, until done is called.
func (a *app) showProgress(o *dataset.ImportOptions) (done func()) {
	progress := a.console.Progress("read", "bytes")
	o.Progress = func(p dataset.ImportProgress) {
		progress.Set(p.Bytes, p.Size, filepath.Base(p.File)+", "+term.Count(p.Rows)+" rows")
	}
	return progress.Done
}

type importDoc struct {
	*dataset.ImportReport
	spanDoc
	Encoding *encodingDoc `json:"encoding,omitempty"` // of features that were fitted
}

// spanDoc is the first time and the last, as the data writes them.
type spanDoc struct {
	First string `json:"first"`
	Last  string `json:"last"`

	shown string // for people
}

func spanOf(first, last event.Time, c dataset.Clock) spanDoc {
	return spanDoc{c.Write(first), c.Write(last), c.String() + ", " + c.Show(first) + " … " + c.Show(last)}
}

func (d spanDoc) String() string { return d.shown }

func (a *app) imported(r *dataset.ImportReport) error {
	r.Warnings = a.warn(r.Warnings)
	clock := dataset.ClockOf(r.TimeFormat, r.TimeUnit)
	doc := importDoc{r, spanOf(r.First, r.Last, clock), encodingDocOf(r.Recipe, clock)}
	return a.emit(doc, func(w io.Writer, s term.Style) error {
		fmt.Fprintf(w, "wrote %s\n\n", s.Strong(doc.Out))
		return doc.facts().Write(w, s)
	})
}

func (doc importDoc) facts() *term.Facts {
	f := &term.Facts{}
	f.Add("events", term.Count(doc.Events))
	f.Add("nodes", nodesText(doc.Bipartite, doc.Nodes, doc.Sources, doc.Targets))
	f.Add("times", doc.String())
	f.Add("columns", doc.Columns.String())
	if len(doc.Kinds) > 0 {
		f.Add("kinds", fmt.Sprintf("%d: %s", len(doc.Kinds), dataset.ListKinds(doc.Kinds)))
	}
	if len(doc.Classes) > 0 {
		f.Add("classes", fmt.Sprintf("%d: %s", len(doc.Classes), dataset.ListKinds(doc.Classes)))
	}
	if len(doc.Columns.Ignored) > 0 {
		f.Add("ignored", strings.Join(doc.Columns.Ignored, ", ")+" (use --features to include them)")
	}
	if doc.EdgeFeatures+doc.NodeFeatures > 0 {
		f.Add("features", fmt.Sprintf("%d of events, %d of nodes", doc.EdgeFeatures, doc.NodeFeatures))
	}
	if doc.NodeLabels > 0 {
		f.Add("node labels", fmt.Sprintf("%s of %d classes: %s", term.Count(doc.NodeLabels), len(doc.NodeClasses),
			dataset.ListKinds(doc.NodeClasses)))
	}
	if doc.NodeRows > 0 {
		f.Add("over time", fmt.Sprintf("features of nodes change: %s rows", term.Count(doc.NodeRows)))
	}
	doc.Encoding.addTo(f)
	if !doc.Sorted {
		f.Add("order", "rows were not in time order; sorted")
	}
	return f
}

// nodesText says how many nodes there are, of which kinds.
func nodesText(bipartite bool, nodes, sources, targets int) string {
	kinds := "one kind"
	if bipartite {
		kinds = "two kinds"
	}
	return fmt.Sprintf("%s of %s: %s as sources, %s as destinations",
		term.Count(nodes), kinds, term.Count(sources), term.Count(targets))
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
