package table

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dygmamba/dygmamba/dataset/internal/data"
	"github.com/dygmamba/dygmamba/dataset/internal/input/inputtest"
	"github.com/dygmamba/dygmamba/dataset/internal/native"
	"github.com/dygmamba/dygmamba/event"
)

// labelsOf is the labels of a set as text, in their order.
func labelsOf(s *data.Set) (list []string) {
	l := s.NodeLabels
	for i, n := range l.Node {
		side := ""
		if s.Names.Sources() > 0 && !s.Names.IsSource(n) {
			side = "→"
		}
		list = append(list, fmt.Sprint(side, s.Names.Name(n), " @", l.Time[i], " ", l.Names[l.Class[i]]))
	}
	return list
}

// importLabels imports events and a table of labels.
func importLabels(t *testing.T, events, labels string, o Options) (s *data.Set, dir string, err error) {
	t.Helper()
	dir = inputtest.Write(t, map[string]string{"e.csv": events, "labels.csv": labels})
	o.NodeLabels.Path = filepath.Join(dir, "labels.csv")
	out := filepath.Join(dir, "out.dgm")
	if _, err = Import(t.Context(), []string{filepath.Join(dir, "e.csv")}, out, o); err != nil {
		return nil, dir, err
	}
	return open(t, out), dir, nil
}

func TestImportNodeLabels(t *testing.T) {
	const events = "u,v,t\na,b,1\nc,a,2\n"
	for _, c := range []struct {
		name, events, labels string
		o                    Options
		want, classes        []string
		problems             []string
	}{
		{name: "words, in any order", events: events, labels: "node,time,label\nb,5,ill\na,1, well \nb,1,ill\n",
			want: []string{"a @1 well", "b @1 ill", "b @5 ill"}, classes: []string{"ill", "well"}},
		{name: "numbers by value", events: events, labels: "user,when,class\na,1,10\nb,1,9\nb,2,9.0\n",
			want: []string{"a @1 10", "b @1 9", "b @2 9"}, classes: []string{"9", "10"}},
		{name: "columns that are named", events: events, labels: "x,y,z\n1,a,yes\n2,b,no\n",
			o:    Options{NodeLabels: LabelFile{Node: "y", Time: "x", Label: "z"}},
			want: []string{"a @1 yes", "b @2 no"}, classes: []string{"no", "yes"}},
		{name: "either end", events: "u,v,t\na,a,1\nb,c,2\n",
			labels: "node,side,time,label\na,source,1,x\na,destination,1,y\nc,destination,3,x\n",
			o:      Options{Bipartite: true},
			want:   []string{"a @1 x", "→a @1 y", "→c @3 x"}, classes: []string{"x", "y"}},
		{name: "either end without sides", events: "u,v,t\na,b,1\n", labels: "node,time,label\na,1,x\nb,1,y\n",
			o: Options{Bipartite: true}, want: []string{"a @1 x", "→b @1 y"}, classes: []string{"x", "y"}},
		{name: "whose side", events: "u,v,t\na,a,1\n", labels: "node,time,label\na,1,x\n", o: Options{Bipartite: true},
			problems: []string{"labels.csv: line 2 (row 1): found node a which is both a source and a destination; " +
				"want a column side that says which"}},
		{name: "unknown node, bad time, no label", events: events,
			labels: "node,time,label\nz,1,x\na,soon,x\nb,1,\n",
			problems: []string{`labels.csv: line 2 (row 1), column node: found "z"; want a node that has events`,
				`labels.csv: line 3 (row 2), column time: found "soon"; want ` + wantTime,
				`labels.csv: line 4 (row 3), column label: found ""; want the class of the node at that time`}},
		{name: "missing column", events: events, labels: "node,label\na,x\n",
			problems: []string{"labels.csv: found the columns node, label; want one for the time, called for example " +
				"ts or t, or named by the option NodeLabels.Time"}},
		{name: "no rows", events: events, labels: "node,time,label\n",
			problems: []string{"labels.csv: found no labels; want at least one row"}},
		{name: "another format of times", events: events, labels: "node,time,label\na,2024-01-01,x\n",
			problems: []string{"labels.csv: line 2 (row 1), column time: found a date as time; " +
				"want a number, as in the events"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, dir, err := importLabels(t, c.events, c.labels, c.o)
			inputtest.CheckProblems(t, dir, err, c.problems)
			if err != nil {
				if _, none := os.Stat(filepath.Join(dir, "out.dgm")); none == nil {
					t.Error("a file was written")
				}
				return
			}
			if diff := cmp.Diff(c.want, labelsOf(s)) + cmp.Diff(c.classes, s.NodeLabels.Names); diff != "" {
				t.Error(diff)
			}
			if _, problems, err := native.Check(filepath.Join(dir, "out.dgm")); err != nil || problems.Total > 0 {
				t.Error(problems, err)
			}
		})
	}
}

// TestNodeLabelsThereAndBack: exporting and importing random labels gives the same data hash, and so does saving.
func TestNodeLabelsThereAndBack(t *testing.T) {
	for seed := range uint64(8) {
		rng := rand.New(rand.NewPCG(seed, 2))
		var events, labels strings.Builder
		events.WriteString("u,v,t\n")
		labels.WriteString("node,since,what\n")
		for range 30 {
			fmt.Fprintf(&events, "%c,x%d,%d\n", 'a'+rng.IntN(4), rng.IntN(4), rng.IntN(20))
		}
		events.WriteString("a,x0,3\n")
		for range 20 {
			fmt.Fprintf(&labels, "%s,%v,%s\n", []string{"a", "x0"}[rng.IntN(2)], float64(rng.IntN(40))/2,
				[]string{"b,c", "10", "9", "it's"}[rng.IntN(4)])
		}
		text := strings.ReplaceAll(labels.String(), "b,c", `"b,c"`)
		s, _, err := importLabels(t, events.String(), text, Options{Bipartite: seed%2 == 0,
			NodeLabels: LabelFile{Time: "since", Label: "what"}})
		if err != nil {
			t.Fatal(err)
		}
		for _, format := range []string{FormatCSV, FormatParquet} {
			back := labelsThereAndBack(t, s, format)
			if diff := cmp.Diff(labelsOf(s), labelsOf(back)); diff != "" || back.Hash() != s.Hash() {
				t.Errorf("seed %d, %s: hash %s, want %s\n%s", seed, format, back.Hash(), s.Hash(), diff)
			}
		}
		path := filepath.Join(t.TempDir(), "saved.dgm")
		if err := native.Save(path, s); err != nil {
			t.Fatal(err)
		}
		if saved := open(t, path); saved.Hash() != s.Hash() {
			t.Errorf("seed %d: saved with hash %s, want %s", seed, saved.Hash(), s.Hash())
		}
	}
}

func labelsThereAndBack(t *testing.T, s *data.Set, format string) *data.Set {
	t.Helper()
	dir := t.TempDir()
	create := func(name string) *os.File {
		f, err := os.Create(filepath.Join(dir, name+"."+format))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		return f
	}
	events, labels := create("events"), create("labels")
	done, err := ExportEvents(t.Context(), events, s, format)
	if err != nil {
		t.Fatal(err)
	}
	rows, columns, _ := ExportNodeLabels(s)
	if err := WriteColumns(t.Context(), labels, format, rows, columns...); err != nil {
		t.Fatal(err)
	}
	o := done.Options
	o.NodeLabels = LabelFile{Path: labels.Name()} // the schema says which columns mean what
	path := filepath.Join(dir, "back.dgm")
	if _, err := Import(t.Context(), []string{events.Name()}, path, o); err != nil {
		t.Fatal(err)
	}
	return open(t, path)
}

// TestNodeLabelsAppend: later labels come behind the first, of classes that may be new; erased nodes and slices lose
// theirs.
func TestNodeLabelsAppend(t *testing.T) {
	s, dir, err := importLabels(t, "u,v,t\na,b,1\nb,a,2\n", "node,time,label\na,1,y\nb,3,x\n", Options{})
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	more := inputtest.Write(t, map[string]string{"e.csv": "u,v,t\nb,c,3\n", "l.csv": "node,time,label\nc,3,w\na,2,x\n"})
	path := filepath.Join(dir, "out.dgm")
	if _, err := Append(t.Context(), path, []string{filepath.Join(more, "e.csv")}, AppendOptions{
		Options: Options{NodeLabels: LabelFile{Path: filepath.Join(more, "l.csv")}}}); err != nil {
		t.Fatal(err)
	}
	s = open(t, path)
	want := []string{"a @1 y", "a @2 x", "b @3 x", "c @3 w"}
	if diff := cmp.Diff(want, labelsOf(s)) + cmp.Diff([]string{"x", "y", "w"}, s.NodeLabels.Names); diff != "" {
		t.Error(diff)
	}
	a, _ := s.Names.Source("a")
	part := data.Without(s, func(int) bool { return false }, map[event.Node]bool{a: true})
	if diff := cmp.Diff([]string{"b @3 x", "c @3 w"}, labelsOf(part)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"a @2 x"}, labelsOf(data.Slice(s, 2, 3))); diff != "" {
		t.Error(diff)
	}
}
