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

// labelled is a table with a label for each row.
func labelled(labels ...string) string {
	text := "u,i,ts,label\n"
	for i, label := range labels {
		text += fmt.Sprintf("%d,%d,%d,%s\n", 1+i%3, 4+i%2, i, label)
	}
	return text
}

// TestLabelWords: words are classes in the order of their names, numbers with gaps are classes in their order, and
// numbers without stay as they are.
func TestLabelWords(t *testing.T) {
	for name, c := range map[string]struct {
		file, text string
		classes    []string
		labels     []float32
	}{
		"words": {"a.csv", labelled("spam", "ham", "spam", "ok"),
			[]string{"ham", "ok", "spam"}, []float32{3, 1, 3, 2}},
		"words and gaps": {"a.csv", labelled("", "no", " yes "), []string{"no", "yes"}, []float32{0, 1, 2}},
		"numbers":        {"a.csv", labelled("0", "2", "true"), nil, []float32{0, 2, 1}},
		"numbers, gaps":  {"a.csv", labelled("10", "", "9", "false"), []string{"0", "9", "10"}, []float32{3, 0, 2, 1}},
		"nothing":        {"a.csv", labelled("", ""), nil, []float32{0, 0}},
		"members": {"a.jsonl", `{"u":1,"i":2,"ts":0,"label":"b"}` + "\n" + `{"u":1,"i":2,"ts":1}` + "\n" +
			`{"u":1,"i":2,"ts":2,"label":null}` + "\n" + `{"u":1,"i":2,"ts":3,"label":"a"}`, []string{"a", "b"},
			[]float32{2, 0, 0, 1}},
		"members that are numbers": {"a.jsonl", `{"u":1,"i":2,"ts":0,"label":2}` + "\n" + `{"u":1,"i":2,"ts":1}`, nil,
			[]float32{2, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			s, _, err := imported(t, c.file, c.text, Options{})
			if err != nil {
				t.Fatal(err)
			}
			var got []float32
			for i := range s.Log.Len() {
				got = append(got, s.Log.At(i).Label)
			}
			if !slices.Equal(s.Classes, c.classes) || !slices.Equal(got, c.labels) {
				t.Errorf("classes %q, labels %v, want %q and %v", s.Classes, got, c.classes, c.labels)
			}
		})
	}
}

// TestLabelAndValueProblems: what cannot be a label or a value is told with its row and column.
func TestLabelAndValueProblems(t *testing.T) {
	many := make([]string, data.MaxClasses+2)
	for i := range many {
		many[i] = fmt.Sprintf("word%d", i)
	}
	valued := func(cells ...string) string {
		return strings.Replace(labelled(cells...), "label", "price", 1)
	}
	long := strings.Repeat("x", data.MaxClassName+1)
	for name, c := range map[string]struct {
		text string
		o    Options
		want string
	}{
		"a word among numbers": {labelled("1", "0", "spam"), Options{},
			`line 4 (row 3), column label: found "spam"; want a number, as in the rows before`},
		"a number among words": {labelled("ham", "spam", "", "3"), Options{},
			`line 5 (row 4), column label: found "3"; want a word, as in the rows before`},
		"not a number": {labelled("ham", "NaN"), Options{},
			`line 3 (row 2), column label: found "NaN"; want ` + wantLabel},
		"infinite": {labelled("1", "-inf"), Options{},
			`line 3 (row 2), column label: found "-inf"; want ` + wantLabel},
		"too long": {labelled("a", long), Options{}, "line 3 (row 2), column label: found "},
		"too many": {labelled(many...), Options{},
			`line 1002 (row 1001), column label: found "more than 1000 different labels"`},
		"a missing value": {valued("1", ""), Options{Value: "price"},
			`line 3 (row 2), column price: found ""; want ` + wantValue},
		"a value NA": {valued("1", "NA"), Options{Value: "price"},
			`line 3 (row 2), column price: found "NA"; want ` + wantValue},
		"a value NaN": {valued("NaN", "1"), Options{Value: "price"},
			`line 2 (row 1), column price: found "NaN"; want ` + wantValue},
		"a word as value": {valued("1", "ten"), Options{Value: "price"},
			`line 3 (row 2), column price: found "ten"; want ` + wantValue},
		"too large": {valued("1", "1e200"), Options{Value: "price"},
			`line 3 (row 2), column price: found "1e200"; want ` + wantValue},
		"no such column": {valued("1"), Options{Value: "prize"}, "found no column prize"},
		"the time": {valued("1"), Options{Value: "ts"},
			"column ts: found a column that means something else"},
		"another encoding": {valued("1"), Options{Value: "price", Features: []string{"price:category"}},
			`column price: found kind "category"`},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := imported(t, "a.csv", c.text, c.o)
			if err == nil || !strings.Contains(strings.ReplaceAll(err.Error(), `found more`, `found "more`),
				strings.TrimSuffix(c.want, `"`)) || strings.Count(err.Error(), "found") > 3 {
				t.Errorf("%v, want %s", err, c.want)
			}
		})
	}
}

// TestValues: values are kept exactly, by edge, and are features too; rows that come later go on.
func TestValues(t *testing.T) {
	dir := t.TempDir()
	first, later, out := filepath.Join(dir, "a.csv"), filepath.Join(dir, "b.csv"), filepath.Join(dir, "a.dgm")
	os.WriteFile(first, []byte("u,i,ts,price,label\n1,2,5,0.1,b\n1,3,4,123456789.25,a\n2,3,6,-7,\n"), 0o644)
	os.WriteFile(later, []byte("u,i,ts,price,label\n1,2,7,1e9,a\n1,2,8,3,c\n"), 0o644)
	report, err := Import(t.Context(), []string{first}, out, Options{Value: "price"})
	if err != nil || report.EdgeFeatures != 1 {
		t.Fatal(report, err)
	}
	if _, err := Append(t.Context(), out, []string{later}, AppendOptions{}); err != nil {
		t.Fatal(err)
	}
	s := open(t, out)
	if want := []float64{0, 0.1, 123456789.25, -7, 1e9, 3}; !slices.Equal(s.Values, want) {
		t.Errorf("values %v, want %v", s.Values, want)
	}
	if s.ValueColumn() != "price" || s.Recipe.Edge.Columns[0].Name != "price" ||
		!slices.Equal(s.Classes, []string{"a", "b", "c"}) {
		t.Errorf("value %q, columns %+v, classes %q", s.ValueColumn(), s.Recipe.Edge.Columns[0], s.Classes)
	}
	if x := s.Log.At(0); x.Time != 4 || s.Values[x.Edge] != 123456789.25 {
		t.Errorf("the first event is %+v", x)
	}
	part := data.Without(s, func(i int) bool { return s.Log.At(i).Time == 5 }, nil)
	if want := []float64{0, 123456789.25, -7, 1e9, 3}; !slices.Equal(part.Values, want) {
		t.Errorf("without one event values are %v, want %v", part.Values, want)
	}
	os.WriteFile(later, []byte("u,i,ts,price,label\n1,2,9,,a\n"), 0o644)
	if _, err := Append(t.Context(), out, []string{later}, AppendOptions{}); err == nil ||
		!strings.Contains(err.Error(), "row 1), column price") {
		t.Errorf("an appended row without a value: %v", err)
	}
}
