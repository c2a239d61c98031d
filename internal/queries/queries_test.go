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
