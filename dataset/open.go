package dataset

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dygmamba/dygmamba/dataset/internal/input"
	"github.com/dygmamba/dygmamba/dataset/internal/layout"
	"github.com/dygmamba/dygmamba/dataset/internal/native"
	"github.com/dygmamba/dygmamba/internal/suggest"
)

// Options say where Open looks.
type Options struct {
	DataDir string // where named data sets lie; "": ./data, then the user's cache
	Seed    uint64 // for s1, s2 and s3 when they are generated
}

// Open finds and reads a data set. Name is one of
//   - a name: <data-dir>/<name>/ml_<name>.csv[.gz] and its feature files, or <data-dir>/<name>.dgm;
//   - a directory in that layout, or the path of its ml_NAME.csv[.gz];
//   - a native file made by Import or Save;
//   - s1, s2 or s3, which are generated where no file has that name.
func Open(ctx context.Context, name string, o Options) (*Set, error) {
	src, err := find(name, o)
	if err != nil {
		return nil, err
	}
	var set *Set
	switch {
	case src.native != "":
		set, err = OpenNative(src.native)
	case src.synth != "":
		return Synth(src.synth, SynthOptions{Seed: o.Seed})
	default:
		set, err = src.layout.Read(ctx)
	}
	if err == nil && !src.cached {
		set.Path, _ = filepath.Abs(cmp.Or(src.native, src.layout.CSV)) // none where there is no current directory
	}
	return set, err
}

// source is where a data set was found; one of the first three is set.
type source struct {
	layout layout.Layout
	native string
	synth  string
	cached bool // by name in the user's cache
}

func find(name string, o Options) (source, error) {
	if name == "" {
		return source{}, input.FileError(`""`, "no name", "a data set's name, directory or file")
	}
	dirs := dataDirs(o)
	if filepath.Base(name) == name {
		for _, dir := range dirs {
			if l, ok := layout.Find(filepath.Join(dir, name), name); ok {
				return source{layout: l, cached: dir == CacheDir()}, nil
			}
			if path := filepath.Join(dir, name+".dgm"); input.Exists(path) {
				return source{native: path, cached: dir == CacheDir()}, nil
			}
		}
	}
	info, err := os.Stat(name)
	switch {
	case err == nil && info.IsDir():
		l, err := layout.In(name)
		// a directory called uci may hold something else, such as a run
		if _, known := Lookup(name); err == nil || !known {
			return source{layout: l}, err
		}
	case err == nil:
		return findFile(name)
	}
	if low := strings.ToLower(name); slices.Contains(SynthNames, low) {
		return source{synth: low}, nil
	}
	return source{}, notFound(name, dirs)
}

func notFound(name string, dirs []string) error {
	if filepath.Base(name) != name {
		return fmt.Errorf("%s: %w: want a directory in the ml_* layout or a file made by dataset.Import",
			name, fs.ErrNotExist)
	}
	where := strings.Join(dirs, " or ")
	if _, ok := Lookup(name); ok {
		return fmt.Errorf("data set %s: %w: no %s in %s; dataset.Fetch %s downloads it",
			name, fs.ErrNotExist, filepath.Join(name, "ml_"+name+".csv"), where, name)
	}
	return fmt.Errorf("%w %q: it is no built-in name, no file or directory, and not in %s%s", ErrUnknown, name, where,
		meant(name))
}

// meant is what someone may have had in mind: a file of that name, or a built-in one that is spelled nearly so.
func meant(name string) string {
	if file := name + ".dgm"; input.Exists(file) {
		return "; did you mean the file " + file + "?"
	}
	for _, ending := range []string{".csv", ".csv.gz", ".jsonl", ".jsonl.gz", ".parquet"} {
		if file := name + ending; input.Exists(file) {
			return "; there is " + file + ", of which 'dataset.Import " + file + "' makes a data set"
		}
	}
	return suggest.Hint(name, CatalogNames())
}

// findFile takes a path that is a file: native, or the csv of a layout.
func findFile(path string) (source, error) {
	in, err := input.Open(path)
	if err != nil {
		return source{}, err
	}
	defer in.Close()
	dir, base := filepath.Split(path)
	if name, ok := strings.CutPrefix(strings.TrimSuffix(base, ".gz"), "ml_"); ok && strings.HasSuffix(name, ".csv") {
		l, _ := layout.Find(dir, strings.TrimSuffix(name, ".csv"))
		l.CSV = path
		return source{layout: l}, nil
	}
	if head := in.Peek(len(input.NativeMagic)); string(head) == input.NativeMagic || filepath.Ext(path) == ".dgm" {
		return source{native: path}, nil
	}
	found := in.Kind()
	if found == "" {
		found = "some other file"
	}
	return source{}, input.FileError(path, found,
		"a native .dgm file: dataset.Import makes one of CSV, JSONL and Parquet")
}

// dataDirs are the directories searched for named data sets.
func dataDirs(o Options) []string {
	if o.DataDir != "" {
		return []string{o.DataDir}
	}
	dirs := []string{"data"}
	if cache := CacheDir(); cache != "" {
		dirs = append(dirs, cache)
	}
	return dirs
}

// CheckReport is the result of a check.
type CheckReport struct {
	Kind     string // what was checked: "ml_* layout", "native file", "generated"
	Path     string
	Events   int // 0 if there are problems
	Nodes    int
	Warnings []string
	Problems Problems // none: all is well
}

// Check finds a data set as Open does and reads it to the end, collecting problems instead of stopping at the first.
// The error is for what kept it from reading, such as a missing file. Tables not yet imported are checked by Import
// with no output.
func Check(ctx context.Context, name string, o Options) (*CheckReport, error) {
	src, err := find(name, o)
	if err != nil {
		return nil, err
	}
	r := &CheckReport{}
	var set *Set
	switch {
	case src.native != "":
		r.Kind, r.Path = "native file", src.native
		set, r.Problems, err = native.Check(src.native)
	case src.synth != "":
		r.Kind, r.Path = "generated", src.synth
		set, err = Synth(src.synth, SynthOptions{Seed: o.Seed})
	default:
		const most = 20
		r.Kind, r.Path = "ml_* layout", src.layout.CSV
		set, r.Problems, err = src.layout.Check(ctx, most)
	}
	if err != nil || set == nil {
		return r, err
	}
	defer set.Close()
	r.Events, r.Nodes, r.Warnings = set.Log.Len(), set.NumNodes()-1, set.Warnings
	return r, nil
}

// Listing is a built-in data set and where it lies.
type Listing struct {
	Entry
	Path      string   `json:"path,omitempty"`      // "" if it is not here
	Missing   []string `json:"missing,omitempty"`   // feature files that are not beside it
	Generated bool     `json:"generated,omitempty"` // made when asked for, as no file has its name
}

// List is all built-in data sets with what is present of them.
func List(o Options) []Listing {
	var list []Listing
	for _, e := range Catalog {
		l := Listing{Entry: e}
		for _, dir := range dataDirs(o) {
			if found, ok := layout.Find(filepath.Join(dir, e.Name), e.Name); ok {
				l.Path = found.CSV
				l.Missing = found.Absent()
				break
			}
		}
		l.Generated = l.Path == "" && slices.Contains(SynthNames, e.Name)
		list = append(list, l)
	}
	return list
}
