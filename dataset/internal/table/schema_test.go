package table

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/dygmamba/dygmamba/dataset/internal/data"
	"github.com/dygmamba/dygmamba/dataset/internal/native"
	"github.com/dygmamba/dygmamba/event"
)

// orders has a number, a category, a date, a column of many words, and a kind.
func orders(from, to int) string {
	text := "who,what,when,price,drink,since,street,how\n"
	for i := from; i < to; i++ {
		price, drink := fmt.Sprintf("%.2f", 1.5+float64(i*i%97)/4), []string{"tea", "milk", "", "cocoa"}[i%4]
		if i%11 == 3 {
			price = ""
		}
		text += fmt.Sprintf("u%d,v%d,2024-05-%02dT10:%02d:00Z,%s,%s,20%02d-0%d-1%d,street %d,%s\n", i%7, i%5, 1+i/10,
			i%60, price, drink, 10+i%9, 1+i%8, i%9, i%50, []string{"viewed", "bought"}[i%3%2])
	}
	return text
}

var orderColumns = Options{Features: []string{"price", "drink", "since", "street"}, Kind: "how", Bipartite: true}

// exported writes a set as CSV, with its schema as JSON, which is read again.
func exported(t interface {
	Helper()
	Fatal(...any)
}, dir string, s *data.Set, export func(*bytes.Buffer) (*Exported, error)) (string, *Exported, Options) {
	t.Helper()
	var text bytes.Buffer
	done, err := export(&text)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, fmt.Sprintf("export%d.csv", rand.Int()))
	if err := os.WriteFile(path, text.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(done.Options.Schema)
	if err != nil {
		t.Fatal(err)
	}
	schema, err := data.ParseSchema(raw)
	if err != nil {
		t.Fatal(err, string(raw))
	}
	return path, done, Options{Schema: schema}
}

// TestExportRaw: values come back as they were imported, and what cannot be told as encoded numbers; an import with the
// schema gives the same data and the same file.
func TestExportRaw(t *testing.T) {
	s, _, err := imported(t, "x.csv", orders(0, 100), orderColumns)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	path, done, o := exported(t, dir, s, func(w *bytes.Buffer) (*Exported, error) {
		return ExportEvents(t.Context(), w, s, FormatCSV)
	})
	text, _ := os.ReadFile(path)
	head, rows, _ := strings.Cut(string(text), "\n")
	if !strings.HasPrefix(head, "who,what,when,how,price,drink,since,street#1,") ||
		!slices.Equal(done.Encoded, []string{"street"}) {
		t.Errorf("columns %s, encoded %q", head, done.Encoded)
	}
	if first, _, _ := strings.Cut(rows, "\n"); !strings.HasPrefix(first,
		"u0,v0,2024-05-01T10:00:00Z,viewed,1.5,tea,2010-01-10T00:00:00Z,") {
		t.Errorf("the first row is %s", first)
	}
	again := filepath.Join(dir, "again.dgm")
	if _, err := Import(t.Context(), []string{path}, again, o); err != nil {
		t.Fatal(err)
	}
	back := open(t, again)
	if back.Hash() != s.Hash() || !slices.Equal(back.Kinds, s.Kinds) || !back.Recipe.Edge.Same(&s.Recipe.Edge) {
		t.Errorf("hash %.8s, was %.8s; kinds %q", back.Hash(), s.Hash(), back.Kinds)
	}
}

// TestExportedNumbers: nodes keep their numbers also where rows were appended or removed since the import, so an import
// of the export with its schema gives the same data hash.
func TestExportedNumbers(t *testing.T) {
	for _, bipartite := range []bool{false, true} {
		dir := t.TempDir()
		in := func(name, text string) string {
			path := filepath.Join(dir, name)
			if err := os.WriteFile(path, []byte("who,what,when\n"+text), 0o644); err != nil {
				t.Fatal(err)
			}
			return path
		}
		first, later := in("a.csv", "a,x,1\nb,y,2\na,y,3\n"), in("b.csv", "b,z,4\nc,x,5\nd,w,2\n")
		path := filepath.Join(dir, "x.dgm")
		o := Options{Bipartite: bipartite, Source: "who", Target: "what", Time: "when"}
		if _, err := Import(t.Context(), []string{first}, path, o); err != nil {
			t.Fatal(err)
		}
		if _, err := Append(t.Context(), path, []string{later}, AppendOptions{}); err != nil {
			t.Fatal(err)
		}
		appended := open(t, path)
		for name, s := range map[string]*data.Set{
			"appended": appended,
			"removed":  data.Without(appended, func(i int) bool { return i == 0 }, nil),
			"erased":   data.Without(appended, func(int) bool { return false }, map[event.Node]bool{2: true}),
			"sliced":   data.Slice(appended, 3, 6),
		} {
			file, done, with := exported(t, dir, s, func(w *bytes.Buffer) (*Exported, error) {
				return ExportEvents(t.Context(), w, s, FormatCSV)
			})
			if name == "appended" && (done.Options.Schema.Nodes != nil) != bipartite {
				t.Errorf("bipartite %v: the schema has the nodes %+v", bipartite, done.Options.Schema.Nodes)
			}
			again := filepath.Join(dir, "again.dgm")
			if _, err := Import(t.Context(), []string{file}, again, with); err != nil {
				t.Fatal(err)
			}
			back := open(t, again)
			if back.Hash() != s.Hash() || !slices.Equal(show(back), show(s)) ||
				back.Names.Sources() != s.Names.Sources() {
				t.Errorf("%s, bipartite %v:\n%s\nwas\n%s", name, bipartite, show(back), show(s))
			}
		}
	}
	for _, bad := range []*data.SchemaNodes{{Names: []string{"a", "a"}}, {Names: []string{"a"}, Sources: 2},
		{Names: []string{"a", "b", "c"}, Sources: 1, Later: []event.Node{1}}, {Names: []string{"a", "b"}, Sources: 1}} {
		raw, _ := json.Marshal(&data.Schema{Version: 1, TimeFormat: "number", Nodes: bad,
			Columns: data.Recipe{Source: "a", Target: "b", Time: "c"}})
		if _, err := data.ParseSchema(raw); err == nil {
			t.Errorf("%s was taken", raw)
		}
	}
}

// TestAppendExported: rows of an export become the numbers that they were, and encoded ones are refused without the
// schema. They used to be encoded twice.
func TestAppendExported(t *testing.T) {
	for _, encoded := range []bool{false, true} {
		dir := t.TempDir()
		o := orderColumns
		o.Features = []string{"price", "drink"}
		first, whole := filepath.Join(dir, "a.csv"), filepath.Join(dir, "x.dgm")
		os.WriteFile(first, []byte(orders(0, 100)), 0o644)
		if _, err := Import(t.Context(), []string{first}, whole, o); err != nil {
			t.Fatal(err)
		}
		s := open(t, whole)
		path, _, with := exported(t, dir, s, func(w *bytes.Buffer) (*Exported, error) {
			if encoded {
				return ExportEncoded(t.Context(), w, s, FormatCSV)
			}
			return ExportEvents(t.Context(), w, s, FormatCSV)
		})
		_, err := Append(t.Context(), whole, []string{path}, AppendOptions{Again: true})
		if encoded {
			if err == nil || !strings.Contains(err.Error(), "encoded numbers of the column price") {
				t.Fatalf("encoded numbers were taken for values: %v", err)
			}
			_, err = Append(t.Context(), whole, []string{path}, AppendOptions{Again: true, Options: with})
		}
		if err != nil {
			t.Fatal(err)
		}
		twice := open(t, whole)
		if n := s.Edge.Rows - 1; twice.Edge.Rows != 2*n+1 ||
			!slices.Equal(twice.Edge.Data[s.Edge.Cols:(n+1)*s.Edge.Cols], twice.Edge.Data[(n+1)*s.Edge.Cols:]) {
			t.Errorf("encoded %v: the appended rows have other features than the same rows before", encoded)
		}
	}
}

// TestRandomSchemas: for any columns, export and import with the schema give the same hash, whatever was fitted.
func TestRandomSchemas(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		number := rapid.OneOf(rapid.Float64Range(-1e6, 1e6).AsAny(), rapid.IntRange(-5, 1000).AsAny(),
			rapid.Just("").AsAny())
		cells := []*rapid.Generator[string]{
			rapid.Map(number, func(x any) string { return fmt.Sprint(x) }),
			rapid.SampledFrom([]string{"a", "b c", "", "NA", "ü,\"x\"", "1"}),
			rapid.Map(rapid.IntRange(0, 4e9), func(s int) string {
				return fmt.Sprintf("20%02d-%02d-%02dT%02d:%02d:%02dZ",
					s%80, 1+s/80%12, 1+s/960%28, s/26880%24, s/645120%60, s/38707200%60)
			}),
			rapid.StringMatching("[a-z]{1,3}"),
		}
		columns := rapid.SliceOfN(rapid.IntRange(0, len(cells)-1), 0, 5).Draw(t, "columns")
		o := Options{Kind: "kind", Bipartite: rapid.Bool().Draw(t, "bipartite"),
			Categories: rapid.IntRange(2, 40).Draw(t, "categories")}
		labels := rapid.SampledFrom([][]string{nil, {"0", "1", "2.5", "true"}, {"spam", "ham", "ü x"}, {"b", "a", ""},
			{"3", "-1", "", "0"}, {""}}).Draw(t, "labels")
		valued := rapid.Bool().Draw(t, "valued")
		var text bytes.Buffer
		text.WriteString("u,i,ts,kind")
		if labels != nil {
			text.WriteString(",class")
			o.Label = "class"
		}
		if valued {
			text.WriteString(",price")
			o.Value = "price"
		}
		for i := range columns {
			fmt.Fprintf(&text, ",c%d", i)
			o.Features = append(o.Features, fmt.Sprintf("c%d", i))
		}
		for row := range rapid.IntRange(1, 40).Draw(t, "rows") {
			fmt.Fprintf(&text, "\n%d,%d,%d,%s", rapid.IntRange(1, 9).Draw(t, "u"), rapid.IntRange(1, 9).Draw(t, "i"),
				rapid.IntRange(0, 50).Draw(t, "ts")+row, rapid.SampledFrom([]string{"x", "y", "z z"}).Draw(t, "kind"))
			if labels != nil {
				text.WriteString("," + rapid.SampledFrom(labels).Draw(t, "label"))
			}
			if valued {
				fmt.Fprintf(&text, ",%v", rapid.Float64Range(-1e9, 1e9).Draw(t, "price"))
			}
			for _, c := range columns {
				cell := cells[c].Draw(t, "cell")
				text.WriteString(`,"` + strings.ReplaceAll(cell, `"`, `""`) + `"`)
			}
		}
		in, out, back := filepath.Join(dir, "in.csv"), filepath.Join(dir, "in.dgm"), filepath.Join(dir, "back.dgm")
		os.WriteFile(in, text.Bytes(), 0o644)
		if _, err := Import(t.Context(), []string{in}, out, o); err != nil {
			t.Fatal(err)
		}
		s, err := native.Open(out)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		export := rapid.SampledFrom([]func(*bytes.Buffer) (*Exported, error){
			func(w *bytes.Buffer) (*Exported, error) { return ExportEvents(t.Context(), w, s, FormatCSV) },
			func(w *bytes.Buffer) (*Exported, error) { return ExportEncoded(t.Context(), w, s, FormatCSV) },
		}).Draw(t, "export")
		path, _, with := exported(t, dir, s, export)
		defer os.Remove(path)
		if _, err := Import(t.Context(), []string{path}, back, with); err != nil {
			t.Fatal(err)
		}
		again, err := native.Open(back)
		if err != nil {
			t.Fatal(err)
		}
		defer again.Close()
		if again.Hash() != s.Hash() || !slices.Equal(again.Classes, s.Classes) ||
			!slices.Equal(again.Values, s.Values) {
			table, _ := os.ReadFile(path)
			t.Fatalf("hash %.8s, was %.8s\n%s\n%s", again.Hash(), s.Hash(), text.String(), table)
		}
	})
}
