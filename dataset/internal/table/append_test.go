package table

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/dygmamba/dygmamba/dataset/internal/data"
	"github.com/dygmamba/dygmamba/dataset/internal/feature"
	"github.com/dygmamba/dygmamba/dataset/internal/input/inputtest"
	"github.com/dygmamba/dygmamba/dataset/internal/native"
	"github.com/dygmamba/dygmamba/dataset/internal/synth"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/internal/atomicfile"
)

// grown imports one table, appends another and opens both sets.
func grown(t *testing.T, first, more string, o Options, a AppendOptions) (before, after *data.Set, r *AppendReport,
	err error) {
	t.Helper()
	dir := inputtest.Write(t, map[string]string{"first.csv": first, "more.csv": more})
	path := filepath.Join(dir, "x.dgm")
	if _, err := Import(t.Context(), []string{filepath.Join(dir, "first.csv")}, path, o); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	kept := filepath.Join(t.TempDir(), "before.dgm")
	if err := os.WriteFile(kept, raw, 0o644); err != nil {
		t.Fatal(err)
	}
	r, err = Append(t.Context(), path, []string{filepath.Join(dir, "more.csv")}, a)
	if err != nil {
		now, _ := os.ReadFile(path)
		if left, _ := os.ReadDir(dir); string(now) != string(raw) || len(left) != 3 {
			t.Errorf("what failed has changed the file, or left some behind: %v", left)
		}
		return nil, nil, nil, err
	}
	return open(t, kept), open(t, path), r, nil
}

func open(t *testing.T, path string) *data.Set {
	t.Helper()
	s, err := native.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// stays checks that what was there is there, under the same numbers, names and features.
func stays(t *testing.T, before, after *data.Set) {
	t.Helper()
	edges := map[event.Edge]event.Event{}
	for i := range after.Log.Len() {
		e := after.Log.At(i)
		edges[e.Edge] = e
	}
	for i := range before.Log.Len() {
		e := before.Log.At(i)
		if edges[e.Edge] != e || !slices.Equal(before.Edge.Row(int(e.Edge)), after.Edge.Row(int(e.Edge))) {
			t.Errorf("event %v is %v now", e, edges[e.Edge])
		}
	}
	for id := event.Node(1); int(id) < before.NumNodes(); id++ {
		name := before.Names.Name(id)
		if after.Names.Name(id) != name || before.Names.IsSource(id) != after.Names.IsSource(id) {
			t.Errorf("node %d was called %s, is called %s", id, name, after.Names.Name(id))
		}
		if !slices.Equal(before.Node.Row(int(id)), after.Node.Row(int(id))) {
			t.Errorf("node %d has other features", id)
		}
	}
	if diff := cmp.Diff(before.Recipe, after.Recipe, cmpopts.IgnoreUnexported(feature.Column{})); diff != "" {
		t.Errorf("recipe (-before +after):\n%s", diff)
	}
	if !after.Log.Sorted() {
		t.Error("events are not in the order of time")
	}
}

func TestAppend(t *testing.T) {
	first := "who,what,when\nann,tea,2\nbob,ice,1\n"
	o := Options{Source: "who", Target: "what", Time: "when"}
	before, after, r, err := grown(t, first, "when,what,who,extra\n3,ann,zoe,x\n1,tea,bob,x\n", o, AppendOptions{})
	if err != nil {
		t.Fatal(err)
	}
	stays(t, before, after)
	want := []string{"bob→ice @1 edge 2", "bob→tea @1 edge 4", "ann→tea @2 edge 1", "zoe→ann @3 edge 3"}
	if diff := cmp.Diff(want, show(after)); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if r.Added != 2 || r.Events != 4 || r.NewNodes != 1 || r.Nodes != 5 || r.Late != 1 || r.Known != 0 ||
		r.First != 1 || r.Last != 3 {
		t.Errorf("%+v", r)
	}
	if !slices.Equal(after.From, []string{"first.csv", "more.csv"}) || before.Bipartite != true || after.Bipartite {
		t.Errorf("from %v, bipartite %v", after.From, after.Bipartite)
	}
}

// In a bipartite set new nodes of either side come behind all others; numbers stay numbers until the first word.
func TestAppendBipartite(t *testing.T) {
	first := "user,item,t\n1,1,1\n2,7,2\n"
	for more, numbers := range map[string]bool{"user,item,t\n3,8,3\n1,9,3\n8,3,4\n": true,
		"user,item,t\nzoe,8,3\n3,x y,4\n": false} {
		before, after, r, err := grown(t, first, more, Options{Bipartite: true}, AppendOptions{})
		if err != nil {
			t.Fatal(err)
		}
		stays(t, before, after)
		if (after.Names.Columns().Numbers != nil) != numbers || !after.Bipartite {
			t.Errorf("%+v, bipartite %v", after.Names.Columns(), after.Bipartite)
		}
		if u, _ := after.Names.Source("3"); u == 0 || !after.Names.IsSource(u) || int(u) < before.NumNodes() {
			t.Errorf("source 3 is node %d", u)
		}
		if v, ok := after.Names.Target("8"); !ok || after.Names.IsSource(v) || after.Log.Len() != r.Events {
			t.Errorf("destination 8 is node %d", v)
		}
		if _, ok := after.Names.Target("zoe"); ok {
			t.Error("zoe is a destination")
		}
	}
}

// Encodings of the first import are applied, not fitted anew; late rows and words that are new change nothing.
func TestAppendFeatures(t *testing.T) {
	o := Options{Source: "who", Target: "what", Time: "when", Features: []string{"price", "kind"}, EdgeFeatures: nil}
	more := "who,what,when,price,kind,born,note\nann,tea,2024-06-01,3.5,cold,,\nzoe,tea,2024-05-02,,cosy,,\n"
	before, after, r, err := grown(t, visits, more, o, AppendOptions{})
	if err != nil {
		t.Fatal(err)
	}
	stays(t, before, after)
	for edge, want := range map[int][]float32{11: {0, 0, 0, 1}, 12: {0, 1, 0, 0}} {
		if got := after.Edge.Row(edge); !slices.Equal(got, want) {
			t.Errorf("edge %d has %v, want %v", edge, got, want)
		}
	}
	if diff := cmp.Diff([]string{"born", "note"}, r.Columns.Ignored); diff != "" {
		t.Error(diff)
	}
	if after.Recipe.Edge.Columns[0].Mean != before.Recipe.Edge.Columns[0].Mean {
		t.Error("fitted anew")
	}
}

// What import gives all at once, import and append give in two steps.
func TestAppendIsImport(t *testing.T) {
	for _, bipartite := range []bool{false, true} {
		lines := []string{"u,v,t,w,label"}
		for i := range 500 {
			lines = append(lines, fmt.Sprintf("n%d,n%d,%d,%d,%d", i*7%31, i*5%17, i/3, i, i%2))
		}
		o := Options{EdgeFeatures: []string{"w"}, Bipartite: bipartite}
		whole, _, err := imported(t, "x.csv", strings.Join(lines, "\n"), o)
		if err != nil {
			t.Fatal(err)
		}
		more := append([]string{lines[0]}, lines[251:]...)
		before, after, _, err := grown(t, strings.Join(lines[:251], "\n"), strings.Join(more, "\n"), o, AppendOptions{})
		if err != nil {
			t.Fatal(err)
		}
		stays(t, before, after)
		if diff := cmp.Diff(show(whole), show(after)); diff != "" {
			t.Errorf("bipartite %v (-whole +in two steps):\n%s", bipartite, diff)
		}
		if !bipartite && whole.Hash() != after.Hash() {
			t.Error("another hash")
		}
	}
}

func TestAppendNodes(t *testing.T) {
	dir := inputtest.Write(t, map[string]string{
		"e.csv": visits, "n.csv": "id,city,age\nann,Rome,30\nbob,Oslo,40\ntea,,\n",
		"more.csv": "who,what,when\nzoe,tea,2024-06-01\nyve,tea,2024-06-02\n",
		"new.csv":  "id,age,city\nzoe,35,Oslo\nann,99,Oslo\nnobody,1,Rome\n",
		"bad.csv":  "id,age,city\nzoe,old,Oslo\nzoe,5,Oslo\n",
	})
	path := filepath.Join(dir, "x.dgm")
	o := Options{Source: "who", Target: "what", Time: "when", NodeFile: filepath.Join(dir, "n.csv"),
		NodeFeatures: []string{"city", "age"}}
	if _, err := Import(t.Context(), []string{filepath.Join(dir, "e.csv")}, path, o); err != nil {
		t.Fatal(err)
	}
	more := []string{filepath.Join(dir, "more.csv")}
	_, err := Append(t.Context(), path, more, AppendOptions{Options: Options{NodeFile: filepath.Join(dir, "bad.csv")}})
	inputtest.CheckProblems(t, dir, err, []string{
		`bad.csv: line 2 (row 1), column age: found "old"; want a finite number, as in the rows that were imported, ` +
			"or nothing",
		"bad.csv: line 3 (row 2): found node zoe again; want every node once"})
	r, err := Append(t.Context(), path, more, AppendOptions{Options: Options{NodeFile: filepath.Join(dir, "new.csv")}})
	if err != nil {
		t.Fatal(err)
	}
	s := open(t, path)
	for name, want := range map[string][]float32{"zoe": {0, 1, 0, 0, 0}, "yve": {0, 0, 0, 0, 0},
		"ann": {0, 0, 1, -1, 0}} {
		id, _ := s.Names.Source(name)
		if got := s.Node.Row(int(id)); !slices.Equal(got, want) {
			t.Errorf("%s has %v, want %v", name, got, want)
		}
	}
	want := []string{dir + "/new.csv: no row for 1 of 2 new nodes: their features are zero",
		dir + "/new.csv: 1 rows about nodes that were there: their features stay", dir +
			"/new.csv: 1 rows about nodes without events: ignored"}
	if diff := cmp.Diff(want, r.Warnings); diff != "" {
		t.Error(diff)
	}
}

func TestAppendProblems(t *testing.T) {
	o := Options{Source: "who", Target: "what", Time: "when", Features: []string{"price"}}
	for more, want := range map[string]string{
		"who,what,when\na,b,2024-05-05\n": "found no column price; want one of " +
			"its columns: who, what, when",
		"a,b,c\n1,2,3\n": "found no column who",
		"who,what,when,price\na,b,7,1\n": "found a number as time; want a date, " +
			"as in the data",
		"who,what,when,price\na,b,2024-05-05,dear\n": `column price: found "dear"; want a finite number`,
		"who,what,when,price\n":                      "found no events; want at least one row",
		"who,what,when,price\n,b,2024-05-05,1\n":     `column who: found ""; want a node's name`,
		"who,what,when,price\nann,tea,2024-05-01,1\nbob,tea,2024-05-02,77\n": "has already, all 2 of them; want new " +
			"ones, or the option Again",
	} {
		if _, _, _, err := grown(t, visits, more, o, AppendOptions{}); err == nil || !strings.Contains(err.Error(),
			want) {
			t.Errorf("%q: %v, want %q", more, err, want)
		}
	}
	twice := "who,what,when,price\nann,tea,2024-05-01,1\n"
	_, after, r, err := grown(t, visits, twice, o, AppendOptions{Again: true})
	if err != nil || r.Known != 1 || after.Log.Len() != 11 || len(r.Warnings) != 1 {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := Append(t.Context(), filepath.Join(t.TempDir(), "none.dgm"), []string{"x"},
		AppendOptions{}); !os.IsNotExist(err) {
		t.Errorf("no file: %v", err)
	}
}

// A set whose nodes have no names, and that came from no table, grows by ids.
func TestAppendIDs(t *testing.T) {
	s, err := synth.Paper("s1", synth.PaperOptions{})
	if err != nil {
		t.Fatal(err)
	}
	dir := inputtest.Write(t, map[string]string{"more.csv": "u,v,t\n1,12,1e6\n",
		"bad.csv": "u,v,t\n0,ann,1e6\n1,99999999,1e6\n"})
	path := filepath.Join(dir, "s1.dgm")
	if err := native.Save(path, s); err != nil {
		t.Fatal(err)
	}
	_, err = Append(t.Context(), path, []string{filepath.Join(dir, "bad.csv")}, AppendOptions{})
	if err == nil || strings.Count(err.Error(), "an id from 1 to 16777216, as nodes of these data have no names") != 3 {
		t.Errorf("ids that are none: %v", err)
	}
	r, err := Append(t.Context(), path, []string{filepath.Join(dir, "more.csv")}, AppendOptions{})
	if err != nil || r.Nodes != 12 || r.NewNodes != 5 {
		t.Fatalf("%+v, %v", r, err)
	}
	if got := open(t, path); got.Log.Len() != s.Log.Len()+1 || got.NumNodes() != 13 || got.Names != nil ||
		got.Sampling != s.Sampling {
		t.Errorf("%d events, %d nodes", got.Log.Len(), got.NumNodes())
	}
}

// Nobody else replaces the file meanwhile, and an interruption leaves it alone.
func TestAppendAlone(t *testing.T) {
	dir := inputtest.Write(t, map[string]string{"a.csv": "u,v,t\n1,2,3\n", "more.csv": "u,v,t\n1,3,4\n"})
	path := filepath.Join(dir, "x.dgm")
	if _, err := Import(t.Context(), []string{filepath.Join(dir, "a.csv")}, path, Options{}); err != nil {
		t.Fatal(err)
	}
	unlock, err := atomicfile.Lock(path)
	if err != nil {
		t.Fatal(err)
	}
	more := []string{filepath.Join(dir, "more.csv")}
	if _, err := Append(t.Context(), path, more, AppendOptions{}); err == nil || !strings.Contains(err.Error(),
		"by another process") {
		t.Errorf("while another process does the same: %v", err)
	}
	unlock()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Append(ctx, path, more, AppendOptions{}); err == nil || open(t, path).Log.Len() != 1 {
		t.Errorf("interrupted: %v", err)
	}
	if _, err := Append(t.Context(), path, more, AppendOptions{}); err != nil {
		t.Error(err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 3 {
		t.Errorf("left %v", left)
	}
}

// Tables that come one after another, in the order of time, give the file that one import of all of them gives, byte
// for byte, its index included.
func TestAppendEqualsImport(t *testing.T) {
	dir := t.TempDir()
	var files []string
	for part, rows := range []string{"a,x,1\nb,x,1\na,a,2\n", "c,x,2\na,y,5\n", "z,c,5\nz,z,5\nb,y,7\n"} {
		path := filepath.Join(dir, fmt.Sprintf("part%d.csv", part))
		if err := os.WriteFile(path, []byte("src,dst,time\n"+rows), 0o644); err != nil {
			t.Fatal(err)
		}
		files = append(files, path)
	}
	grown, whole := filepath.Join(dir, "grown.dgm"), filepath.Join(dir, "whole.dgm")
	o := Options{Name: "x"}
	if _, err := Import(t.Context(), files[:1], grown, o); err != nil {
		t.Fatal(err)
	}
	for i := range files[1:] {
		if _, err := Append(t.Context(), grown, files[i+1:i+2], AppendOptions{Options: o}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Import(t.Context(), files, whole, o); err != nil {
		t.Fatal(err)
	}
	a, err := os.ReadFile(grown)
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(whole)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(a, b) {
		t.Errorf("%d bytes, not the %d of one import", len(a), len(b))
	}
	if _, found, err := native.Check(grown); err != nil || found.Total > 0 {
		t.Error(found, err)
	}
}
