package feature

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"
)

// read reads cells of a column and fits it on the first this many rows.
func read(t *testing.T, kind string, train, categories int, cells ...string) (*Reader, *Column) {
	t.Helper()
	r := NewReader("x", kind, []string{"unknown"})
	for i, cell := range cells {
		if !r.Add([]byte(cell)) {
			t.Fatalf("row %d: %q is not of kind %s", i, cell, r.kind)
		}
	}
	c := r.Fit(func(row int) bool { return row < train }, categories)
	if err := c.Check(); err != nil {
		t.Error(err)
	}
	return r, c
}

func encode(c *Column, cell string) ([]float32, bool) {
	out := make([]float32, c.Width())
	ok := c.Encode([]byte(cell), out)
	return out, ok
}

// TestKinds: the kind of a column is seen from its values, whatever is missing among them.
func TestKinds(t *testing.T) {
	for want, cells := range map[string][]string{
		Number:   {"1", "", " 2.5 ", "NA", "unknown", "-3e2"},
		Date:     {"2024-05-01", "null", "2024-05-01T10:00:00Z"},
		Category: {"1", "2", "x"},
	} {
		if _, c := read(t, "", 10, 8, cells...); c.Kind != want {
			t.Errorf("%q are of kind %s, want %s", cells, c.Kind, want)
		}
	}
	if _, c := read(t, "", 10, 8, "2024-05-01", "7"); c.Kind != Category {
		t.Errorf("dates and numbers are of kind %s", c.Kind)
	}
	if _, c := read(t, "", 10, 8, "", "NA"); c.Kind != Category || len(c.Values) != 2 {
		t.Errorf("nothing at all gives %+v", c)
	}
	if _, c := read(t, Category, 10, 8, "1", "2"); c.Kind != Category || c.Width() != 2 {
		t.Errorf("numbers as words give %+v", c)
	}
	r := NewReader("x", "", nil)
	for range early {
		r.Add([]byte("1"))
	}
	if r.Add([]byte("seven")) || !strings.Contains(r.Want(), "a finite number, as in the rows before") {
		t.Errorf("a word among numbers; want %s", r.Want())
	}
	if !r.Add([]byte("n/a")) || r.Add([]byte("Inf")) {
		t.Error("nothing is no number, or infinity is one")
	}
}

// TestNumbers: scaled by what the training part has, filled where missing, and never far out.
func TestNumbers(t *testing.T) {
	r, c := read(t, "", 4, 8, "1", "3", "", "5", "1000", "")
	if c.Mean != 3 || math.Abs(c.Deviation-math.Sqrt(8.0/3)) > 1e-15 || !c.Missing || c.Width() != 2 {
		t.Fatalf("fitted %+v", c)
	}
	for cell, want := range map[string][]float32{
		"3": {0, 0}, "": {0, 1}, " nan ": {0, 1}, "unknown": {0, 1}, "1000": {10, 0}, "-1e300": {-10,
			0}, "5": {float32(2 / c.Deviation), 0},
	} {
		if got, ok := encode(c, cell); !ok || !slices.Equal(got, want) {
			t.Errorf("%q is %v (%v), want %v", cell, got, ok, want)
		}
	}
	if _, ok := encode(c, "five"); ok {
		t.Error("five is a number")
	}
	out := make([]float32, 2)
	if r.Encode(c, 4, out); out[0] != 10 {
		t.Errorf("row 4 is %v", out)
	}
	if got := c.Titles(); !slices.Equal(got, []string{"x", "x_missing"}) {
		t.Errorf("titles %q", got)
	}
	if _, c := read(t, "", 9, 8, "7", "7"); c.Deviation != 1 || c.Missing || c.Width() != 1 {
		t.Errorf("a constant column gives %+v", c)
	}
	if _, c := read(t, "", 0, 8, "7", "9"); c.Deviation != 1 || c.Mean != 0 {
		t.Errorf("nothing to fit on gives %+v", c)
	}
}

// TestCategories: one feature for each value of the training part, the most frequent first; later ones have none.
func TestCategories(t *testing.T) {
	_, c := read(t, "", 6, 3, "tea", "milk", " tea", "", "tea", "milk", "cocoa")
	if !slices.Equal(c.Values, []string{"tea", "milk", ""}) || c.Width() != 3 || c.Seen != 3 {
		t.Fatalf("fitted %+v", c)
	}
	for cell, want := range map[string][]float32{"tea": {1, 0, 0}, "": {0, 0, 1}, "cocoa": {0, 0, 0}} {
		if got, ok := encode(c, cell); !ok || !slices.Equal(got, want) {
			t.Errorf("%q is %v, want %v", cell, got, want)
		}
	}
	if got := c.About(); got != "one for each value: tea, milk, (missing)" {
		t.Error(got)
	}
	if _, c := read(t, Category, 9, 3, "\xff\xfe", "a"); c.Values[1] != "\ufffd" {
		t.Errorf("what is no text is kept as %q", c.Values)
	}
}

// TestHashed: where there are too many values each takes two of the features, and hardly any two look the same.
func TestHashed(t *testing.T) {
	var cells []string
	for i := range 300 {
		cells = append(cells, "value "+strings.Repeat("x", i))
	}
	_, c := read(t, "", 300, 32, cells...)
	if c.Hashed != 32 || c.Seen != 300 || c.Values != nil || c.Width() != 32 {
		t.Fatalf("fitted %+v", c)
	}
	seen := map[string]bool{}
	for _, cell := range append(cells, "new") {
		got, _ := encode(c, cell)
		set := 0
		for _, x := range got {
			if x == 1 || x == -1 {
				set++
			} else if x != 0 {
				t.Fatalf("%q has %v", cell, got)
			}
		}
		if set != 2 {
			t.Errorf("%q sets %d features", cell, set)
		}
		raw, _ := json.Marshal(got)
		seen[string(raw)] = true
	}
	if len(seen) < 270 {
		t.Errorf("301 values look like %d", len(seen))
	}
	if got, _ := encode(c, ""); slices.ContainsFunc(got, func(x float32) bool { return x != 0 }) {
		t.Errorf("nothing is %v", got)
	}
	espresso, _ := encode(c, "espresso") // files that were written keep what this means
	if espresso[3] != -1 || espresso[13] != 1 {
		t.Errorf("espresso is %v", espresso)
	}
}

// TestDates: taken apart into day, week and year, and how late it is.
func TestDates(t *testing.T) {
	_, c := read(t, "", 9, 8, "2024-05-06T06:00:00Z", "2024-05-08T18:00:00Z") // a Monday and a Wednesday
	want := []string{"x", "x_hour_sin", "x_hour_cos", "x_weekday_sin", "x_weekday_cos", "x_season_sin", "x_season_cos"}
	if got := c.Titles(); !slices.Equal(got, want) || c.Width() != len(want) {
		t.Fatalf("titles %q", got)
	}
	got, ok := encode(c, "2024-05-06T06:00:00Z")
	near := func(i int, want float64) {
		t.Helper()
		if math.Abs(float64(got[i])-want) > 1e-6 {
			t.Errorf("%s is %v, want %v", c.Titles()[i], got[i], want)
		}
	}
	near(0, -1)
	near(1, 1) // a quarter of the day
	near(2, 0)
	near(3, 0) // the beginning of the week
	near(4, 1)
	near(5, math.Sin(2*math.Pi*126/366))
	if !ok {
		t.Error("is no date")
	}
	if got, _ = encode(c, "1969-12-29T00:00:00Z"); got[3] != 0 || got[4] != 1 || got[1] != 0 || got[0] != -10 {
		t.Errorf("a Monday long ago is %v", got)
	}
	if _, c := read(t, "", 9, 8, "2024-05-01", "2024-05-02", ""); c.Clock || c.Width() != 6 ||
		c.Titles()[5] != "x_missing" {
		t.Errorf("dates without times give %v", c.Titles())
	}
	if !strings.Contains(c.About(), "hour, weekday, season, and how late: mean 2024-05-07, deviation 1.25 days") {
		t.Error(c.About())
	}
}

// TestKept: a column that was kept as JSON encodes as it did.
func TestKept(t *testing.T) {
	for _, cells := range [][]string{{"1", "", "2.7", "unknown"}, {"a", "b", "a", ""},
		{"2024-05-01", "2023-01-01T12:00:00Z"}} {
		_, c := read(t, "", 9, 8, cells...)
		raw, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		var kept Column
		if err := json.Unmarshal(raw, &kept); err != nil || kept.Check() != nil {
			t.Fatal(err, kept.Check())
		}
		for _, cell := range append(cells, "3", "c", "2025-05-05") {
			want, ok := encode(c, cell)
			got, still := encode(&kept, cell)
			if !slices.Equal(got, want) || ok != still {
				t.Errorf("%q is %v, was %v", cell, got, want)
			}
		}
	}
	for _, bad := range []Column{{}, {Name: "x", Kind: Number}, {Kind: Number, Deviation: 1},
		{Name: "x", Kind: Category, Hashed: 1},
		{Name: "x", Kind: Date, Deviation: math.Inf(1)},
		{Name: "x", Kind: Category, Hashed: 1 << 30}} {
		if bad.Check() == nil {
			t.Errorf("%+v is accepted", bad)
		}
	}
}

// TestNoNegativeZero: a number just below the mean is 0, as it is when it was written and read again.
func TestNoNegativeZero(t *testing.T) {
	c := Column{Kind: Number, Mean: 1.5e-207, Deviation: 1}
	out := make([]float32, c.Width())
	if c.Encode([]byte("-5e-216"), out); math.Signbit(float64(out[0])) {
		t.Errorf("the encoded number is %v, want 0", out[0])
	}
}
