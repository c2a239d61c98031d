package table

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"

	"github.com/dygmamba/dygmamba/dataset/data"
	"github.com/dygmamba/dygmamba/dataset/input"
	"github.com/dygmamba/dygmamba/dataset/input/inputtest"
	"github.com/dygmamba/dygmamba/dataset/native"
	"github.com/dygmamba/dygmamba/event"
)

// imported imports one file and opens the result.
func imported(t testing.TB, name, text string, o Options) (*data.Set, *Report, error) {
	t.Helper()
	dir := inputtest.Write(t, map[string]string{name: text})
	out := filepath.Join(dir, "out.dgm")
	r, err := Import(t.Context(), []string{filepath.Join(dir, name)}, out, o)
	if err != nil {
		left, _ := os.ReadDir(dir)
		if len(left) != 1 {
			t.Errorf("the failed import left %v", left)
		}
		return nil, nil, err
	}
	s, err := native.Open(out)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s, r, nil
}

// show is the events of a set as a user would see them.
func show(s *data.Set) []string {
	var lines []string
	all := s.Log.All()
	for i := range all.Len() {
		e := all.At(i)
		line := fmt.Sprintf("%s→%s @%s", s.Names.Name(e.Src), s.Names.Name(e.Dst),
			input.FormatTime(e.Time, s.TimeFormat))
		if e.Label != 0 {
			line += fmt.Sprintf(" label %g", e.Label)
		}
		if f := s.Edge.Row(int(e.Edge)); f != nil {
			line += fmt.Sprint(" ", f)
		}
		lines = append(lines, fmt.Sprintf("%s edge %d", line, e.Edge))
	}
	return lines
}

func TestImport(t *testing.T) {
	for _, c := range []struct {
		name, file, text string
		o                Options
		want             []string
	}{
		{"names, unsorted, ties in row order", "a.csv",
			"src,dst,time\nbob,ann,3\nann,carl,1\ncarl,bob,3\nbob,ann,1\n", Options{},
			[]string{"ann→carl @1 edge 2", "bob→ann @1 edge 4", "bob→ann @3 edge 1", "carl→bob @3 edge 3"}},
		{"tab, CRLF, BOM, no last line end", "a.tsv",
			"\xef\xbb\xbfuser\titem\ttimestamp\r\n7\t8\t0.5\r\n8\t7\t1.5", Options{},
			[]string{"7→8 @0.5 edge 1", "8→7 @1.5 edge 2"}},
		{"semicolons, quotes, labels, features", "a.csv", "label;from;to;date;w;h\n" +
			"1;\"a;b\";\"say \"\"x\"\"\";2024-05-01;0.5;-1\n0;c;\"two\nlines\";2024-05-01 12:30;2;3e0\n",
			Options{EdgeFeatures: []string{"h", "w"}},
			[]string{`a;b→say "x" @2024-05-01T00:00:00Z label 1 [-1 0.5] edge 1`,
				"c→two\nlines @2024-05-01T12:30:00Z [3 2] edge 2"}},
		{"no header, spaces", "a.txt", "1 2 10\n2 3 11\n", Options{NoHeader: true, Source: "1", Target: "2", Time: "3"},
			[]string{"1→2 @10 edge 1", "2→3 @11 edge 2"}},
		{"numbers, then words; forms that are not plain numbers", "a.csv",
			"u,v,t\n1,01,1\n-5,+7,2\nx, 1 ,3\n99999999999999999999,1,4\n", Options{},
			[]string{"1→01 @1 edge 1", "-5→+7 @2 edge 2", "x→1 @3 edge 3", "99999999999999999999→1 @4 edge 4"}},
		{"blank lines, gzip", "a.csv.gz", inputtest.Gzip("u,v,t\n\n1,2,1\n\n"), Options{},
			[]string{"1→2 @1 edge 1"}},
		{"chosen columns", "a.csv", "ts,src,dst,who,whom,when\n9,9,9,a,b,1\n",
			Options{Source: "who", Target: "whom", Time: "when"}, []string{"a→b @1 edge 1"}},
		{"the DyGLib table itself", "ml_x.csv", ",u,i,ts,label,idx\n0,1,2,0.0,0.0,1\n1,2,1,3.0,1.0,2\n", Options{},
			[]string{"1→2 @0 edge 1", "2→1 @3 label 1 edge 2"}},
		{"JSON lines", "a.jsonl",
			`{"src":"a\u00e9","dst":7,"ts":"2024-05-01T00:00:00+02:00","extra":{"x":[1,"}"]},"f":[1,2.5]}` + "\n\n" +
				`{"f":[3,4],"ts":"2024-05-01","dst":"7","src":"aé","label":true}` + "\n",
			Options{EdgeFeatures: []string{"f"}, Label: "label"}, []string{
				"aé→7 @2024-04-30T22:00:00Z [1 2.5] edge 1", "aé→7 @2024-05-01T00:00:00Z label 1 [3 4] edge 2"}},
		{"a header of two lines", "a.csv", "src,dst,ts,\"a\nnote\"\na,b,1,x\n", Options{},
			[]string{"a→b @1 edge 1"}},
		{"no header, a first row of two lines", "a.csv", "\"a\nb\",c,1\nd,e,2\n",
			Options{NoHeader: true, Source: "1", Target: "2", Time: "3"},
			[]string{"a\nb→c @1 edge 1", "d→e @2 edge 2"}},
		{"tabs and other space around names", "a.csv", "src,dst,time\na,\tb,1\na,\"b\t\",2\n\u00a0a,b\u2003,3\n",
			Options{}, []string{"a→b @1 edge 1", "a→b @2 edge 2", "a→b @3 edge 3"}},
		{"features that are all zero", "a.csv", "u,v,t,w\n1,2,1,0\n1,2,2,0\n", Options{EdgeFeatures: []string{"w"}},
			[]string{"1→2 @1 edge 1", "1→2 @2 edge 2"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, r, err := imported(t, c.file, c.text, c.o)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, show(s)); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
			if r.Events != len(c.want) || s.Sampling != data.Native || s.Edge.Rows != len(c.want)+1 ||
				s.Node.Rows != r.Nodes+1 {
				t.Errorf("%+v, %d rows of edge features", r, s.Edge.Rows)
			}
		})
	}
}

func TestImportBipartite(t *testing.T) {
	s, r, err := imported(t, "a.csv", "user,item,t\n1,1,5\n2,1,6\n1,3,7\n", Options{Bipartite: true})
	if err != nil {
		t.Fatal(err)
	}
	var ids []event.Node
	all := s.Log.All()
	for i := range all.Len() {
		ids = append(ids, all.Src[i], all.Dst[i])
	}
	if diff := cmp.Diff([]event.Node{1, 3, 2, 3, 1, 4}, ids); diff != "" {
		t.Error(diff)
	}
	if r.Sources != 2 || r.Targets != 2 || r.Nodes != 4 || !r.Bipartite || !s.Bipartite || !r.Numbers ||
		s.Names.Sources() != 2 {
		t.Errorf("%+v", r)
	}
	u, _ := s.Names.Source("1")
	v, _ := s.Names.Target("1")
	_, ok := s.Names.Source("3")
	if u != 1 || v != 3 || ok || s.Names.Name(4) != "3" {
		t.Errorf("source 1 is %d, target 1 is %d, 3 is a source: %v", u, v, ok)
	}
}

func TestImportNodeFeatures(t *testing.T) {
	for _, c := range []struct {
		name, events, nodes string
		o                   Options
		want                map[string][]float32
		warnings, problems  []string
	}{
		{name: "one id space", events: "u,v,t\na,b,1\nc,a,2\n", nodes: "id,x,y\nc,1,2\na,3,4\nz,5,6\n",
			want: map[string][]float32{"a": {3, 4}, "b": {0, 0}, "c": {1, 2}},
			warnings: []string{"nodes.csv: no row for 1 of 3 nodes: their features are zero",
				"nodes.csv: 1 rows about nodes without events: ignored"}},
		{name: "both sides", events: "u,v,t\na,a,1\n", nodes: "node,side,x\na,source,1\na,destination,2\n",
			o: Options{Bipartite: true}, want: map[string][]float32{"a": {1}}},
		{name: "no sides", events: "u,v,t\na,b,1\na,a,2\n", nodes: "node,x\nb,1\na,1\n", o: Options{Bipartite: true},
			problems: []string{"nodes.csv: line 3 (row 2): found node a which is both a source and a destination; " +
				"want a column side that says which"}},
		{name: "twice and broken", events: "u,v,t\na,b,1\n", nodes: "node,x\na,1\nb,nan\na,2\n",
			problems: []string{`nodes.csv: line 3 (row 2), column x: found "nan"; ` +
				`want a finite number that fits into 32 bits`,
				"nodes.csv: line 4 (row 3): found node a again; want every node once"}},
		{name: "a member the first row does not have", events: "u,v,t\na,b,1\n",
			nodes: `{"id":"a","x":1}` + "\n" + `{"id":"b","x":1,"y":2}` + "\n",
			problems: []string{`nodes.csv: line 2 (row 2), column y: found "2"; ` +
				`want members that the first row has too, as they are looked for there`}},
		{name: "strangers", events: "u,v,t\na,b,1\n", nodes: "node,x\nA,1\n",
			problems: []string{"nodes.csv: found no rows about nodes that have events; " +
				"want names of nodes as in the events"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := inputtest.Write(t, map[string]string{"e.csv": c.events, "nodes.csv": c.nodes})
			c.o.NodeFile = filepath.Join(dir, "nodes.csv")
			out := filepath.Join(dir, "out.dgm")
			r, err := Import(t.Context(), []string{filepath.Join(dir, "e.csv")}, out, c.o)
			inputtest.CheckProblems(t, dir, err, c.problems)
			if err != nil {
				return
			}
			for i := range r.Warnings {
				r.Warnings[i] = strings.ReplaceAll(r.Warnings[i], dir+string(filepath.Separator), "")
			}
			if diff := cmp.Diff(c.warnings, r.Warnings); diff != "" {
				t.Error(diff)
			}
			s, err := native.Open(out)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			for name, want := range c.want {
				id, _ := s.Names.Source(name)
				if id == 0 {
					id, _ = s.Names.Target(name)
				}
				if diff := cmp.Diff(want, s.Node.Row(int(id))); diff != "" {
					t.Errorf("%s: %s", name, diff)
				}
			}
		})
	}
}

func TestImportProblems(t *testing.T) {
	for _, c := range []struct {
		name, file, text string
		o                Options
		want             []string
	}{
		{"bad rows of all kinds", "a.csv", "src,dst,time,label,w\na,b,1,0,1\na,,2,0,1\na,b,soon,0,1\na,b,nan,0,1\n" +
			"a,b,3,yes,1\na,b,4,0,inf\na,b,5,0\na,b,2024-05-01,0,1\n,b,x,0,1\n",
			Options{EdgeFeatures: []string{"w"}}, []string{
				`a.csv: line 3 (row 2), column dst: found ""; want a node's name`,
				`a.csv: line 4 (row 3), column time: found "soon"; ` +
					`want a finite number or a date such as 2024-05-01T12:00:00Z`,
				`a.csv: line 5 (row 4), column time: found "nan"; ` +
					`want a finite number or a date such as 2024-05-01T12:00:00Z`,
				`a.csv: line 6 (row 5), column label: found "yes"; want a finite number, true or false`,
				`a.csv: line 7 (row 6), column w: found "inf"; want a finite number that fits into 32 bits`,
				`a.csv: line 8 (row 7): found 4 columns; want 5, as in the first line`,
				`a.csv: line 9 (row 8): found a date as time; want a number, as in the rows before`,
				`a.csv: line 10 (row 9), column src: found ""; want a node's name`,
				`a.csv: line 10 (row 9), column time: found "x"; ` +
					`want a finite number or a date such as 2024-05-01T12:00:00Z`}},
		{"many of one kind", "a.csv", "src,dst,time\n" + strings.Repeat("a,b,?\n", 5),
			Options{MaxProblems: 2}, []string{
				`a.csv: line 2 (row 1), column time: found "?"; ` +
					`want a finite number or a date such as 2024-05-01T12:00:00Z`,
				`a.csv: line 3 (row 2), column time: found "?"; ` +
					`want a finite number or a date such as 2024-05-01T12:00:00Z`,
				`and 3 more`}},
		{"quotes", "a.csv", "src,dst,time\na,\"b,1\nc,d,2\n", Options{}, []string{
			`a.csv: line 2 (row 1): found a quoted field that is never closed; want quotes around whole fields, ` +
				`and doubled within them`}},
		{"a first field in quotes that never end", "a.csv", "src,dst,time\na,b,1\n\"c,d,2\ne,f,3\n",
			Options{}, []string{
				`a.csv: line 3 (row 2): found a quoted field that is never closed; want quotes around whole fields, ` +
					`and doubled within them`}},
		{"text behind quotes", "a.csv", "src,dst,time\na,\"b\"x,1\nc,d,2\n", Options{}, []string{
			`a.csv: line 2 (row 1): found text after a closing quote; want quotes around whole fields, ` +
				`and doubled within them`}},
		{"a header in quotes that never end", "a.csv", "src,dst,time,\"note\na,b,1\n", Options{}, []string{
			`a.csv: line 1: found a quoted field that is never closed; want quotes around whole fields, ` +
				`and doubled within them`}},
		{"text behind quotes in the header", "a.csv", "\"src\"x,dst,time\na,b,1\n", Options{}, []string{
			`a.csv: line 1: found text after a closing quote; want quotes around whole fields, ` +
				`and doubled within them`}},
		{"a bad row below a header of two lines", "a.csv", "src,dst,time,\"a\nb\"\na,b,?,\n", Options{}, []string{
			`a.csv: line 3 (row 1), column time: found "?"; ` +
				`want a finite number or a date such as 2024-05-01T12:00:00Z`}},
		{"times whose difference is no number", "a.csv", "src,dst,time\na,b,-1e308\na,b,1e308\n",
			Options{MaxProblems: -1}, []string{
				`a.csv: line 2 (row 1), column time: found "-1e308"; want a time between -1e+38 and 1e+38`,
				`a.csv: line 3 (row 2), column time: found "1e308"; want a time between -1e+38 and 1e+38`}},
		{"no time", "a.csv", "src,dst,weight\na,b,1\n", Options{}, []string{
			`a.csv: found the columns src, dst, weight; want one for the time, called for example ts or t, ` +
				`or named by --time`}},
		{"no such column", "a.csv", "src,dst,time\na,b,1\n", Options{Source: "who"}, []string{
			`a.csv: found no column who; want one of its columns: src, dst, time`}},
		{"a column twice", "a.csv", "src,dst,time,src\na,b,1,c\n", Options{}, []string{
			`a.csv: line 1: found column src twice; want every column name once`}},
		{"one column for two things", "a.csv", "src,dst,time\na,b,1\n", Options{Target: "src"}, []string{
			`a.csv: found source src, destination src and time time; want three different columns`}},
		{"empty", "a.csv", "", Options{}, []string{
			`a.csv: found no column names in the first line; want a table as CSV, JSONL or Parquet`}},
		{"only a header", "a.csv", "src,dst,time\n", Options{}, []string{
			`a.csv: found no events; want at least one row`}},
		{"a pickle", "a.csv", "\x80\x04\x95junk", Options{}, []string{
			`a.csv: found a Python pickle; want a table as CSV, JSONL or Parquet`}},
		{"UTF-16", "a.csv", "\xff\xfes\x00r\x00c\x00", Options{}, []string{
			`a.csv: found UTF-16 text; want a table as CSV, JSONL or Parquet`}},
		{"truncated gzip", "a.csv.gz", inputtest.Gzip("src,dst,time\n" + strings.Repeat("a,b,1\n", 1000))[:40],
			Options{}, []string{
				`a.csv.gz: found a gzip file cut off after 9 unpacked bytes; want the whole file`}},
		{"a line without end", "a.csv", "src,dst,time\na,b,1\n" + strings.Repeat("x", input.MaxLine+10),
			Options{}, []string{
				`a.csv: line 3: found a line of more than 1048576 bytes; want lines of at most 1048576 bytes, ` +
					`and quotes that are closed again`}},
		{"JSON", "a.jsonl", `{"src":"a","dst":"b","ts":1,"f":[1]}` + "\n{\n" +
			`{"src":null,"ts":[1],"dst":true,"f":["x",{}]}` + "\n" + `{"src":"a","dst":"b","ts":2,"f":[1,2]}` + "\n",
			Options{EdgeFeatures: []string{"f"}}, []string{
				`a.jsonl: line 2 (row 2): found "{"; want one JSON object a line, such as {"src":"a","dst":"b","ts":1}`,
				`a.jsonl: line 3 (row 3), column src: found "null"; want a node's name, as a string or a number`,
				`a.jsonl: line 3 (row 3), column dst: found "true"; want a node's name, as a string or a number`,
				`a.jsonl: line 3 (row 3), column ts: found "[1]"; ` +
					`want a finite number or a date such as 2024-05-01T12:00:00Z`,
				`a.jsonl: line 3 (row 3), column f[0]: found "\"x\""; want a finite number that fits into 32 bits`,
				`a.jsonl: line 3 (row 3), column f[1]: found "{}"; want a finite number that fits into 32 bits`,
				`a.jsonl: line 4 (row 4): found 2 features; want 1, as in the rows before`}},
		{"JSON labels", "a.jsonl", `{"src":"a","dst":"b","ts":1,"label":null}` + "\n" +
			`{"src":"a","dst":"b","ts":1,"label":[1]}` + "\n", Options{}, []string{
			`a.jsonl: line 1 (row 1), column label: found "null"; want a finite number, true or false`,
			`a.jsonl: line 2 (row 2), column label: found "[1]"; want a finite number, true or false`}},
		{"JSON labels that do not start in the first row", "a.jsonl", `{"src":"a","dst":"b","ts":1}` + "\n" +
			`{"src":"a","dst":"b","ts":2,"label":1,"extra":2}` + "\n", Options{}, []string{
			`a.jsonl: line 2 (row 2), column label: found "1"; want members that the first row has too, ` +
				`as they are looked for there`}},
		{"a label column with another meaning", "a.csv", "src,dst,time,label\na,b,1,1\n",
			Options{Label: "time"}, []string{
				`a.csv, column time: found the source, destination or time; want a column of its own for the label`}},
		{"JSON names that are not Unicode", "a.jsonl", `{"src":"\ud800","dst":"\ud801","ts":1}` + "\n",
			Options{}, []string{
				`a.jsonl: line 1 (row 1), column src: found "\"\\ud800\""; ` +
					`want a node's name in Unicode, without halves of surrogate pairs`,
				`a.jsonl: line 1 (row 1), column dst: found "\"\\ud801\""; ` +
					`want a node's name in Unicode, without halves of surrogate pairs`}},
		{"line ends of old", "a.csv", "src,dst,time\ra,b,1\r", Options{}, []string{
			`a.csv: found lines that end in \r alone; want \n or \r\n: "tr '\r' '\n'" makes one of the other`}},
		{"many of them", "a.csv", "src,dst,time\r" + strings.Repeat("a,b,1\r", 300000), Options{}, []string{
			`a.csv: found lines that end in \r alone; want \n or \r\n: "tr '\r' '\n'" makes one of the other`}},
		{"Latin letters", "a.csv", "src,dst,time\nJos\xe9,b,1\nJosé,b,2\na,\xff,3\n", Options{}, []string{
			`a.csv: line 2 (row 1), column src: found "Jos\xe9"; want ` + wantUTF8,
			`a.csv: line 4 (row 3), column dst: found "\xff"; want ` + wantUTF8}},
		{"a list", "a.json", "[\n" + `{"src":"a","dst":"b","ts":1}` + "]\n", Options{}, []string{
			`a.json: found a JSON list; want one JSON object a line: jq -c '.[]' a.json makes them of a list`}},
		{"a long list", "a.json", "[" + strings.Repeat(`{"src":"a","dst":"b","ts":1},`, 40000) +
			`{"src":"a","dst":"b","ts":1}]`, Options{}, []string{
			`a.json: found a JSON list; want one JSON object a line: jq -c '.[]' a.json makes them of a list`}},
		{"broken Parquet", "a.parquet", "PAR1 this is not one PAR1", Options{}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := inputtest.Write(t, map[string]string{c.file: c.text})
			_, err := Import(t.Context(), []string{filepath.Join(dir, c.file)}, filepath.Join(dir, "out.dgm"), c.o)
			if err == nil {
				t.Fatal("accepted")
			}
			if c.want != nil {
				inputtest.CheckProblems(t, dir, err, c.want)
			} else if !strings.Contains(err.Error(), "found damaged Parquet data") {
				t.Error(err)
			}
			if left, _ := os.ReadDir(dir); len(left) != 1 {
				t.Errorf("files left: %v", left)
			}
		})
	}
}

func TestImportParquet(t *testing.T) {
	type record struct {
		User  string    `parquet:"user"`
		Item  int64     `parquet:"item"`
		When  int64     `parquet:"when,timestamp(millisecond)"`
		Label bool      `parquet:"label"`
		Vec   []float32 `parquet:"vec,list"`
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "a.parquet")
	var rows []record
	for i := range 20000 {
		rows = append(rows, record{fmt.Sprint("u", i%7), int64(i % 5), int64(1_700_000_000_123 - 1000*i), i == 3,
			[]float32{float32(i), 0.5}})
	}
	if err := parquet.WriteFile(path, rows, parquet.MaxRowsPerRowGroup(3000)); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "out.dgm")
	r, err := Import(t.Context(), []string{path}, out, Options{Time: "when", EdgeFeatures: []string{"vec"}})
	if err != nil {
		t.Fatal(err)
	}
	s, err := native.Open(out)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	lines := show(s)
	if r.Events != 20000 || r.Nodes != 12 || r.TimeFormat != input.TimeDate || r.EdgeFeatures != 2 || r.Sorted {
		t.Errorf("%+v", r)
	}
	last := lines[19999]
	if !strings.HasPrefix(last, "u0→0 @2023-11-14T22:13:20.12") || !strings.HasSuffix(last, "[0 0.5] edge 1") {
		t.Errorf("%s, want %s", last, "u0→0 @2023-11-14T22:13:20.123Z [0 0.5] edge 1")
	}
	if !slices.ContainsFunc(lines, func(l string) bool {
		return strings.HasPrefix(l, "u3→3") && strings.HasSuffix(l, "label 1 [3 0.5] edge 4")
	}) {
		t.Error("row 4 is not as written")
	}
	if _, err := Import(t.Context(), []string{path}, out, Options{Time: "vec"}); err == nil ||
		!strings.Contains(err.Error(), "column vec: found a nested column; want single values") {
		t.Error(err)
	}
}

// Any order of rows gives the events in the same order, whatever the size of the table.
func TestImportSortsLikeStableSort(t *testing.T) {
	var b strings.Builder
	b.WriteString("u,v,t\n")
	type line struct{ t, row int }
	var want []line
	x := uint32(1)
	const n = 3*tableRows + 17
	for i := range n {
		x = x*1664525 + 1013904223
		at := int(x>>8) % 5000
		want = append(want, line{at, i + 1})
		fmt.Fprintf(&b, "%d,%d,%d\n", x>>20, i%11, at)
	}
	slices.SortStableFunc(want, func(a, b line) int { return a.t - b.t })
	s, _, err := imported(t, "a.csv", b.String(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	all := s.Log.All()
	for i, w := range want {
		e := all.At(i)
		if int(e.Time) != w.t || int(e.Edge) != w.row || s.Names.Name(e.Dst) != fmt.Sprint((w.row-1)%11) {
			t.Fatalf("event %d: time %v, row %d; want %+v", i, e.Time, e.Edge, w)
		}
	}
}

func TestImportSeveralFiles(t *testing.T) {
	dir := inputtest.Write(t, map[string]string{"a.csv": "u,v,t\na,b,5\n", "b.jsonl": `{"t":1,"u":"b","v":"c"}` + "\n",
		"c.csv": "u,v,t\na,b,?\n"})
	path := func(name string) string { return filepath.Join(dir, name) }
	out := path("out.dgm")
	if _, err := Import(t.Context(), []string{path("a.csv"), path("b.jsonl")}, out, Options{Name: "both"}); err != nil {
		t.Fatal(err)
	}
	s, err := native.Open(out)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if diff := cmp.Diff([]string{"b→c @1 edge 2", "a→b @5 edge 1"}, show(s)); diff != "" || s.Name != "both" {
		t.Error(s.Name, diff)
	}
	before, _ := os.ReadFile(out)
	_, err = Import(t.Context(), []string{path("a.csv"), path("c.csv")}, out, Options{})
	inputtest.CheckProblems(t, dir, err, []string{`c.csv: line 2 (row 1), column t: found "?"; ` +
		`want a finite number or a date such as 2024-05-01T12:00:00Z`})
	if after, _ := os.ReadFile(out); !bytes.Equal(before, after) {
		t.Error("a failed import touched the file that was there")
	}
}

// importedParquet writes rows as Parquet, imports them and opens the result.
func importedParquet[T any](t *testing.T, rows []T, o Options) (*data.Set, error) {
	t.Helper()
	var b bytes.Buffer
	if err := parquet.Write(&b, rows); err != nil {
		t.Fatal(err)
	}
	s, _, err := imported(t, "a.parquet", b.String(), o)
	return s, err
}

// Hashes are often kept as unsigned numbers; they look the same afterwards. So do times and features beyond the signed
// ones.
func TestImportParquetUnsigned(t *testing.T) {
	type record struct {
		Src uint64 `parquet:"src"`
		Dst uint32 `parquet:"dst"`
		T   uint32 `parquet:"t"`
		F   uint64 `parquet:"f"`
	}
	s, err := importedParquet(t, []record{{18446744073709551615, 7, 4294967295, 1 << 63}, {7, 4294967295, 1, 1}},
		Options{EdgeFeatures: []string{"f"}})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"7→4294967295 @1 [1] edge 2", "18446744073709551615→7 @4294967295 [9.223372e+18] edge 1"}
	if diff := cmp.Diff(want, show(s)); diff != "" {
		t.Error(diff)
	}
}

// The number stored for a decimal is not the one meant.
func TestImportParquetDecimal(t *testing.T) {
	type record struct {
		Src, Dst string
		Ts       int64
		F        int64 `parquet:"F,decimal(2:12)"`
	}
	_, err := importedParquet(t, []record{{"a", "b", 1, 1234}}, Options{EdgeFeatures: []string{"F"}})
	if err == nil || !strings.HasSuffix(err.Error(),
		"a.parquet, column F: found decimals; want whole or floating-point numbers: cast the column") {
		t.Error(err)
	}
}

func TestImportParquetFloatIDs(t *testing.T) {
	type record struct {
		Src, Dst string
		Ts       float64
		User     float64
	}
	_, err := importedParquet(t, []record{{"a", "b", 1, 7}}, Options{Source: "User"})
	if err == nil || !strings.HasSuffix(err.Error(), "column User: found 7 as a floating-point number; "+
		"want a node's name, as text or a whole number: cast the column") {
		t.Error(err)
	}
}

func TestImportParquetUUID(t *testing.T) {
	type record struct {
		Src [16]byte `parquet:"src,uuid"`
		Dst string   `parquet:"dst"`
		T   float64  `parquet:"t"`
	}
	s, err := importedParquet(t, []record{{[16]byte([]byte("ABCDEFGHIJKLMNOP")), "b", 1}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"41424344-4546-4748-494a-4b4c4d4e4f50→b @1 edge 1"}, show(s)); diff != "" {
		t.Error(diff)
	}
}

// stopping cancels a context when it has been read to the end, as Ctrl-C stops all programs of a pipe.
type stopping struct {
	io.Reader
	stop func()
}

func (s stopping) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	if err != nil {
		s.stop()
	}
	return n, err
}

// Input that ended because everything was stopped may not be all there is.
func TestImportStopsAtAnEarlyEnd(t *testing.T) {
	for _, text := range []string{"u,v,t\n1,2,3\n", "u,v,t\n"} {
		ctx, stop := context.WithCancel(t.Context())
		in, err := input.New("pipe", stopping{strings.NewReader(text), stop})
		if err != nil {
			t.Fatal(err)
		}
		w, _ := native.Create("")
		if err := newImporter(Options{MaxProblems: 1}, w).file(ctx, "pipe", in); !errors.Is(err, context.Canceled) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// Ctrl-C also ends the wait for standard input that does not come.
func TestImportWaitsForStandardInputOnlySoLong(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	was := os.Stdin
	os.Stdin = r
	defer func() { os.Stdin = was }()
	ctx, stop := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer stop()
	ended := make(chan error, 1)
	go func() {
		_, err := Import(ctx, []string{"-"}, "", Options{})
		ended <- err
	}()
	select {
	case err := <-ended:
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
	case <-time.After(10 * time.Second):
		t.Error("still waiting")
	}
}

// A column of whole numbers that became floating-point ones has none of the other column's nodes, which nobody wants.
func TestImportWarnsOfLookalikes(t *testing.T) {
	for text, want := range map[string][]string{
		"u,v,t\n1,2.0,1\n2,1.0,2\n3,.0,3\n": {
			"2 names occur with and without .0 and are different nodes, such as 1 and 1.0"},
		"u,v,t\n1.0,2.0,1\nx,1.0,2\n":   nil,
		"u,v,t\n1,2,1\n":                nil,
		"user,item,t\n1,2,1\n1,2.0,2\n": {"2 and 2.0 are different nodes"},
		"user,item,t\n1,2,1\n2,1.0,2\n": nil, // a user and an item
	} {
		_, r, err := imported(t, "a.csv", text, Options{Bipartite: strings.HasPrefix(text, "user")})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, r.Warnings); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
	}
}

// What is read to the end is not written any more once the context has ended.
func TestImportStopsBeforeWriting(t *testing.T) {
	in, err := input.New("x", strings.NewReader("u,v,t\n1,2,3\n"))
	if err != nil {
		t.Fatal(err)
	}
	w, _ := native.Create("")
	im := newImporter(Options{MaxProblems: 1}, w)
	if err := im.file(t.Context(), "x", in); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if _, err := im.finish(ctx, []string{"x"}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
