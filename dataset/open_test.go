package dataset

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dygmamba/dygmamba/dataset/internal/input/inputtest"
)

const tinyCSV = ",u,i,ts,label,idx\n0,1,3,0.0,0,1\n1,2,3,1.0,0,2\n"

func TestOpenFinds(t *testing.T) {
	dir := inputtest.Write(t, map[string]string{"ml_a.csv": tinyCSV, "ml_b.csv.gz": inputtest.Gzip(tinyCSV),
		"junk.txt": "hello"})
	for _, name := range []string{"uci", "s2"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	o := Options{DataDir: dir}
	for _, c := range []struct {
		name, want string
		is         error
	}{
		{dir, "found 2 data sets (a, b); want one", nil},
		{filepath.Join(dir, "ml_b.csv.gz"), "", nil},
		{filepath.Join(dir, "junk.txt"), "found some other file; want a native .dgm file", nil},
		{filepath.Join(dir, "nowhere"), "want a directory in the ml_* layout or a file made by dataset.Import",
			fs.ErrNotExist},
		{"uci", "dataset.Fetch uci downloads it", fs.ErrNotExist},
		{"enrn", `no data set "enrn"`, ErrUnknown},
		{"enrn", "did you mean enron?", ErrUnknown},
		{filepath.Join(dir, "uci"), "found no ml_NAME.csv or ml_NAME.csv.gz", nil},
		{"", "want a data set's name", nil},
		{"s1", "", nil},
		{"s2", "", nil}, // a directory of that name is here, but no data set in it
		{"S3", "", nil},
	} {
		s, err := Open(t.Context(), c.name, o)
		switch {
		case c.want == "" && (err != nil || s.Log.Len() == 0):
			t.Errorf("%s: %v", c.name, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		case c.is != nil && !errors.Is(err, c.is):
			t.Errorf("%s: %v is not %v", c.name, err, c.is)
		}
	}
}

// A set says where it lies, unless its name finds it from anywhere.
func TestOpenPath(t *testing.T) {
	t.Chdir(t.TempDir())
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	csv := filepath.Join("data", "x", "ml_x.csv")
	t.Setenv("XDG_CACHE_HOME", filepath.Join(here, "cache")) // Linux
	t.Setenv("HOME", here)                                   // macOS
	t.Setenv("LocalAppData", here)                           // Windows
	for _, file := range []string{csv, filepath.Join(CacheDir(), "cached", "ml_cached.csv")} {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(tinyCSV), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	set, err := Synth("s3", SynthOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := Save("mine.dgm", set); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, dir, want string }{
		{"cached", "", ""},
		{"x", "", csv},
		{"s1", "", ""},
		{"s1", "data", ""},
		{"x", "data", csv},
		{filepath.Dir(csv), "", csv},
		{csv, "", csv},
		{"mine.dgm", "", "mine.dgm"},
	} {
		set, err := Open(t.Context(), c.name, Options{DataDir: c.dir})
		if err != nil {
			t.Fatal(err)
		}
		if c.want != "" {
			c.want = filepath.Join(here, c.want)
		}
		if set.Path != c.want {
			t.Errorf("%s in %q: path %q, want %q", c.name, c.dir, set.Path, c.want)
		}
		set.Close()
	}
}

// What opens as a native file and is none is one problem.
func TestCheckNative(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.dgm")
	for _, text := range []string{"", "hello", strings.Repeat("x", 300)} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if r, err := Check(t.Context(), path, Options{}); err != nil || r.Problems.Total != 1 {
			t.Errorf("check %q: %+v %v", text, r, err)
		}
	}
}

// A check of published files goes on behind the first problem.
func TestCheckLayout(t *testing.T) {
	dir := inputtest.Write(t, map[string]string{"ml_x.csv": tinyCSV + "2,0,3,2.0,0,3\n3,2,3,nan,0,4\n"})
	r, err := Check(t.Context(), dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if r.Kind != "ml_* layout" || r.Path != filepath.Join(dir, "ml_x.csv") || r.Problems.Total != 2 || r.Events != 0 {
		t.Errorf("%+v", r)
	}
}

// Whoever leaves out the ending, or the import, is told so.
func TestOpenSaysWhatIsThere(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, file := range []string{"sales.dgm", "sales.csv", "visits.jsonl.gz"} {
		if err := os.WriteFile(file, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{
		"sales":  "; did you mean the file sales.dgm?",
		"visits": "; there is visits.jsonl.gz, of which 'dataset.Import visits.jsonl.gz' makes a data set",
		"uzi":    "; did you mean uci?",
	} {
		if _, err := Open(t.Context(), name, Options{}); !errors.Is(err, ErrUnknown) || !strings.HasSuffix(err.Error(),
			want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
}
