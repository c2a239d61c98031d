package study

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dygmamba/dygmamba/internal/atomicfile"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/run"
)

// Record is what a run has written down: its configuration and, once it has ended, its result.
type Record struct {
	Name   string // of its line or of its directory
	Path   string // a directory with a run, or a file with a line for each run
	Config run.Config
	Result run.Result
	Audit  string // the verdict of an audit, "" without one

	spec  model.Spec
	ended bool // it has a result
}

// recordEnding is how files with a run in each line end; a file is named after the data set of its runs.
const recordEnding = ".jsonl"

// stampFile is what package audit calls its own.
const stampFile = "audit.json"

// line is a run in such a file: the documents that its directory had, unchanged.
type line struct {
	Name   string          `json:"name"`
	Config json.RawMessage `json:"config"`
	Result json.RawMessage `json:"result,omitempty"`
	Audit  json.RawMessage `json:"audit,omitempty"`

	read Record
}

// ReadRecords finds all runs in a directory, however deep, and in files with a run in each line.
func ReadRecords(path string) (list []Record, err error) {
	err = filepath.WalkDir(path, func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil || d.IsDir():
			return err
		case d.Name() == run.ConfigFile:
			if r, err := openRun(filepath.Dir(file)); err == nil { // others are not the configuration of a run
				list = append(list, r)
			}
			return nil
		case filepath.Ext(file) == recordEnding && d.Name() != run.LogFile:
			lines, err := readLines(file)
			for _, l := range lines {
				list = append(list, l.read)
			}
			return err
		}
		return nil
	})
	return list, err
}

// openRun reads the record in a run's directory.
func openRun(dir string) (Record, error) {
	l, err := readRun(dir)
	if err != nil {
		return Record{}, err
	}
	r, err := l.record(dir)
	if err == nil && r.Config.Hashes.Data == "" {
		err = errors.New("found no hash of the data, want the configuration of a run")
	}
	return r, err
}

// readRun reads the documents of a run's directory.
func readRun(dir string) (l line, err error) {
	l.Name = filepath.Base(dir)
	if seed, ok := strings.CutPrefix(l.Name, "seed-"); ok {
		l.Name = filepath.Base(filepath.Dir(dir)) + "-" + seed
	}
	for name, into := range map[string]*json.RawMessage{
		run.ConfigFile: &l.Config, run.ResultFile: &l.Result, stampFile: &l.Audit,
	} {
		raw, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil && (name == run.ConfigFile || !errors.Is(err, fs.ErrNotExist)) {
			return l, err
		}
		*into = raw
	}
	return l, nil
}

// readLines reads a file of records. One whose first line is something else has none.
func readLines(file string) (list []line, err error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	in := json.NewDecoder(f)
	for n := 1; ; n++ {
		var l line
		err := in.Decode(&l)
		if err == io.EOF {
			return list, nil
		}
		if err == nil && (l.Name == "" || l.Config == nil || l.Result == nil) {
			err = errors.New("found no name, config and result, want the record of a run")
		}
		if err != nil && n == 1 {
			return nil, nil
		}
		if err == nil {
			l.read, err = l.record(file)
		}
		if err != nil {
			return nil, fmt.Errorf("%s, line %d: %w", file, n, err)
		}
		list = append(list, l)
	}
}

// record reads what a line says.
func (l line) record(path string) (Record, error) {
	r := Record{Name: l.Name, Path: path, ended: len(l.Result) > 0}
	var stamp struct{ Verdict string }
	for _, x := range []struct {
		name string
		raw  json.RawMessage
		into any
	}{{run.ConfigFile, l.Config, &r.Config}, {run.ResultFile, l.Result, &r.Result}, {stampFile, l.Audit, &stamp}} {
		if len(x.raw) > 0 {
			if err := json.Unmarshal(x.raw, x.into); err != nil {
				return r, fmt.Errorf("%s: %w", x.name, err)
			}
		}
	}
	r.Audit = stamp.Verdict
	factory, err := model.Find(cmp.Or(r.Config.Model, r.Result.Model))
	if err != nil {
		return r, err
	}
	if r.Config.Spec == nil {
		r.Config.Spec = json.RawMessage("{}")
	}
	r.spec, err = factory.Decode(r.Config.Spec)
	return r, err
}

// Unfinished says why the numbers of a run are not those of a whole training, "" where they are.
func (r *Record) Unfinished() string {
	if !r.ended {
		return "it has no result yet"
	}
	return r.Result.Mark()
}

// training is what tells a run from all that are not a repetition of it.
func (r *Record) training() string {
	c := r.Config
	return fmt.Sprint(c.Model, c.Hashes.Data, c.Sampling, c.Seed, c.ByAP, c.TF32, written(r.spec))
}

// ErrRecord says that a run cannot be recorded.
var ErrRecord = errors.New("not recorded")

// AddRecords adds runs, each a directory of one seed or of a training with several, to the files in dir, and returns
// their names. It adds all or none: a run that is there already, or has not ended, is an error.
func AddRecords(dir string, runs ...string) (names []string, err error) {
	files := map[string][]line{}
	taken := map[string]string{} // names and trainings that are there, by the name they have
	known, err := filepath.Glob(filepath.Join(dir, "*"+recordEnding))
	if err != nil {
		return nil, err
	}
	for _, file := range known {
		lines, err := readLines(file)
		if err != nil {
			return nil, err
		}
		for _, l := range lines {
			taken[l.Name], taken[l.read.training()] = l.Name, l.Name
		}
		files[file] = lines
	}
	for _, path := range seedDirs(runs) {
		l, err := readRun(path)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrRecord, err)
		}
		r, err := l.record(path)
		was := cmp.Or(taken[l.Name], taken[r.training()])
		switch why := r.Unfinished(); {
		case err != nil:
			return nil, fmt.Errorf("%w: %s: %w", ErrRecord, path, err)
		case why != "" || run.IsUnfinished(path):
			return nil, fmt.Errorf("%w: %s: %s", ErrRecord, path, cmp.Or(why, "it has gone on since its result"))
		case was != "":
			return nil, fmt.Errorf("%w: %s is there already, as %s", ErrRecord, path, was)
		}
		if l.Config, err = withoutPath(l.Config); err != nil {
			return nil, err
		}
		taken[l.Name], taken[r.training()] = l.Name, l.Name
		file := filepath.Join(dir, filepath.Base(r.Config.Data)+recordEnding)
		files[file] = append(files[file], l)
		names = append(names, l.Name)
	}
	return names, writeLines(dir, files)
}

// seedDirs are the directories of single runs that paths lead to.
func seedDirs(paths []string) (list []string) {
	for _, path := range paths {
		seeds := run.Seeds(path)
		for _, seed := range seeds {
			list = append(list, run.SeedDir(path, seed))
		}
		if seeds == nil {
			list = append(list, path)
		}
	}
	return list
}

// withoutPath takes out where the data lay: that is of one machine.
func withoutPath(config json.RawMessage) (json.RawMessage, error) {
	if !bytes.Contains(config, []byte(`"data_path"`)) {
		return config, nil
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(config, &fields); err != nil {
		return nil, err
	}
	delete(fields, "data_path")
	return json.Marshal(fields)
}

// writeLines writes files of records, in the order of their names.
func writeLines(dir string, files map[string][]line) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for file, lines := range files {
		slices.SortFunc(lines, func(a, b line) int { return strings.Compare(a.Name, b.Name) })
		err := atomicfile.Write(file, func(w io.Writer) error {
			enc := json.NewEncoder(w) // which takes the layout out of documents, and leaves numbers as they are
			enc.SetEscapeHTML(false)
			for _, l := range lines {
				if err := enc.Encode(l); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}
