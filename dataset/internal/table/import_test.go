package table

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dygmamba/dygmamba/dataset/internal/data"
	"github.com/dygmamba/dygmamba/dataset/internal/input"
	"github.com/dygmamba/dygmamba/dataset/internal/input/inputtest"
	"github.com/dygmamba/dygmamba/dataset/internal/native"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/protocol"
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
			if r.Events != len(c.want) || s.Sampling != protocol.Native || s.Edge.Rows != len(c.want)+1 ||
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
