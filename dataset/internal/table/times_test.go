package table

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/dygmamba/dygmamba/dataset/internal/data"
	"github.com/dygmamba/dygmamba/dataset/internal/input"
	"github.com/dygmamba/dygmamba/dataset/internal/input/inputtest"
)

// Units of Unix times are recognised by their size, kept in the file, and can be named.
func TestTimeUnits(t *testing.T) {
	for _, c := range []struct {
		times      [2]string
		unit, want string // asked for, found
		shown      string // the first
		asked      string // a date, and
		at         float64
	}{
		{[2]string{"1402012800", "1402012900"}, "", "s", "2014-06-06T00:00:00Z", "2014-06-06", 1402012800},
		{[2]string{"1402012800000", "1402012900000"}, "", "ms", "2014-06-06T00:00:00Z", "2014-06-06", 1402012800000},
		{[2]string{"1402012800000000", "1402012900000000"}, "", "us", "2014-06-06T00:00:00Z", "2014-06-06",
			1402012800000000},
		{[2]string{"0", "86400"}, "", "", "0", "7", 7},
		{[2]string{"0", "86400"}, "s", "s", "1970-01-01T00:00:00Z", "1970-01-02", 86400},
		{[2]string{"2014-06-06", "2014-06-07"}, "", "s", "2014-06-06T00:00:00Z", "2014-06-06", 1402012800},
	} {
		text := "u,v,t\na,b," + c.times[0] + "\na,b," + c.times[1] + "\n"
		set, r, err := imported(t, "x.csv", text, Options{TimeUnit: c.unit})
		if err != nil {
			t.Fatal(err)
		}
		clock := set.Clock()
		if clock.Unit != c.want || clock.Show(set.Log.At(0).Time) != c.shown {
			t.Errorf("%v: unit %q, first %s; want %q, %s", c.times, clock.Unit, clock.Show(set.Log.At(0).Time), c.want,
				c.shown)
		}
		if at, err := clock.Parse(c.asked); err != nil || at != c.at {
			t.Errorf("%v: %s is %v, want %v: %v", c.times, c.asked, at, c.at, err)
		}
		if r.TimeFormat == input.TimeNumber && r.TimeUnit != c.want {
			t.Errorf("%v: the report says %q, want %q", c.times, r.TimeUnit, c.want)
		}
		if got := clock.Write(set.Log.At(0).Time); r.TimeFormat == input.TimeNumber && got != c.times[0] {
			t.Errorf("%s is written as %s", c.times[0], got)
		}
	}
	if _, err := (data.Clock{}).Parse("2014-06-06"); err == nil || !strings.Contains(err.Error(), "unit of the data") {
		t.Errorf("a date where times are numbers: %v", err)
	}
}

// A layout reads dates that are in no usual form, also in rows that are appended.
func TestTimeLayout(t *testing.T) {
	for _, layout := range []string{"%d.%m.%Y %H:%M", "02.01.2006 15:04"} {
		_, after, _, err := grown(t, "u,v,t\na,b,06.06.2014 12:30\n", "u,v,t\na,c,07.06.2014 00:00\n",
			Options{TimeLayout: layout}, AppendOptions{})
		if err != nil {
			t.Fatal(err)
		}
		var got []float64
		for i := range after.Log.Len() {
			got = append(got, after.Log.At(i).Time)
		}
		if !slices.Equal(got, []float64{1402057800, 1402099200}) || after.TimeFormat != input.TimeDate {
			t.Errorf("%s: %v", layout, got)
		}
	}
	_, _, err := imported(t, "x.csv", "u,v,t\na,b,2014-06-06\n", Options{TimeLayout: "%d.%m.%Y"})
	if err == nil || !strings.Contains(err.Error(), "want a date written like 02.01.2006") {
		t.Errorf("another form: %v", err)
	}
}

// Three columns that nobody named are source, destination and time; a header stays a header.
func TestBareColumns(t *testing.T) {
	for text, want := range map[string][]string{
		"1 4 1254192988\n3 4 1254194656\n": {"1→4 @1254192988 edge 1", "3→4 @1254194656 edge 2"},
		"ann,tea,2014-06-06\n":             {"ann→tea @2014-06-06T00:00:00Z edge 1"},
		"u,v,t\nann,tea,5\n":               {"ann→tea @5 edge 1"},
		"7\t8\t9\n":                        {"7→8 @9 edge 1"},
	} {
		set, _, err := imported(t, "x.txt", text, Options{})
		if err != nil {
			t.Errorf("%q: %v", text, err)
		} else if got := show(set); !slices.Equal(got, want) {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
	if _, _, err := imported(t, "x.csv", "1,2,3,4\n5,6,7,8\n", Options{}); err == nil {
		t.Error("four unnamed columns were guessed")
	}
	dir := inputtest.Write(t, map[string]string{"a.txt": "1 4 10\n", "b.txt": "3 4 11\n", "c.txt": "5 4 12\n"})
	path := filepath.Join(dir, "x.dgm")
	if _, err := Import(t.Context(), []string{filepath.Join(dir, "a.txt"), filepath.Join(dir, "b.txt")}, path,
		Options{}); err != nil {
		t.Fatal(err)
	}
	if _, err := Append(t.Context(), path, []string{filepath.Join(dir, "c.txt")}, AppendOptions{}); err != nil {
		t.Fatal(err)
	}
	if n := open(t, path).Log.Len(); n != 3 {
		t.Errorf("%d events of three bare files, want 3", n)
	}
}
