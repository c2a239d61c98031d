package table

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dygmamba/dygmamba/dataset/internal/data"
	"github.com/dygmamba/dygmamba/dataset/internal/input/inputtest"
	"github.com/dygmamba/dygmamba/dataset/internal/native"
	"github.com/dygmamba/dygmamba/event"
)

// timelineOf is the rows of a set as text, in their order.
func timelineOf(s *data.Set) (list []string) {
	for i, n := range s.Timeline.Node {
		list = append(list, fmt.Sprint(s.Names.Name(n), " @", s.Timeline.Time[i], " ", s.Timeline.Features.Row(i)))
	}
	return list
}

// importTimed imports events and a table of nodes with times.
func importTimed(t *testing.T, events, nodes string, o Options) (s *data.Set, r *Report, dir string, err error) {
	t.Helper()
	dir = inputtest.Write(t, map[string]string{"e.csv": events, "nodes.csv": nodes})
	o.NodeFile = filepath.Join(dir, "nodes.csv")
	out := filepath.Join(dir, "out.dgm")
	if r, err = Import(t.Context(), []string{filepath.Join(dir, "e.csv")}, out, o); err != nil {
		return nil, nil, dir, err
	}
	return open(t, out), r, dir, nil
}

func TestImportTimeline(t *testing.T) {
	const events = "u,v,t\na,b,1\nc,a,2\n"
	for _, c := range []struct {
		name, events, nodes string
		o                   Options
		want                []string
		warnings, problems  []string
	}{
		{name: "any order, equal times as in the file", events: events,
			nodes: "id,since,x,y\nb,5,1,2\na,1,3,4\na,1,5,6\na,-2.5,7,8\n",
			want:  []string{"a @-2.5 [7 8]", "a @1 [3 4]", "a @1 [5 6]", "b @5 [1 2]"}},
		{name: "unknown nodes", events: events, nodes: "id,since,x\nz,1,1\na,1,3\n", want: []string{"a @1 [3]"},
			warnings: []string{"nodes.csv: 1 rows about nodes without events: ignored"}},
		{name: "JSON lines", events: events, nodes: `{"id":"a","since":1,"x":3}` + "\n", want: []string{"a @1 [3]"}},
		{name: "two sides", events: "u,v,t\na,a,1\n", nodes: "node,side,since,x\na,source,1,1\na,destination,2,2\n",
			o: Options{Bipartite: true}, want: []string{"a @1 [1]", "a @2 [2]"}},
		{name: "dates", events: "u,v,t\na,b,2024-01-01\n", nodes: "node,since,x\na,1970-01-02T00:00:00Z,1\n",
			want: []string{"a @86400 [1]"}},
		{name: "words", events: "u,v,t\na,b,1\na,b,2\na,b,3\n", nodes: "node,since,x\na,1,red\na,1,blue\nb,9,green\n",
			o: Options{NodeFeatures: []string{"x"}}, want: []string{"a @1 [0 1]", "a @1 [1 0]", "b @9 [0 0]"}},
		{name: "no such column", events: events, nodes: "id,x\na,1\n",
			problems: []string{"nodes.csv: found no column since; want one of its columns: id, x"}},
		{name: "a time that is none", events: events, nodes: "id,since,x\na,1,1\nb,soon,2\n",
			problems: []string{`nodes.csv: line 3 (row 2), column since: found "soon"; ` +
				`want a finite number or a date such as 2024-05-01T12:00:00Z`}},
		{name: "another format of times", events: events, nodes: "id,since,x\na,2024-01-01,1\n",
			problems: []string{"nodes.csv: line 2 (row 1), column since: found a date as time; " +
				"want a number, as in the events"}},
		{name: "another unit", events: "u,v,t\na,b,1700000000\n", nodes: "id,since,x\na,1700000000000,1\n",
			problems: []string{"nodes.csv: found times that look like Unix times in ms; " +
				"want s, as the times of the events"}},
		{name: "no features", events: events, nodes: "id,since\na,1\n",
			problems: []string{"nodes.csv: found the columns id, since; want columns of features beside id"}},
		{name: "a feature that is none", events: events, nodes: "id,since,x\na,1,red\n",
			problems: []string{`nodes.csv: line 2 (row 1), column x: found "red"; want ` + wantFeature}},
		{name: "strangers", events: events, nodes: "id,since,x\nA,1,1\n",
			problems: []string{"nodes.csv: found no rows about nodes that have events; " +
				"want names of nodes as in the events"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.o.NodeTime = "since"
			s, r, dir, err := importTimed(t, c.events, c.nodes, c.o)
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
			if diff := cmp.Diff(c.want, timelineOf(s)); diff != "" {
				t.Error(diff)
			}
			if r.NodeRows != len(c.want) || s.Node.Data != nil || s.Node.Cols != s.Timeline.Features.Cols ||
				s.Recipe.NodeTime != "since" {
				t.Errorf("%+v, %d columns", r, s.Node.Cols)
			}
			if _, problems, err := native.Check(filepath.Join(dir, "out.dgm")); err != nil || problems.Total > 0 {
				t.Error(problems, err)
			}
		})
	}
}

// TestTimelineFits: encodings know nothing of rows after the training part.
func TestTimelineFits(t *testing.T) {
	var events strings.Builder
	events.WriteString("u,v,t\n")
	for i := range 100 {
		fmt.Fprintf(&events, "a,b,%d\n", i)
	}
	nodes := "id,since,x,y\na,1,red,1\na,2,blue,3\nb,90,green,1000\n"
	s, _, _, err := importTimed(t, events.String(), nodes, Options{NodeTime: "since", NodeFeatures: []string{"x", "y"}})
	if err != nil {
		t.Fatal(err)
	}
	red, green := s.Timeline.Features.Row(0), s.Timeline.Features.Row(2)
	if got := s.Recipe.Node.Columns[0].Values; !slices.Contains(got, "red") || slices.Contains(got, "green") {
		t.Errorf("fitted to %v, want what there is before the end of the training part", got)
	}
	if y := red[len(red)-1]; y != -1 || green[len(green)-1] != 10 {
		t.Errorf("encoded %v and %v, want numbers scaled by 1 and 3 alone, and cut at 10", red, green)
	}
}

// TestTimelineThereAndBack: exporting and importing random tables gives the same data hash.
func TestTimelineThereAndBack(t *testing.T) {
	for seed := range uint64(12) {
		rng := rand.New(rand.NewPCG(seed, 1))
		dates, sides, encoded := rng.IntN(2) == 0, rng.IntN(2) == 0, rng.IntN(2) == 0
		at := func() string {
			if dates {
				return fmt.Sprintf("2024-01-%02dT00:00:00.%dZ", 1+rng.IntN(5), rng.IntN(10))
			}
			return fmt.Sprint(float64(rng.IntN(20)) / 4)
		}
		var events, nodes strings.Builder
		events.WriteString("u,v,t\na,x0,1\n")
		if dates {
			events.Reset()
			events.WriteString("u,v,t\na,x0,2024-01-01\n")
		}
		nodes.WriteString("node,since,x,y\n")
		for range 40 {
			fmt.Fprintf(&events, "%c,x%d,%s\n", 'a'+rng.IntN(4), rng.IntN(4), at())
			fmt.Fprintf(&nodes, "%s,%s,%v,%d\n", []string{"a", "x0"}[rng.IntN(2)], at(), rng.NormFloat64(), rng.IntN(3))
		}
		o := Options{NodeTime: "since", Bipartite: sides}
		if encoded {
			o.NodeFeatures = []string{"x", "y:category"}
		}
		s, _, _, err := importTimed(t, events.String(), nodes.String(), o)
		if err != nil {
			t.Fatal(err)
		}
		for _, format := range []string{FormatCSV, FormatParquet} {
			back := thereAndBack(t, s, format)
			if diff := cmp.Diff(timelineOf(s), timelineOf(back)); diff != "" || back.Hash() != s.Hash() {
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
		other := *s
		other.Timeline = data.NewTimeline(s.Timeline.Node, s.Timeline.Time, s.Timeline.Features.Data,
			s.Timeline.Features.Cols)
		if other.Timeline.Features.Data[0]++; other.Hash() == s.Hash() {
			t.Error("the hash does not depend on the rows")
		}
	}
}

// TestTimelineAppend: later rows are encoded as the first were, and a set that was appended to is one that had all.
func TestTimelineAppend(t *testing.T) {
	const events, nodes = "u,v,t\na,b,1\nb,a,9\n", "id,since,x\na,1,red\nb,2,blue\n"
	o := Options{NodeTime: "since", NodeFeatures: []string{"x"}}
	s, _, dir, err := importTimed(t, events, nodes, o)
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	more := inputtest.Write(t, map[string]string{"e.csv": "u,v,t\nb,c,3\n",
		"nodes.csv": "id,since,x\nc,3,red\na,0,blue\n", "static.csv": "id,x\nc,red\n"})
	path := filepath.Join(dir, "out.dgm")
	files := []string{filepath.Join(more, "e.csv")}
	add := AppendOptions{Options: Options{NodeFile: filepath.Join(more, "static.csv")}}
	_, err = Append(t.Context(), path, files, add)
	inputtest.CheckProblems(t, more, err, []string{"static.csv: found no column since; want one of its columns: id, x"})
	add.NodeFile = filepath.Join(more, "nodes.csv")
	if _, err := Append(t.Context(), path, files, add); err != nil {
		t.Fatal(err)
	}
	got := open(t, path)
	want := []string{"a @0 [1 0]", "a @1 [0 1]", "b @2 [1 0]", "c @3 [0 1]"}
	if diff := cmp.Diff(want, timelineOf(got)); diff != "" {
		t.Error(diff)
	}
	plain, _, _, err := importTimed(t, events, "id,x\na,1\nb,2\n", Options{})
	if err != nil {
		t.Fatal(err)
	}
	static := filepath.Join(t.TempDir(), "static.dgm")
	if err := native.Save(static, plain); err != nil {
		t.Fatal(err)
	}
	add.NodeTime = "since"
	_, err = Append(t.Context(), static, files, add)
	inputtest.CheckProblems(t, more, err, []string{"nodes.csv: found features of nodes with times in the column " +
		"since; want features that always hold, as in the data"})
}

// TestTimelineWithout: an erased node's rows go with it, and others keep theirs under their new numbers.
func TestTimelineWithout(t *testing.T) {
	s, _, _, err := importTimed(t, "u,v,t\na,b,1\nb,c,2\nc,b,3\n", "id,since,x\na,1,1\nb,1,2\nc,2,3\n",
		Options{NodeTime: "since"})
	if err != nil {
		t.Fatal(err)
	}
	a, _ := s.Names.Source("a")
	part := data.Without(s, func(int) bool { return false }, map[event.Node]bool{a: true})
	if diff := cmp.Diff([]string{"b @1 [2]", "c @2 [3]"}, timelineOf(part)); diff != "" {
		t.Error(diff)
	}
}
