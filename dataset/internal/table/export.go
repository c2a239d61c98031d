package table

import (
	"cmp"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/parquet-go/parquet-go"

	"github.com/dygmamba/dygmamba/dataset/internal/data"
	"github.com/dygmamba/dygmamba/dataset/internal/feature"
	"github.com/dygmamba/dygmamba/dataset/internal/input"
	"github.com/dygmamba/dygmamba/event"
)

// Exported is a table that was written, and the options with which Import reads it again.
type Exported struct {
	Rows    int      `json:"rows"`
	Columns []string `json:"columns"`
	Options Options  `json:"-"` // columns by name, and Bipartite
	// Encoded are the columns that were written as the numbers that they became: no values give all of these.
	Encoded []string `json:"encoded,omitempty"`
}

// ExportEvents writes the events of a set as CSV or Parquet, in the order in which they came: columns of features with
// values as they were imported, as far as these can be told from what they became. Import with the options of the
// result, which have a schema, makes the same set of them: events, ids, names, labels, kinds and features.
func ExportEvents(ctx context.Context, w io.Writer, s *data.Set, format string) (*Exported, error) {
	return eventSheet(s, false).write(ctx, w, format)
}

// ExportEncoded is ExportEvents with all columns of features as the numbers that they became.
func ExportEncoded(ctx context.Context, w io.Writer, s *data.Set, format string) (*Exported, error) {
	return eventSheet(s, true).write(ctx, w, format)
}

// ExportNodes writes the nodes of a set with their features, for Options.NodeFile: a row for each, or where features
// change over time their rows.
func ExportNodes(ctx context.Context, w io.Writer, s *data.Set, format string) (*Exported, error) {
	if s.Timeline != nil {
		return timelineSheet(s).write(ctx, w, format)
	}
	if s.Node.Data == nil {
		return nil, errors.New("export: nodes have no features")
	}
	return nodeSheet(s).write(ctx, w, format)
}

// WriteColumns writes any table as CSV or Parquet.
func WriteColumns(ctx context.Context, w io.Writer, format string, rows int, columns ...Column) error {
	_, err := (&sheet{rows: rows, columns: columns}).write(ctx, w, format)
	return err
}

// IntColumn has whole numbers.
func IntColumn(name string, of func(row int) int) Column {
	return Column{name, func(row int) string { return strconv.Itoa(of(row)) }, parquet.Int(64),
		func(row int) parquet.Value { return parquet.Int64Value(int64(of(row))) }}
}

// FloatColumn has numbers in all their digits.
func FloatColumn(name string, of func(row int) float64) Column {
	return Column{name, func(row int) string { return number(of(row)) },
		parquet.Leaf(parquet.DoubleType), func(row int) parquet.Value { return parquet.DoubleValue(of(row)) }}
}

// number is a number without an exponent, as people write times, unless that is long.
func number(x float64) string {
	const long = 20
	if text := strconv.FormatFloat(x, 'f', -1, 64); len(text) <= long {
		return text
	}
	return strconv.FormatFloat(x, 'g', -1, 64)
}

type sheet struct {
	rows    int
	columns []Column
	options Options
	encoded []string // columns that are written as the numbers that they became
}

// Column gives the cells of a column as CSV and as Parquet have them.
type Column struct {
	Name  string
	text  func(row int) string
	node  parquet.Node
	value func(row int) parquet.Value
}

func (t *sheet) write(ctx context.Context, w io.Writer, format string) (*Exported, error) {
	var err error
	switch format {
	case FormatCSV:
		err = t.csv(ctx, w)
	case FormatParquet:
		err = t.parquet(ctx, w)
	default:
		err = fmt.Errorf("format %q, want %s or %s", format, FormatCSV, FormatParquet)
	}
	done := &Exported{Rows: t.rows, Options: t.options, Encoded: t.encoded}
	for _, c := range t.columns {
		done.Columns = append(done.Columns, c.Name)
	}
	return done, err
}

// someRows is how many rows are written before anyone looks whether to go on.
const someRows = 4096

func (t *sheet) csv(ctx context.Context, w io.Writer) error {
	out := csv.NewWriter(w)
	line := make([]string, len(t.columns))
	for j, c := range t.columns {
		line[j] = c.Name
	}
	out.Write(line)
	for i := range t.rows {
		for j, c := range t.columns {
			line[j] = c.text(i)
		}
		if err := out.Write(line); err != nil {
			return err
		}
		if i%someRows == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
	}
	out.Flush()
	return out.Error()
}

func eventSheet(s *data.Set, encoded bool) *sheet {
	all := s.Log.All()
	order := arrival(all)
	r := recipeOf(s)
	t := &sheet{rows: len(order), options: Options{Source: r.Source, Target: r.Target, Time: r.Time,
		Bipartite: s.Names.Sources() > 0}}
	t.columns = append(t.columns,
		nameColumn(s, r.Source, func(row int) event.Node { return all.Src[order[row]] }),
		nameColumn(s, r.Target, func(row int) event.Node { return all.Dst[order[row]] }),
		timeColumn(s, r.Time, len(order), func(row int) event.Time { return all.Time[order[row]] }))
	if all.Len() > 0 && slices.ContainsFunc(order, func(i int) bool { return all.Label(i) != 0 }) {
		t.options.Label = r.Label
		label := Float32Column(r.Label, func(row int) float32 { return all.Label(order[row]) })
		if s.Classes != nil {
			label = TextColumn(r.Label, func(row int) string { return s.ClassName(all.Label(order[row])) })
		}
		t.columns = append(t.columns, label)
	}
	if s.IDs != nil {
		t.options.ID = r.ID
		t.columns = append(t.columns, TextColumn(r.ID, func(row int) string {
			return s.IDs.At(int(all.Edge(order[row])))
		}))
	}
	if len(s.Kinds) > 0 {
		t.options.Kind = r.Kind
		t.columns = append(t.columns, TextColumn(r.Kind, func(row int) string {
			return s.KindName(all.Kind(order[row]))
		}))
	}
	if s.Values != nil && r.Value != "" && r.Edge.Width() == s.Edge.Cols {
		t.options.Value = r.Value
		t.columns = append(t.columns, FloatColumn(r.Value, func(row int) float64 {
			return s.Values[all.Edge(order[row])]
		}))
	}
	schema := &data.Schema{Version: 1, TimeFormat: s.TimeFormat, TimeUnit: s.TimeUnit, Bipartite: t.options.Bipartite,
		Kinds: s.Kinds, Classes: s.Classes, Columns: r, Encoded: map[string][]string{}, Nodes: data.NodesIn(s, order)}
	schema.Columns.Label, schema.Columns.Kind, schema.Columns.ID = t.options.Label, t.options.Kind, t.options.ID
	schema.Columns.Value = t.options.Value
	schema.Columns.Layout, schema.Columns.KindOfFile = "", false
	schema.Columns.Edge = t.features(s.Edge, r.Edge, encoded, schema.Encoded,
		func(row int) int { return int(all.Edge(order[row])) })
	schema.Columns.Node = data.Encoding{}
	if s.Node.Data != nil { // as ExportNodes writes them
		width := s.Node.Cols
		schema.Columns.Node = data.Encoding{Plain: (&sheet{columns: nodeColumns(s, nil)}).titles(s.Node, r.Node),
			PlainWidth: width}
	}
	if schema.Columns.NodeLabels = (data.LabelColumns{}); s.NodeLabels != nil {
		_, _, o := ExportNodeLabels(s)
		schema.Columns.NodeLabels = data.LabelColumns{Node: o.Node, Side: o.Side, Time: o.Time, Label: o.Label}
		schema.NodeClasses = s.NodeLabels.Names
	}
	if schema.Columns.NodeTime = ""; s.Timeline != nil {
		schema.Columns.Node, schema.Columns.NodeTime = timelineEncoding(s), r.NodeTime
	}
	t.options.EdgeFeatures, t.options.Schema = schema.Columns.Edge.Plain, schema
	return t
}

// features adds the columns of features, those of row i of the table at row of the features: plain ones first, then
// those that were fitted with their values, or encoded where these cannot be told, or where that is asked for. The
// result is how the table is read again.
func (t *sheet) features(f data.Features, e data.Encoding, encoded bool, under map[string][]string,
	row func(i int) int) data.Encoding {
	if f.Data == nil { // all are 0, those of values too
		return data.Encoding{Columns: slices.DeleteFunc(slices.Clone(e.Columns), func(c *feature.Column) bool {
			return c.Name != t.options.Value || c.Name == ""
		})}
	}
	number := func(title string, j int) {
		t.columns = append(t.columns, Float32Column(title, func(i int) float32 { return f.Row(row(i))[j] }))
	}
	if e.Width() != f.Cols { // nobody knows what they were
		titles := t.titles(f, e)
		for j, title := range titles {
			number(title, j)
		}
		return data.Encoding{Plain: titles, PlainWidth: f.Cols}
	}
	out := data.Encoding{PlainWidth: e.PlainWidth, Columns: e.Columns}
	titles := t.titles(f, e)
	for j := range e.PlainWidth {
		out.Plain = append(out.Plain, titles[j])
		number(titles[j], j)
	}
	lo := e.PlainWidth
	for _, c := range e.Columns {
		c.Prepare()
		hi := lo + c.Width()
		if c.Name == t.options.Value && c.Name != "" { // is there as it was, for Values
			lo = hi
			continue
		}
		if !encoded && t.tells(c, f, lo, row) {
			at := lo
			t.columns = append(t.columns, TextColumn(c.Name, func(i int) string {
				cell, _ := c.Decode(f.Row(row(i))[at:hi])
				return cell
			}))
		} else {
			under[c.Name], t.encoded = titles[lo:hi:hi], append(t.encoded, c.Name)
			for j := lo; j < hi; j++ {
				number(titles[j], j)
			}
		}
		lo = hi
	}
	return out
}

// tells says whether all features of a column come from values that can be told.
func (t *sheet) tells(c *feature.Column, f data.Features, lo int, row func(i int) int) bool {
	if slices.ContainsFunc(t.columns, func(o Column) bool { return o.Name == c.Name }) {
		return false
	}
	for i := range t.rows {
		if _, ok := c.Decode(f.Row(row(i))[lo : lo+c.Width()]); !ok {
			return false
		}
	}
	return true
}

// exportTitles are those of an encoded column in a table: none is the name of the column itself, so that nobody takes
// encoded numbers for its values.
func exportTitles(c *feature.Column) []string {
	list := c.Titles()
	if c.Kind != feature.Category {
		list[0] = c.Name + "_scaled"
	}
	return list
}

// nodeSheet is the nodes of a set that have events or features.
func nodeSheet(s *data.Set) *sheet {
	all := s.Log.All()
	var ids []event.Node
	occurs := make([]bool, s.NumNodes())
	for i := range all.Len() {
		occurs[all.Src[i]], occurs[all.Dst[i]] = true, true
	}
	for id := 1; id < s.Node.Rows; id++ {
		if id < len(occurs) && occurs[id] || slices.ContainsFunc(s.Node.Row(id),
			func(x float32) bool { return x != 0 }) {
			ids = append(ids, event.Node(id))
		}
	}
	r := recipeOf(s)
	t := &sheet{rows: len(ids), options: Options{NodeID: r.NodeID}, columns: nodeColumns(s, ids)}
	if s.Names.Sources() > 0 {
		t.options.NodeSide = r.NodeSide
	}
	for j, title := range t.titles(s.Node, r.Node) {
		t.columns = append(t.columns, Float32Column(title,
			func(row int) float32 { return s.Node.Row(int(ids[row]))[j] }))
	}
	return t
}

// nodeColumns are names and sides of nodes.
func nodeColumns(s *data.Set, ids []event.Node) []Column {
	r := recipeOf(s)
	list := []Column{nameColumn(s, r.NodeID, func(row int) event.Node { return ids[row] })}
	if s.Names.Sources() == 0 {
		return list
	}
	return append(list, TextColumn(r.NodeSide, func(row int) string {
		if s.Names.IsSource(ids[row]) {
			return "source"
		}
		return "destination"
	}))
}

// arrival is the order in which events came: that of their ids, unless those say otherwise where times are equal.
func arrival(all event.Span) []int {
	order := make([]int, all.Len())
	for i := range order {
		order[i] = i
		if i > 0 && all.Time[i] == all.Time[i-1] && all.Edge(i) < all.Edge(i-1) {
			for k := range order {
				order[k] = k
			}
			return order
		}
	}
	slices.SortFunc(order, func(a, b int) int { return int(all.Edge(a)) - int(all.Edge(b)) })
	return order
}

// recipeOf is that of the set, with a name for every column.
func recipeOf(s *data.Set) data.Recipe {
	var r data.Recipe
	if s.Recipe != nil {
		r = *s.Recipe
	}
	if r.NoHeader {
		r = data.Recipe{Edge: r.Edge, Node: r.Node}
	}
	r.Source, r.Target, r.Time = cmp.Or(r.Source, "src"), cmp.Or(r.Target, "dst"), cmp.Or(r.Time, "time")
	r.Kind, r.ID = cmp.Or(r.Kind, "kind"), cmp.Or(r.ID, "id")
	r.Label, r.NodeID, r.NodeSide = cmp.Or(r.Label, "label"), cmp.Or(r.NodeID, "node"), cmp.Or(r.NodeSide, "side")
	r.NodeTime = cmp.Or(r.NodeTime, "time")
	return r
}

// titles names the features, each differently and so that they need no quotes; none where all are 0.
func (t *sheet) titles(f data.Features, e data.Encoding) []string {
	if f.Data == nil {
		return nil
	}
	list := (&data.Encoding{Plain: e.Plain, PlainWidth: e.PlainWidth}).Titles()
	for _, c := range e.Columns {
		list = append(list, exportTitles(c)...)
	}
	if len(list) != f.Cols {
		list = nil
		for j := range f.Cols {
			list = append(list, "feature_"+strconv.Itoa(j+1))
		}
	}
	used := map[string]bool{}
	for _, c := range t.columns {
		used[c.Name] = true
	}
	for j, title := range list {
		title = strings.Map(plainLetter, title)
		unique := title
		for n := 2; used[unique]; n++ {
			unique = title + "_" + strconv.Itoa(n)
		}
		used[unique] = true
		list[j] = unique
	}
	return list
}

// plainLetter replaces what would have to be quoted somewhere, or might be taken for a delimiter.
func plainLetter(r rune) rune {
	if unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("_-=.#", r) {
		return r
	}
	return '_'
}

// TextColumn has text.
func TextColumn(name string, of func(row int) string) Column {
	return Column{name, of, parquet.String(),
		func(row int) parquet.Value { return parquet.ByteArrayValue([]byte(of(row))) }}
}

// nameColumn is names of nodes, as numbers where all are.
func nameColumn(s *data.Set, name string, of func(row int) event.Node) Column {
	text := func(row int) string { return s.Names.Name(of(row)) }
	if s.Names != nil && s.Names.Columns().Numbers == nil {
		return TextColumn(name, text)
	}
	number := func(row int) parquet.Value {
		v, _ := input.ParseInt([]byte(text(row)))
		return parquet.Int64Value(v)
	}
	return Column{name, text, parquet.Int(64), number}
}

// Float32Column has numbers in all their digits.
func Float32Column(name string, of func(row int) float32) Column {
	text := func(row int) string { return strconv.FormatFloat(float64(of(row)), 'g', -1, 32) }
	return Column{name, text, parquet.Leaf(parquet.FloatType),
		func(row int) parquet.Value { return parquet.FloatValue(of(row)) }}
}

// timeColumn is times: numbers, or dates. In Parquet those are timestamps where microseconds tell them exactly, and
// text elsewhere.
func timeColumn(s *data.Set, name string, rows int, of func(row int) event.Time) Column {
	text := func(row int) string { return input.FormatTime(of(row), s.TimeFormat) }
	if s.TimeFormat != input.TimeDate {
		return Column{name, text, parquet.Leaf(parquet.DoubleType),
			func(row int) parquet.Value { return parquet.DoubleValue(of(row)) }}
	}
	for row := range rows {
		if at := of(row); float64(micros(at))/1e6 != at {
			return TextColumn(name, text)
		}
	}
	value := func(row int) parquet.Value { return parquet.Int64Value(micros(of(row))) }
	return Column{name, text, parquet.Timestamp(parquet.Microsecond), value}
}

func micros(at event.Time) int64 { return int64(math.Round(at * 1e6)) }

func (t *sheet) parquet(ctx context.Context, w io.Writer) error {
	out := parquet.NewWriter(w, parquet.NewSchema("table", inOrder{columns: t.columns}),
		parquet.Compression(&parquet.Snappy))
	rows := make([]parquet.Row, 0, someRows)
	for i := range t.rows {
		row := make(parquet.Row, len(t.columns))
		for j, c := range t.columns {
			row[j] = c.value(i).Level(0, 0, j)
		}
		if rows = append(rows, row); len(rows) < cap(rows) && i+1 < t.rows {
			continue
		}
		if _, err := out.WriteRows(rows); err != nil {
			return err
		}
		rows = rows[:0]
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return out.Close()
}

// inOrder is a group of columns that keep their order; a parquet.Group sorts them by name.
type inOrder struct {
	parquet.Group
	columns []Column
}

// Fields are the columns.
func (g inOrder) Fields() []parquet.Field {
	fields := make([]parquet.Field, len(g.columns))
	for i, c := range g.columns {
		fields[i] = columnField{c.node, c.Name}
	}
	return fields
}

// GoType would name a Go type like the group, which rows are never made of.
func (g inOrder) GoType() reflect.Type { return reflect.TypeFor[struct{}]() }

type columnField struct {
	parquet.Node
	name string
}

func (c columnField) Name() string                           { return c.name }
func (c columnField) Value(base reflect.Value) reflect.Value { return base } // rows are never made of Go values
