package table

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/dygmamba/dygmamba/dataset/internal/data"
)

const bought = "who,what,when,how,price\nann,tea,3,viewed,1\nbob,tea,1,viewed,2\nann,milk,2,bought,3\n"

func kindsOf(s *data.Set) (list []string) {
	for i := range s.Log.Len() {
		list = append(list, s.KindName(s.Log.At(i).Kind))
	}
	return list
}

// TestImportKinds: a column of kinds becomes a part of the events, in CSV and in JSONL, and sorts with them.
func TestImportKinds(t *testing.T) {
	for name, text := range map[string]string{"a.csv": bought,
		"a.jsonl": `{"who":"ann","what":"tea","when":3,"how":"viewed"}` + "\n" +
			`{"who":"bob","what":"tea","when":1,"how":"viewed"}` + "\n" +
			`{"who":"ann","what":"milk","when":2,"how":"bought"}` + "\n"} {
		s, r, err := imported(t, name, text, Options{Kind: "how"})
		if err != nil {
			t.Fatal(err)
		}
		if got := kindsOf(s); !slices.Equal(got, []string{"viewed", "bought", "viewed"}) {
			t.Errorf("%s: kinds %q", name, got)
		}
		if want := []string{"viewed", "bought"}; !slices.Equal(s.Kinds, want) || !slices.Equal(r.Kinds, want) ||
			r.Columns.Kind != "how" || s.Recipe.Kind != "how" || slices.Contains(r.Columns.Ignored, "how") {
			t.Errorf("%s: %q, %q, %+v", name, s.Kinds, r.Kinds, r.Columns)
		}
		without, _, err := imported(t, name, text, Options{})
		if err != nil || without.Hash() == s.Hash() || without.Log.All().HasKinds() {
			t.Errorf("%s: the hash does not tell kinds, or there are some without a column: %v", name, err)
		}
	}
	if _, r, err := imported(t, "a.csv", bought, Options{ID: "how"}); err == nil || r != nil {
		t.Errorf("ids that occur twice: %+v, %v", r, err)
	}
	_, r, err := imported(t, "a.csv", "u,i,ts,order,note\na,b,1,o1,x\n", Options{ID: "order"})
	if err != nil || !slices.Equal(r.Columns.Ignored, []string{"note"}) {
		t.Errorf("%v: ignored are %q, want note alone", err, r.Columns.Ignored)
	}
	for text, says := range map[string]string{
		"u,i,ts,r\na,b,1,\n":                      `(row 1), column r: found ""; want the kind of the event`,
		"u,i,ts,r\na,b,1,\xff\n":                  "a kind of at most 200 bytes",
		"u,i,ts,s\na,b,1,x\n":                     "no column r",
		"u,i,ts,r\n" + manyKinds(data.MaxKinds+1): "more than 1000 different kinds",
	} {
		_, _, err := imported(t, "b.csv", text, Options{Kind: "r"})
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%.40q: %v, want %s", text, err, says)
		}
	}
	if _, _, err := imported(t, "b.csv", bought, Options{Kind: "who"}); err == nil ||
		!strings.Contains(err.Error(), "a column of its own for the kind") {
		t.Error(err)
	}
}

func manyKinds(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "a,b,%d,kind %d\n", i, i)
	}
	return b.String()
}

// TestImportKindOfFile: each file holds one kind.
func TestImportKindOfFile(t *testing.T) {
	dir := t.TempDir()
	var files []string
	for i, name := range []string{"asked.txt", "answered.txt"} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, fmt.Appendf(nil, "1 2 %d\n2 1 %d\n", 5-i, 7+i), 0o644); err != nil {
			t.Fatal(err)
		}
		files = append(files, path)
	}
	out := filepath.Join(dir, "x.dgm")
	if _, err := Import(t.Context(), files, out, Options{KindOfFile: true, NoHeader: true}); err != nil {
		t.Fatal(err)
	}
	s := open(t, out)
	if got := kindsOf(s); !slices.Equal(got, []string{"answered", "asked", "asked", "answered"}) {
		t.Errorf("kinds %q", got)
	}
	if err := os.WriteFile(filepath.Join(dir, "asked.csv"), []byte("5 6 9\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Append(t.Context(), out, []string{filepath.Join(dir, "asked.csv")}, AppendOptions{}); err != nil {
		t.Fatal(err)
	}
	if got := kindsOf(open(t, out)); got[4] != "asked" {
		t.Errorf("appended %q", got)
	}
}

// TestAppendKinds: kinds keep their numbers, new ones are told.
func TestAppendKinds(t *testing.T) {
	more := "who,what,when,how,price\nbob,milk,4,returned,1\nbob,tea,0,bought,1\n"
	_, s, r, err := grown(t, bought, more, Options{Kind: "how"}, AppendOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got := kindsOf(s); !slices.Equal(got, []string{"bought", "viewed", "bought", "viewed", "returned"}) ||
		!slices.Equal(s.Kinds, []string{"viewed", "bought", "returned"}) {
		t.Errorf("kinds %q of %q", got, s.Kinds)
	}
	if !slices.ContainsFunc(r.Warnings, func(w string) bool { return strings.Contains(w, "new: returned") }) {
		t.Errorf("warnings %q", r.Warnings)
	}
	_, _, _, err = grown(t, bought, "who,what,when\nbob,milk,4\n", Options{Kind: "how"}, AppendOptions{})
	if err == nil || !strings.Contains(err.Error(), "no column how") {
		t.Errorf("a file without the column: %v", err)
	}
}
