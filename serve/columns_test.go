package serve

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dygmamba/dygmamba"
	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/eventlog"
	"github.com/dygmamba/dygmamba/predict"
	"github.com/dygmamba/dygmamba/protocol"
	"github.com/dygmamba/dygmamba/run"
)

// shop is rows of a table with a number, a category, a date, a column of many words, and a kind.
type shop struct {
	head []string
	rows [][]string
}

func newShop(rows int) shop {
	s := shop{head: []string{"customer", "product", "date", "price", "drink", "since", "street", "how"}}
	for i := range rows {
		price := fmt.Sprintf("%.2f", 1.5+float64(i*i%97)/4)
		if i%11 == 3 {
			price = ""
		}
		s.rows = append(s.rows, []string{fmt.Sprint("u", i%7), fmt.Sprint("p", i*i%11),
			fmt.Sprintf("2024-05-%02dT%02d:%02d:00Z", 1+i/60, i%60/3, i*7%60), price,
			[]string{"tea", "milk", "", "cocoa"}[i*i%4], fmt.Sprintf("20%02d-0%d-1%d", 10+i%9, 1+i%8, i%9),
			fmt.Sprint("street ", i%50), []string{"viewed", "bought", "returned"}[(i+i/7)%3]})
	}
	return s
}

func (s shop) write(t *testing.T, path string, lo, hi int) {
	t.Helper()
	lines := []string{strings.Join(s.head, ",")}
	for _, row := range s.rows[lo:hi] {
		lines = append(lines, strings.Join(row, ","))
	}
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
}

// event is a row as clients send it: with the names of its own columns.
func (s shop) event(i int) string {
	row := s.rows[i]
	columns := map[string]any{}
	for j := 3; j < 7; j++ {
		if columns[s.head[j]] = row[j]; row[j] == "" {
			columns[s.head[j]] = nil
		} else if s.head[j] == "price" {
			columns[s.head[j]] = json.Number(row[j])
		}
	}
	raw, _ := json.Marshal(map[string]any{"src": row[0], "dst": row[1], "time": row[2], "kind": row[7],
		"columns": columns})
	return string(raw)
}

// TestColumnsEndToEnd: import with features, kinds and dates, train, serve, and post the next rows of the same table
// under the names of their columns. Scores are those of predict on a file that contains the rows, bit for bit.
func TestColumnsEndToEnd(t *testing.T) {
	const first, all = 300, 360
	rows, dir := newShop(all), t.TempDir()
	early, late := filepath.Join(dir, "early.csv"), filepath.Join(dir, "late.csv")
	whole := filepath.Join(dir, "whole.dgm")
	rows.write(t, early, 0, first)
	rows.write(t, late, first, all)
	known := filepath.Join(dir, "known.dgm")
	for _, out := range []string{known, whole} {
		o := dataset.ImportOptions{Kind: "how", Bipartite: true,
			Features: []string{"price", "drink", "since", "street"}}
		if _, err := dataset.Import(t.Context(), []string{early}, out, o); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := dataset.Append(t.Context(), whole, []string{late}, dataset.AppendOptions{}); err != nil {
		t.Fatal(err)
	}
	set, file := opened(t, known), opened(t, whole)
	for _, name := range []string{dygmamba.DefaultModel, "walkmamba"} {
		spec, err := dygmamba.NewSpec(name, "quick", set, "num_epochs=1", "negatives_random=0.5", "negatives_kind=0.5",
			"max_input_sequence_length=16", "batch_size=50")
		if err != nil {
			t.Fatal(err)
		}
		out := filepath.Join(dir, name)
		done, err := dygmamba.Train(t.Context(), dygmamba.TrainOptions{Set: set, Model: name, Spec: &spec, Dir: out,
			Threads: 1})
		if err != nil || done.Runs[0].Task != protocol.ByKind {
			t.Fatalf("%s: %v, task %q", name, err, done.Runs[0].Task)
		}
		s, err := New(t.Context(), Options{Set: set, Log: eventlog.NewMemory(), Checkpoint: run.SeedDir(out, 0),
			Load: predict.Options{Threads: 1}})
		if err != nil {
			t.Fatal(err)
		}
		var list []string
		for i := first; i < all; i++ {
			list = append(list, rows.event(i))
		}
		ask[receiptDoc](t, s, "POST", "/v1/events", `{"events": [`+strings.Join(list, ",")+`]}`)
		checkScores(t, name, s, file, run.SeedDir(out, 0))
		refusesColumns(t, s, rows)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func opened(t *testing.T, path string) *dataset.Set {
	t.Helper()
	set, err := dataset.OpenNative(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { set.Close() })
	return set
}

// checkScores compares the answers of a server with those of a file that contains the same events.
func checkScores(t *testing.T, name string, s *Server, file *dataset.Set, dir string) {
	t.Helper()
	p, err := predict.Load(dir, predict.Options{Set: file, Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	var queries []predict.Query
	var asked []string
	at, _ := file.Clock().Parse("2024-05-07T00:00:00Z")
	for i := range 20 {
		u, v, kind := fmt.Sprint("u", i%7), fmt.Sprint("p", i*i%11), file.Kinds[i%3]
		src, _ := file.Names.Source(u)
		dst, _ := file.Names.Target(v)
		queries = append(queries, predict.Query{Src: src, Dst: dst, Time: at, Kind: file.Kind(kind)})
		asked = append(asked, fmt.Sprintf(`{"src": %q, "dst": %q, "time": "2024-05-07T00:00:00Z", "kind": %q}`,
			u, v, kind))
	}
	want, err := p.Score(t.Context(), queries)
	if err != nil {
		t.Fatal(err)
	}
	got := ask[scoresDoc](t, s, "POST", "/v1/score", `{"queries": [`+strings.Join(asked, ",")+`]}`)
	kinds := map[float32]bool{}
	for i, score := range got.Scores {
		if kinds[want[i]] = true; math.Float32bits(score.Logit) != math.Float32bits(want[i]) {
			t.Errorf("%s: query %d is %v online, %v offline", name, i, score.Logit, want[i])
		}
	}
	if len(kinds) < 10 {
		t.Errorf("%s: 20 queries have %d answers", name, len(kinds))
	}
	checkRanking(t, name, s, file, p)
}

// checkRanking compares rankings by kind with scores of the same kind, and wants a kind.
func checkRanking(t *testing.T, name string, s *Server, file *dataset.Set, p *predict.Predictor) {
	t.Helper()
	at, _ := file.Clock().Parse("2024-05-07T00:00:00Z")
	src, _ := file.Names.Source("u1")
	for _, kind := range file.Kinds {
		got := ask[struct {
			Items []struct {
				Dst   string
				Logit float32
			}
		}](t, s, "POST", "/v1/rank",
			fmt.Sprintf(`{"src": "u1", "time": "2024-05-07T00:00:00Z", "k": 5, "kind": %q}`, kind))
		for _, item := range got.Items {
			dst, _ := file.Names.Target(item.Dst)
			want, err := p.Score(t.Context(), []predict.Query{{Src: src, Dst: dst, Time: at, Kind: file.Kind(kind)}})
			if err != nil || math.Float32bits(want[0]) != math.Float32bits(item.Logit) {
				t.Errorf("%s: %s by kind %s ranks with %v, scores %v, %v", name, item.Dst, kind, item.Logit, want, err)
			}
		}
		if len(got.Items) != 5 {
			t.Errorf("%s: %d items of kind %s, want 5", name, len(got.Items), kind)
		}
	}
	if r := call(s.Handler(), "POST", "/v1/rank", `{"src": "u1", "k": 5}`); r.Code != 400 ||
		!strings.Contains(r.Body.String(), "one of the kinds of this data set") {
		t.Errorf("%s: a ranking without a kind: %d %s", name, r.Code, r.Body)
	}
}

// refusesColumns: unknown, missing and encoded columns are refused with what was expected.
func refusesColumns(t *testing.T, s *Server, rows shop) {
	t.Helper()
	good := rows.event(0)
	width := s.engine.width
	for want, body := range map[string]string{
		"a known column: price, drink, since, street": strings.Replace(good, `"price"`, `"prize"`, 1),
		"columns are price, drink, since, street":     strings.Replace(good, `"price":1.50,`, ``, 1),
		"a finite number, as in the rows":             strings.Replace(good, `"price":1.50`, `"price":"dear"`, 1),
		"columns or features, not both": strings.Replace(good, `"columns"`, `"features": [`+
			strings.Repeat("0,", width-1)+`0], "columns"`, 1),
		"values as they were imported go under columns": `{"src": "u1", "dst": "p1", "time": "2024-05-09",
			"kind": "bought", "features": [733` + strings.Repeat(",0", width-1) + `]}`,
	} {
		r := call(s.Handler(), "POST", "/v1/events", `{"events": [`+body+`]}`)
		if r.Code != 400 || !strings.Contains(r.Body.String(), want) {
			t.Errorf("want %q: %d %s\n%s", want, r.Code, r.Body, body)
		}
	}
	if r := call(s.Handler(), "POST", "/v1/score", `{"queries": [{"src": "u1", "dst": "p1"}]}`); r.Code != 400 ||
		!strings.Contains(r.Body.String(), "one of the kinds of this data set") {
		t.Errorf("a query without a kind: %d %s", r.Code, r.Body)
	}
}
