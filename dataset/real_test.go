package dataset

import (
	"os"
	"path/filepath"
	"testing"
)

// realData is the directory of the public data sets, or skips the test.
func realData(t testing.TB) string {
	t.Helper()
	dir := filepath.Join("..", "..", "shared", "data")
	if _, err := os.Stat(dir); err != nil {
		t.Skip("needs the public data sets in ../shared/data beside the repository")
	}
	return dir
}

func TestRealSets(t *testing.T) {
	dir := realData(t)
	for _, c := range []struct {
		name                         string
		events, nodes                int
		last                         float64
		edgeCols, nodeCols, positive int
		edges                        bool
		bipartite                    bool
	}{
		{"uci", 59835, 1899, 16736181, 100, 100, 0, false, false},
		{"enron", 125235, 184, 113740399, 32, 32, 0, false, false},
		{"mooc", 411749, 7144, 2572086, 4, 172, 4066, true, true},
		{"USLegis", 60396, 225, 11, 1, 172, 0, true, false},
		{"CanParl", 74478, 734, 410227200, 1, 172, 0, true, false},
		{"wikipedia", 157474, 9227, 2678373, 0, 0, 217, false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := Open(t.Context(), c.name, Options{DataDir: dir})
			if err != nil {
				t.Fatal(err)
			}
			all := s.Log.All()
			positive := 0
			for i := range all.Len() {
				if all.Label(i) == 1 {
					positive++
				}
			}
			if all.Len() != c.events || s.NumNodes() != c.nodes+1 || all.Time[all.Len()-1] != c.last ||
				positive != c.positive || s.Bipartite != c.bipartite {
				t.Errorf("%d events, %d nodes, last %v, %d labels, bipartite %v; want %+v",
					all.Len(), s.NumNodes()-1, all.Time[all.Len()-1], positive, s.Bipartite, c)
			}
			if s.Edge.Rows != c.events+1 || s.Edge.Cols != c.edgeCols || (s.Edge.Data != nil) != c.edges {
				t.Errorf("edge features %dx%d, stored %v; want %+v", s.Edge.Rows, s.Edge.Cols, s.Edge.Data != nil, c)
			}
			if s.Node.Rows != c.nodes+1 || s.Node.Cols != c.nodeCols || s.Node.Data != nil {
				t.Errorf("node features %dx%d, stored %v; want %+v", s.Node.Rows, s.Node.Cols, s.Node.Data != nil, c)
			}
			if want := c.name == "wikipedia"; (len(s.Warnings) == 1) != want {
				t.Errorf("warnings %q", s.Warnings)
			}
		})
	}
}

func BenchmarkOpenMooc(b *testing.B) {
	dir := realData(b)
	events := 0
	for b.Loop() {
		s, err := Open(b.Context(), "mooc", Options{DataDir: dir})
		if err != nil {
			b.Fatal(err)
		}
		events += s.Log.Len()
	}
	b.ReportMetric(float64(events)/b.Elapsed().Seconds(), "events/s")
}
