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
	"github.com/dygmamba/dygmamba/dataset/internal/input/inputtest"
	"github.com/dygmamba/dygmamba/dataset/internal/native"
	"github.com/dygmamba/dygmamba/dataset/internal/synth"
)

// there and back: exports a set and imports what came out.
func thereAndBack(t *testing.T, s *data.Set, format string) *data.Set {
	t.Helper()
	dir := t.TempDir()
	write := func(name string, export func(f *os.File) (*Exported, error)) (string, Options) {
		path := filepath.Join(dir, name+"."+format)
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		done, err := export(f)
		if err != nil || f.Close() != nil {
			t.Fatal(err)
		}
		return path, done.Options
	}
	events, o := write("events", func(f *os.File) (*Exported, error) { return ExportEvents(t.Context(), f, s, format) })
	if s.Node.Data != nil || s.Timeline != nil {
		nodes, of := write("nodes", func(f *os.File) (*Exported, error) {
			return ExportNodes(t.Context(), f, s,
				format)
		})
		o.NodeFile, o.NodeID, o.NodeSide, o.NodeTime = nodes, of.NodeID, of.NodeSide, of.NodeTime
	}
	path := filepath.Join(dir, "back.dgm")
	if _, err := Import(t.Context(), []string{events}, path, o); err != nil {
		t.Fatal(err)
	}
	return open(t, path)
}

func TestExport(t *testing.T) {
	rows := "who;what;when;w;kind,of;label\n"
	for i, name := range []string{"a,b", `say "x"`, "two\nlines", "é\r\nü", "7", "007", "7"} {
		rows += fmt.Sprintf("\"%s\";n%d;2024-05-0%dT00:00:0%d.%dZ;%v;\"cold, or %d\";%d\n",
			strings.ReplaceAll(name, `"`, `""`), i%3, 8-i, i, i, float32(i)/3, i%2, i%2)
	}
	numbers := "u,v,t\n9,3,0.1\n-4,9,1e300\n9,9,-5\n9,3,0.1\n"
	numbers = strings.Replace(numbers, "1e300", "1e30", 1)
	for name, c := range map[string]struct {
		text string
		o    Options
	}{
		"words, dates, labels, features": {rows, Options{Delimiter: ";", EdgeFeatures: []string{"w"},
			Features: []string{"kind,of"}}},
		"two sides": {rows, Options{Delimiter: ";", Bipartite: true,
			Features: []string{"kind,of"}}},
		"numbers":              {numbers, Options{}},
		"numbers of two kinds": {numbers, Options{Bipartite: true}},
		"no header": {"1,2,3\n4,5,2\n",
			Options{NoHeader: true, Source: "1", Target: "2", Time: "3"}},
	} {
		if strings.HasPrefix(c.text, "who") {
			c.o.Source, c.o.Target, c.o.Time = "who", "what", "when"
		}
		s, _, err := imported(t, "x.csv", c.text, c.o)
		if err != nil {
			t.Fatal(name, err)
		}
		for _, format := range []string{FormatCSV, FormatParquet} {
			back := thereAndBack(t, s, format)
			if diff := cmp.Diff(show(s), show(back)); diff != "" || back.Hash() != s.Hash() ||
				back.TimeFormat != s.TimeFormat {
				t.Errorf("%s as %s (-want +got):\n%s", name, format, diff)
			}
			if back.Names.Sources() != s.Names.Sources() || back.Edge.Cols != s.Edge.Cols {
				t.Errorf("%s as %s: %d sources, %d features", name, format, back.Names.Sources(), back.Edge.Cols)
			}
			var once, again bytes.Buffer
			if _, err := ExportEvents(t.Context(), &once, s, format); err != nil {
				t.Fatal(err)
			}
			if _, err := ExportEvents(t.Context(), &again, s, format); err != nil || once.String() != again.String() {
				t.Errorf("%s as %s twice, not the same bytes (%v)", name, format, err)
			}
		}
	}
}

// Features of nodes go into a table of their own.
func TestExportNodes(t *testing.T) {
	dir := inputtest.Write(t, map[string]string{"e.csv": visits,
		"n.csv": "name,side,x\nann,source,1.5\ntea,destination,-2\nbob,source,0.1\n"})
	path := filepath.Join(dir, "x.dgm")
	o := Options{Source: "who", Target: "what", Time: "when", Bipartite: true, NodeFile: filepath.Join(dir, "n.csv")}
	if _, err := Import(t.Context(), []string{filepath.Join(dir, "e.csv")}, path, o); err != nil {
		t.Fatal(err)
	}
	s := open(t, path)
	for _, format := range []string{FormatCSV, FormatParquet} {
		if back := thereAndBack(t, s, format); back.Hash() != s.Hash() {
			t.Errorf("%s gives other data", format)
		}
	}
	var text bytes.Buffer
	done, err := ExportNodes(t.Context(), &text, s, FormatCSV)
	want := "name,side,x\nann,source,1.5\nbob,source,0.1\ntea,destination,-2\nice,destination,0\nsoup,destination,0\n"
	if err != nil || text.String() != want || done.Rows != 5 {
		t.Errorf("%+v, %v:\n%s", done, err, text.String())
	}
}

// What was appended is exported too, under titles that differ, and sets that came from no table can be exported.
func TestExportOthers(t *testing.T) {
	periodic, err := synth.Periodic(synth.PeriodicOptions{Events: 50})
	if err != nil {
		t.Fatal(err)
	}
	if back := thereAndBack(t, periodic, FormatCSV); !slices.Equal(show(back), show(periodic)) {
		t.Error("the periodic stream comes back differently")
	}
	_, s, _, err := grown(t, "user,item,t,a b,a;b\n1,2,3,4,5\n", "user,item,t,a b,a;b\n3,2,2,1,7\n",
		Options{Bipartite: true, EdgeFeatures: []string{"a b", "a;b"}}, AppendOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if _, err := ExportEvents(t.Context(), &text, s, FormatCSV); err != nil ||
		text.String() != "user,item,t,a_b,a_b_2\n1,2,3,4,5\n3,2,2,1,7\n" {
		t.Errorf("%v: %s", err, text.String())
	}
	if _, err := ExportEvents(t.Context(), &text, s, "xml"); err == nil {
		t.Error("writes XML")
	}
	if _, err := ExportNodes(t.Context(), &text, s, FormatCSV); err == nil {
		t.Error("writes features that nodes do not have")
	}
	path := filepath.Join(t.TempDir(), "x.dgm")
	if err := native.Save(path, s); err != nil {
		t.Fatal(err)
	}
	if again := open(t, path); again.Hash() != s.Hash() || !again.Names.IsSource(3) {
		t.Error("saved, a later source is none")
	}
}
