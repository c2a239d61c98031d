package queries

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/event"
)

func periodic(t *testing.T) *dataset.Set {
	t.Helper()
	set, err := dataset.Periodic(dataset.PeriodicOptions{Sources: 3, Targets: 3, Events: 100})
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// ask reads questions from standard input.
func ask(t *testing.T, k *Reader, in io.Reader, o dataset.ImportOptions) (Table, error) {
	t.Helper()
	return k.Read(t.Context(), "-", in, o)
}

// Columns come in any order, with others among them, behind a byte order mark and compressed; a stranger is one node
// wherever it is asked about.
func TestRead(t *testing.T) {
	set := periodic(t)
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	z.Write([]byte("\xef\xbb\xbfnote,ts, i ,u\n1,5,v2,u1\n,1e3,stranger,\"a, b\"\n,7,v1,\"a, b\"\n"))
	z.Close()
	table, err := ask(t, NewReader(set), &packed, dataset.ImportOptions{})
	if err != nil {
		t.Fatal(err)
	}
	got := table.Questions
	if !slices.Equal(table.Extra, []string{"note"}) || !slices.Equal(got[0].Extra, []string{"1"}) ||
		!slices.Equal(got[1].Extra, []string{""}) {
		t.Errorf("other columns: %q, %q, %q", table.Extra, got[0].Extra, got[1].Extra)
	}
	u1, _ := set.Names.Source("u1")
	v2, _ := set.Names.Target("v2")
	if len(got) != 3 || got[0].Src != u1 || got[0].Dst != v2 || got[0].Time != 5 {
		t.Fatalf("got %+v", got)
	}
	a, b := got[1], got[2]
	known := int(min(a.Src, a.Dst)) < set.NumNodes()
	if a.U != "a, b" || a.TS != "1e3" || a.Time != 1000 || a.Src != b.Src || a.Src == a.Dst || known {
		t.Errorf("strangers: %+v, %+v", a, b)
	}
	if qs := Of(got); len(qs) != 3 || qs[1] != a.Query {
		t.Errorf("queries %v", qs)
	}
}

func TestComplaints(t *testing.T) {
	k := NewReader(periodic(t))
	for text, want := range map[string]string{
		"":                           "standard input: found no column names",
		"u,i\n":                      "want one for the time, called for example ts or t, or named by the option Time",
		"u1,v1,5\n":                  "a table without header needs the option NoHeader",
		"u,i,ts\nu1,v1,NaN\n,v1,5\n": `standard input: line 2 (row 1), column ts: found "NaN"`,
		"u,i,ts\nu1,v1\n":            "found 2 columns; want 3",
		"\x1f\x8bno gzip at all\n":   "gzip",
		"{\"u\": \"u1\"}\n[]\n":      "want one for the destination",
		"u,i,ts\nu1,,x\nu1,v1\n": "in the unit of the data\nstandard input: line 3 (row 2): found 2 columns; " +
			"want 3",
		"u,i,ts\nu1,v1,\"5\n":         "quotes around whole fields",
		"u,i,ts\nu1,v1,2024-05-01\n ": "a finite number, in the unit of the data",
	} {
		_, err := ask(t, k, strings.NewReader(text), dataset.ImportOptions{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q gives %v, want %q", text, err, want)
		}
	}
	var bad *dataset.Problems
	if _, err := k.One("command line", "u1", "", "soon"); !errors.As(err, &bad) || bad.Total != 2 {
		t.Errorf("one query gives %v", err)
	}
}

// The same questions in every form that can be imported give the same queries, and bring their other columns along.
func TestForms(t *testing.T) {
	set := periodic(t)
	want, err := ask(t, NewReader(set), strings.NewReader("u,i,ts,note\nu1,v2,5,x\nu2,v3,7.5,\n"),
		dataset.ImportOptions{})
	if err != nil || len(want.Questions) != 2 {
		t.Fatal(want, err)
	}
	named := dataset.ImportOptions{Source: "who", Target: "what", Time: "when"}
	for _, tt := range []struct {
		name, text string
		o          dataset.ImportOptions
	}{
		{"semicolons", "u;i;ts;note\nu1;v2;5;x\nu2;v3;7.5;\n", dataset.ImportOptions{}},
		{"other names", "note\twhat\twhen\twho\nx\tv2\t5\tu1\n\tv3\t7.5\tu2\n", named},
		{"usual names", "customer,product,date,note\nu1,v2,5,x\nu2,v3,7.5,\n", dataset.ImportOptions{}},
		{"no header", "u1,v2,5,x\nu2,v3,7.5,\n",
			dataset.ImportOptions{NoHeader: true, Source: "1", Target: "2", Time: "3"}},
		{"JSON lines", `{"ts": 5, "u": "u1", "i": "v2"}` + "\n" + `{"u": "u2", "i": "v3", "ts": "7.5", "note": null}` +
			"\n", dataset.ImportOptions{}},
		{"quotes over lines", "u,i,ts,note\r\n\"u1\",v2,5,x\r\n\r\nu2,v3,7.5,\"\"\r\n", dataset.ImportOptions{}},
		{"u before src", "src,u,i,ts\nx,u1,v2,5\n,u2,v3,7.5\n", dataset.ImportOptions{}},
	} {
		got, err := ask(t, NewReader(set), strings.NewReader(tt.text), tt.o)
		if err != nil || len(got.Questions) != 2 || !slices.Equal(Of(got.Questions), Of(want.Questions)) ||
			len(got.Extra) != 1 {
			t.Errorf("%s: %+v, %v", tt.name, got, err)
			continue
		}
		if x := []string{got.Questions[0].Extra[0], got.Questions[1].Extra[0]}; tt.name != "JSON lines" &&
			!slices.Equal(x, []string{"x", ""}) {
			t.Errorf("%s: other values %q", tt.name, x)
		}
	}
}

// Whoever mixes up the two kinds of nodes is told, whether they have names of their own or share one set.
func TestSwapped(t *testing.T) {
	set := periodic(t)
	k := NewReader(set)
	var list []Question
	for _, text := range []string{"u1 v1", "v1 u1", "v2 u3", "nobody u1", "u1 u2"} {
		u, i, _ := strings.Cut(text, " ")
		q, err := k.One("here", u, i, "5")
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, q)
	}
	check := func(name string, got []Question) {
		t.Helper()
		if len(got) != 2 || got[0].U != "v1" || got[1].U != "v2" {
			t.Errorf("%s: %+v", name, got)
		}
	}
	check("apart", k.Swapped(list))
	shared := *set
	shared.Names = nil
	all := shared.Log.All()
	ids := list[:0:0]
	for i, q := range list { // by their ids
		for _, x := range []*event.Node{&q.Src, &q.Dst} {
			name := map[*event.Node]string{&q.Src: q.U, &q.Dst: q.I}[x]
			if id, ok := set.Names.Source(name); ok {
				*x = id
			} else if id, ok := set.Names.Target(name); ok {
				*x = id
			} else {
				*x = event.Node(set.NumNodes() + i)
			}
		}
		ids = append(ids, q)
	}
	check(fmt.Sprintf("together, of %d events", all.Len()), NewReader(&shared).Swapped(ids))
	shared.Bipartite = false
	if got := NewReader(&shared).Swapped(ids); got != nil {
		t.Errorf("one kind of nodes: %+v", got)
	}
}

// A list of candidates is one name a line, or a column of a table; a name that comes twice is one.
func TestCandidates(t *testing.T) {
	set := periodic(t)
	for _, text := range []string{"v2\nv1\nv2\n\nnew one\n", "\xef\xbb\xbfnote, i \nx,v2\n,v1\n\"\",new one\n",
		`{"i":"v2"}` + "\n" + `{"note":1,"i":"v1"}` + "\n" + `{"i":"new one"}`} {
		got, err := NewReader(set).Candidates(t.Context(), "-", strings.NewReader(text))
		if err != nil || len(got) != 3 || got[0].Name != "v2" || got[2].Name != "new one" {
			t.Fatalf("%q gives %v, %v", text, got, err)
		}
		if v1, _ := set.Names.Target("v1"); got[1].Node != v1 || int(got[2].Node) < set.NumNodes() {
			t.Errorf("%q gives %v", text, got)
		}
	}
	for text, want := range map[string]string{
		"":            "no names",
		"i\n":         "no names",
		"i,x\n,5\n":   `line 2 (row 1), column i: found ""`,
		"v1\nv1,v2\n": "line 2 (row 2): found 2 columns; want one name in each line",
	} {
		_, err := NewReader(set).Candidates(t.Context(), "-", strings.NewReader(text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q gives %v, want %q", text, err, want)
		}
	}
}

// Whoever asks whom a source meets needs no destination.
func TestOpenSources(t *testing.T) {
	k := NewReader(periodic(t))
	table, err := k.ReadSources(t.Context(), "-", strings.NewReader("ts,i,u\n5,no one,u1\n"), dataset.ImportOptions{})
	got := table.Questions
	if err != nil || len(got) != 1 || got[0].U != "u1" || got[0].Time != 5 || got[0].Dst != 0 ||
		!slices.Equal(table.Extra, []string{"i"}) {
		t.Errorf("got %+v, %v", table, err)
	}
	_, err = k.ReadSources(t.Context(), "-", strings.NewReader("u\nu1\n"), dataset.ImportOptions{})
	if err == nil || !strings.Contains(err.Error(), "want one for the time") {
		t.Errorf("without times: %v", err)
	}
}
