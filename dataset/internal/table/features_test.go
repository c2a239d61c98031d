package table

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"

	"github.com/dygmamba/dygmamba/dataset/internal/feature"
	"github.com/dygmamba/dygmamba/dataset/internal/input/inputtest"
	"github.com/dygmamba/dygmamba/dataset/internal/native"
)

// visits has ten events; seven are for training. What comes after them must not be seen by what is fitted.
const visits = `who,what,when,kind,price,born,note
ann,tea,2024-05-01,hot,1,1990-01-01,x
bob,tea,2024-05-02,hot,2,NA,
ann,ice,2024-05-03,cold,3,1991-01-01,x
bob,ice,2024-05-04,cold,,1992-01-01,x
ann,tea,2024-05-05,hot,4,1993-01-01,x
bob,tea,2024-05-06,hot,5,1994-01-01,x
ann,ice,2024-05-07,cold,6,1995-01-01,x
bob,soup,2024-05-08,warm,7000,2020-01-01,x
ann,soup,2024-05-09,warm,8000,2021-01-01,x
bob,soup,2024-05-10,warm,9000,2022-01-01,x
`

func TestImportFeatures(t *testing.T) {
	o := Options{Source: "who", Target: "what", Time: "when", Features: []string{"price", "kind", "born"}}
	s, r, err := imported(t, "visits.csv", visits, o)
	if err != nil {
		t.Fatal(err)
	}
	if *r.Recipe.FittedUntil != s.Log.At(6).Time+0.3*86400 {
		t.Errorf("fitted until %v", *r.Recipe.FittedUntil)
	}
	price, kind := s.Recipe.Edge.Columns[0], s.Recipe.Edge.Columns[1]
	if price.Kind != feature.Number || price.Mean != 3.5 || !price.Missing {
		t.Errorf("price is %+v", price)
	}
	if kind.Kind != feature.Category || !slices.Equal(kind.Values, []string{"hot", "cold"}) {
		t.Errorf("kind is %+v", kind)
	}
	titles := []string{"price", "price_missing", "kind=hot", "kind=cold", "born", "born_weekday_sin",
		"born_weekday_cos", "born_season_sin",
		"born_season_cos", "born_missing"}
	if diff := cmp.Diff(titles, s.Recipe.Edge.Titles()); diff != "" || s.Edge.Cols != len(titles) ||
		r.EdgeFeatures != len(titles) {
		t.Errorf("%d features, titles (-want +got):\n%s", s.Edge.Cols, diff)
	}
	if got := s.Edge.Row(4)[:4]; !slices.Equal(got, []float32{0, 1, 0, 1}) {
		t.Errorf("row 4 begins with %v", got)
	}
	if got := s.Edge.Row(8)[:4]; !slices.Equal(got, []float32{10, 0, 0, 0}) {
		t.Errorf("row 8, whose kind is new, begins with %v", got)
	}
	if got := s.Edge.Row(0); slices.ContainsFunc(got, func(x float32) bool { return x != 0 }) {
		t.Errorf("padding is %v", got)
	}
	if diff := cmp.Diff([]string{"note"}, r.Columns.Ignored); diff != "" {
		t.Error(diff)
	}
	if s.Recipe.Source != "who" || s.Recipe.Target != "what" || s.Recipe.Time != "when" {
		t.Errorf("recipe %+v", s.Recipe)
	}
}

// The order of rows, plain features beside encoded ones, and other formats change nothing.
func TestImportFeaturesElsewhere(t *testing.T) {
	o := Options{Source: "who", Target: "what", Time: "when", EdgeFeatures: []string{"n"},
		Features: []string{"price", "kind"}}
	lines := strings.Split(strings.TrimSpace(visits), "\n")
	lines[0] += ",n"
	for i := range lines[1:] {
		lines[i+1] += fmt.Sprintf(",%d", i+1)
	}
	want, _, err := imported(t, "visits.csv", strings.Join(lines, "\n"), o)
	if err != nil {
		t.Fatal(err)
	}
	if got := want.Edge.Row(8); !slices.Equal(got, []float32{8, 10, 0, 0, 0}) {
		t.Errorf("row 8 is %v", got)
	}
	slices.Reverse(lines[1:])
	got, _, err := imported(t, "visits.csv", strings.Join(lines, "\n"), o)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 10 {
		a, b := want.Log.At(i), got.Log.At(i)
		if !slices.Equal(want.Edge.Row(int(a.Edge)), got.Edge.Row(int(b.Edge))) || a.Edge == b.Edge && i != 5 {
			t.Errorf("event %d has %v, backwards %v", i, want.Edge.Row(int(a.Edge)), got.Edge.Row(int(b.Edge)))
		}
	}
	slices.Reverse(lines[1:])
	var objects []string
	for _, line := range lines[1:] {
		f := strings.Split(line, ",")
		price := f[4]
		if price == "" {
			price = "null"
		}
		objects = append(objects, fmt.Sprintf(`{"who":%q,"what":%q,"when":%q,"kind":%q,"price":%s,"n":%s}`, f[0], f[1],
			f[2], f[3], price, f[7]))
	}
	got, _, err = imported(t, "visits.jsonl", strings.Join(objects, "\n"), o)
	if err != nil || got.Hash() != want.Hash() {
		t.Errorf("JSON lines give another set (%v)", err)
	}
}

func TestImportFeaturesParquet(t *testing.T) {
	type visit struct {
		Who   string  `parquet:"who"`
		What  int64   `parquet:"what"`
		When  float64 `parquet:"when"`
		Kind  *string `parquet:"kind,optional"`
		Price *int32  `parquet:"price,optional"`
		Vip   bool    `parquet:"vip"`
		Born  int32   `parquet:"born,date"`
	}
	hot, five := "hot", int32(5)
	path := filepath.Join(t.TempDir(), "x.parquet")
	rows := []visit{{"a", 1, 1, &hot, &five, true, 0}, {"b", 2, 2, nil, nil, false, 1},
		{"a", 2, 3, &hot, &five, false, 2}}
	if err := parquet.WriteFile(path, rows); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "out.dgm")
	o := Options{Source: "who", Target: "what", Time: "when", Features: []string{"kind", "price", "vip", "born"}}
	if _, err := Import(t.Context(), []string{path}, out, o); err != nil {
		t.Fatal(err)
	}
	s, err := native.Open(out)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var kinds []string
	for _, c := range s.Recipe.Edge.Columns {
		kinds = append(kinds, c.Kind)
	}
	if diff := cmp.Diff([]string{feature.Category, feature.Number, feature.Category, feature.Date}, kinds); diff != "" {
		t.Fatal(diff)
	}
	want := []string{"kind=", "kind=hot", "price", "price_missing", "vip=false", "vip=true"}
	if diff := cmp.Diff(want, s.Recipe.Edge.Titles()[:6]); diff != "" {
		t.Error(diff)
	}
	if got := s.Edge.Row(2)[:6]; !slices.Equal(got, []float32{1, 0, 0, 1, 1, 0}) {
		t.Errorf("row 2 is %v", got)
	}
}

func TestImportFeaturesProblems(t *testing.T) {
	o := Options{Source: "who", Target: "what", Time: "when"}
	long := "who,what,when,price\n" + strings.Repeat("a,b,1,5\n", 1000) + "a,b,1,dear\na,b,1,\n"
	for _, c := range []struct {
		text     string
		features []string
		want     string
	}{
		{visits, []string{"prize"}, "found no column prize; want one of its columns: who, what, when, kind, price"},
		{visits, []string{"price:money"},
			`column price: found kind "money" in the option Features; want number, category, date`},
		{visits, []string{"price", "price:category"},
			"column price: found it twice in the option Features; want every column once"},
		{visits, []string{""}, "found a column without a name in the option Features; want one of its columns: who"},
		{visits, []string{"kind:number"}, `line 2 (row 1), column kind: found "hot"; want a finite number`},
		{long, []string{"price"},
			`line 1002 (row 1001), column price: found "dear"; want a finite number, as in the rows before`},
		{"who,what,when\na,b,1\n", []string{"all"},
			"found the columns who, what, when; want others, to encode as features"},
		{`{"who":1,"what":2,"when":3,"f":[1]}`, []string{"f"}, `column f: found "[1]"; want a single value`},
	} {
		o.Features = c.features
		if _, _, err := imported(t, "x.csv", c.text, o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %q", c.features, err, c.want)
		}
	}
	dir := inputtest.Write(t, map[string]string{"a.csv": "u,v,t,x\n1,2,3,4\n", "b.csv": "u,v,t,z\n1,2,3,4\n"})
	files := []string{filepath.Join(dir, "a.csv"), filepath.Join(dir, "b.csv")}
	_, err := Import(t.Context(), files, "", Options{Features: []string{"all"}})
	if err == nil || !strings.Contains(err.Error(),
		"b.csv, column x: found no such feature; want the columns of the first file") {
		t.Errorf("another column in the second file: %v", err)
	}
}

// All columns that are left, numbers as categories, and words for what is missing.
func TestImportAllFeatures(t *testing.T) {
	text := "u,v,t,a,b\n1,2,3,?,7\n1,3,4,-999,8\n1,2,5,2,7\n"
	s, r, err := imported(t, "x.csv", text, Options{Features: []string{"all"}, Missing: []string{"-999"}})
	if err != nil || len(r.Columns.Ignored) != 0 {
		t.Fatal(r, err)
	}
	if got := s.Recipe.Edge.Titles(); !slices.Equal(got, []string{"a", "a_missing", "b"}) {
		t.Errorf("titles %q", got)
	}
	s, _, err = imported(t, "x.csv", text, Options{Features: []string{"b:category"}, Categories: 2})
	if err != nil || !slices.Equal(s.Recipe.Edge.Titles(), []string{"b=7", "b=8"}) {
		t.Errorf("titles %q, %v", s.Recipe.Edge.Titles(), err)
	}
	var rows strings.Builder
	rows.WriteString("u,v,t,c\n")
	for i := range 100 {
		fmt.Fprintf(&rows, "1,2,%d,word%d\n", i, i)
	}
	s, _, err = imported(t, "x.csv", rows.String(), Options{Features: []string{"c"}})
	if err != nil || s.Edge.Cols != DefaultCategories || s.Recipe.Edge.Columns[0].Seen != 70 {
		t.Errorf("%d features of 100 words, %+v (%v)", s.Edge.Cols, s.Recipe.Edge.Columns[0], err)
	}
	if _, r, err := imported(t, "x.csv", "u,v,t,c\n1,2,3,x\n1,2,4,x\n", Options{Features: []string{"c"}}); err != nil ||
		len(r.Warnings) != 1 {
		t.Errorf("a column that says nothing: %v, %v", r, err)
	}
}

// Attributes of nodes are fitted on the nodes of the training part.
func TestImportNodeAttributes(t *testing.T) {
	nodes := "name,side,city,age\nann,source,Rome,30\nbob,source,Oslo,\n" +
		"tea,destination,,\nsoup,destination,Paris,99\nzoe,source,Rome,1\n"
	dir := inputtest.Write(t, map[string]string{"e.csv": visits, "n.csv": nodes})
	out := filepath.Join(dir, "out.dgm")
	o := Options{Source: "who", Target: "what", Time: "when", Bipartite: true, NodeFile: filepath.Join(dir, "n.csv"),
		NodeFeatures: []string{"city", "age"}}
	r, err := Import(t.Context(), []string{filepath.Join(dir, "e.csv")}, out, o)
	if err != nil {
		t.Fatal(err)
	}
	s, err := native.Open(out)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	want := []string{"city=", "city=Oslo", "city=Rome", "age", "age_missing"}
	if diff := cmp.Diff(want, s.Recipe.Node.Titles()); diff != "" || r.NodeFeatures != len(want) {
		t.Errorf("%d features (-want +got):\n%s", r.NodeFeatures, diff)
	}
	row := func(name string, source bool) []float32 {
		find := s.Names.Target
		if source {
			find = s.Names.Source
		}
		id, ok := find(name)
		if !ok {
			t.Fatal(name)
		}
		return s.Node.Row(int(id))
	}
	for name, want := range map[string][]float32{"ann": {0, 0, 1, 0, 0}, "bob": {0, 1, 0, 0, 1}} {
		if got := row(name, true); !slices.Equal(got, want) {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	for name, want := range map[string][]float32{"tea": {1, 0, 0, 0, 1}, "soup": {0, 0, 0, 10, 0},
		"ice": {0, 0, 0, 0, 0}} {
		if got := row(name, false); !slices.Equal(got, want) {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	if r.UnknownNodeIDs != 1 || r.NodesWithout != 1 || s.Recipe.NodeID != "name" || s.Recipe.NodeSide != "side" {
		t.Errorf("%+v, recipe %+v", r, s.Recipe)
	}
}
