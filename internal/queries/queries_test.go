package queries

import (
	"bytes"
	"compress/gzip"
	"errors"
	"strings"
	"testing"

	"github.com/dygmamba/dygmamba/dataset"
)

func periodic(t *testing.T) *dataset.Set {
	t.Helper()
	set, err := dataset.Periodic(dataset.PeriodicOptions{Sources: 3, Targets: 3, Events: 100})
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// Columns come in any order, with others among them, behind a byte order mark and compressed; a stranger is one node
// wherever it is asked about.
func TestOpen(t *testing.T) {
	set := periodic(t)
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	z.Write([]byte("\xef\xbb\xbfnote,ts, i ,u\n1,5,v2,u1\n,1e3,stranger,\"a, b\"\n,7,v1,\"a, b\"\n"))
	z.Close()
	got, err := NewAsker(set).Open("-", &packed)
	if err != nil {
		t.Fatal(err)
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
	ask := NewAsker(periodic(t))
	for text, want := range map[string]string{
		"":                            "standard input: found nothing",
		"u,i\n":                       "column ts: found only the columns",
		"u,i,ts\nu1,v1,NaN\n,v1,5\n":  `standard input: line 2 (row 1), column ts: found "NaN"`,
		"u,i,ts\nu1,v1\n":             "found 2 columns; want 3",
		"\x1f\x8bno gzip at all\n":    "a broken gzip file",
		"u,i,ts\nu1,v1,\"5\n":         "quotes around whole fields",
		"u,i,ts\nu1,v1,2024-05-01\n ": "a finite number, in the unit of the data",
	} {
		_, err := ask.Open("-", strings.NewReader(text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q gives %v, want %q", text, err, want)
		}
	}
	var bad *dataset.Problems
	if _, err := ask.One("command line", "u1", "", "soon"); !errors.As(err, &bad) || bad.Total != 2 {
		t.Errorf("one query gives %v", err)
	}
}

// A list of candidates is one name a line, or a column of a table; a name that comes twice is one.
func TestCandidates(t *testing.T) {
	set := periodic(t)
	for _, text := range []string{"v2\nv1\nv2\n\nnew one\n", "\xef\xbb\xbfnote, i \nx,v2\n,v1\n\"\",new one\n"} {
		got, err := NewAsker(set).Candidates("-", strings.NewReader(text))
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
		_, err := NewAsker(set).Candidates("-", strings.NewReader(text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q gives %v, want %q", text, err, want)
		}
	}
}

// Whoever asks whom a source meets needs no destination.
func TestOpenSources(t *testing.T) {
	got, err := NewAsker(periodic(t)).OpenSources("-", strings.NewReader("ts,i,u\n5,no one,u1\n"))
	if err != nil || len(got) != 1 || got[0].U != "u1" || got[0].Time != 5 || got[0].Dst != 0 {
		t.Errorf("got %+v, %v", got, err)
	}
	_, err = NewAsker(periodic(t)).OpenSources("-", strings.NewReader("u\nu1\n"))
	if err == nil || !strings.Contains(err.Error(), "want the columns u and ts") {
		t.Errorf("without times: %v", err)
	}
}
