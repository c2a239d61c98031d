// Package run answers: what does a run directory hold? It has the records of a training on disk: configuration, epochs,
// results, checkpoints of several seeds, sweeps, and what makes two of them comparable.
package run

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/dygmamba/dygmamba/checkpoint"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/protocol"
)

// Run is what the training of one seed wrote down about itself.
type Run struct {
	Dir    string // SeedDir of a training
	Config Config
}

// Error says that the records of a run are not what a training wrote.
type Error struct {
	File string
	Err  error
}

func (e *Error) Error() string { return e.File + ": " + e.Err.Error() }

// Unwrap is what is wrong with the file.
func (e *Error) Unwrap() error { return e.Err }

// Open reads the configuration of the run in a directory, which is that of its checkpoints too. There may be none:
// checkpoints can be taken elsewhere.
func Open(dir string) (Run, error) { return Read(filepath.Join(dir, ConfigFile)) }

// Read is Open for the file with the configuration, whatever it is called.
func Read(file string) (Run, error) {
	r := Run{Dir: filepath.Dir(file)}
	raw, err := os.ReadFile(file)
	if err != nil {
		return r, err
	}
	if err := json.Unmarshal(raw, &r.Config); err != nil {
		return r, &Error{file, err}
	}
	if r.Config.Hashes.Data == "" {
		return r, &Error{file, errors.New("found no hash of the data, want the configuration of a run")}
	}
	return r, nil
}

// OpenSeed opens the run of a seed below the directory of a training, or else that of the first seed there: one more
// seed of the same begins with its settings.
func OpenSeed(dir string, seed uint64) (Run, error) {
	if begun := Seeds(dir); len(begun) > 0 && !slices.Contains(begun, seed) {
		seed = begun[0]
	}
	return Open(SeedDir(dir, seed))
}

// SeedDir is the directory of one seed's run below that of a training.
func SeedDir(dir string, seed uint64) string { return filepath.Join(dir, fmt.Sprintf("seed-%d", seed)) }

// Seeds are those whose runs were begun below the directory of a training, in order.
func Seeds(dir string) []uint64 {
	var seeds []uint64
	files, _ := filepath.Glob(filepath.Join(dir, "seed-*", ConfigFile))
	for _, file := range files {
		name := filepath.Base(filepath.Dir(file))
		if seed, err := strconv.ParseUint(strings.TrimPrefix(name, "seed-"), 10, 64); err == nil {
			seeds = append(seeds, seed)
		}
	}
	slices.Sort(seeds)
	return seeds
}

// Spec is the configuration of the run's model.
func (r Run) Spec() (spec model.Spec, err error) {
	factory, err := model.Find(r.Config.Model)
	if err == nil {
		spec, err = factory.Decode(r.Config.Spec)
	}
	if err != nil {
		return spec, &Error{filepath.Join(r.Dir, ConfigFile), err}
	}
	return spec, nil
}

// Path is that of a file which the configuration names, as seen from the run's directory.
func (r Run) Path(file string) string {
	if path := filepath.FromSlash(file); filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(r.Dir, filepath.FromSlash(file))
}

// Settings lists every setting of a run as key=value, beside its preset and its order, "" for models that have none;
// also those that its configuration does not name since they are younger.
func (r Run) Settings() (preset string, order protocol.Order, settings []string, err error) {
	spec, err := r.Spec()
	if err != nil {
		return "", "", nil, err
	}
	for _, s := range model.Settings(spec.Config, spec.Training) {
		settings = append(settings, fmt.Sprintf("%s=%v", s.Key, s.Value))
	}
	return spec.Preset, spec.Order, settings, nil
}

// History is what the run has noted of its epochs so far.
func (r Run) History() ([]Epoch, error) {
	epochs, err := History(r.Dir)
	if err != nil {
		return nil, &Error{r.Dir, err}
	}
	return epochs, nil
}

// Result is what the run achieved. One that is not finished has none: fs.ErrNotExist.
func (r Run) Result() (Result, error) {
	result, err := ReadResult(r.Dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		err = &Error{r.Dir, err}
	}
	return result, err
}

// Task is what the run learned, "" for links.
func (r Run) Task() protocol.Task {
	var spec model.Spec
	if json.Unmarshal(r.Config.Spec, &spec) != nil {
		return ""
	}
	return spec.Task
}

// Backbone is the directory of the training on links that a run of node classification took its model from, "" for
// others.
func (r Run) Backbone() string {
	if r.Config.Backbone == "" {
		return ""
	}
	return filepath.Dir(filepath.Dir(r.Path(r.Config.Backbone))) // above seed-0/checkpoint.safetensors
}

// IsUnfinished says whether a directory holds a training that has not come to its result, or has gone on since then.
func IsUnfinished(dir string) bool {
	if !Exists(filepath.Join(dir, LastFile)) {
		return false
	}
	result, err := ReadResult(dir)
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	return result.Cut() || logged(dir) > result.Epochs
}

func logged(dir string) int {
	log, _ := os.ReadFile(filepath.Join(dir, LogFile))
	return bytes.Count(log, []byte{'\n'})
}

// Mark says in a few words that the training in a directory is not finished, or saw a part of the events, "" of one
// that is whole: see Result.Mark.
func Mark(dir string) string {
	r, err := ReadResult(dir)
	if err == nil && logged(dir) <= r.Epochs && (r.Cut() || !IsUnfinished(dir)) {
		return r.Mark()
	}
	if IsUnfinished(dir) {
		return "unfinished"
	}
	return ""
}

// Source is where the data of a trained model come from.
type Source struct {
	Name     string            // of the data set; "" where nobody knows
	Path     string            // where it lay; "" where its name leads there
	Lost     bool              // nothing is there any more
	Sampling protocol.Sampling // how the training drew from them; "" where nobody knows
}

// Source is where the data of a run lie. Runs and data may be moved together.
func (r Run) Source() Source {
	s := Source{Name: r.Config.Data, Sampling: r.Config.Sampling}
	if r.Config.Path == "" {
		return s
	}
	s.Path = r.Path(r.Config.Path)
	s.Lost = !Exists(s.Path)
	return s
}

// SourceOf is where the data of a checkpoint come from: its run knows, or else the checkpoint itself has their name.
// That of another program tells nothing.
func SourceOf(file string) (Source, error) {
	if r, err := Open(filepath.Dir(file)); err == nil {
		return r.Source(), nil
	}
	if foreign, err := checkpoint.IsPyTorch(file); err != nil || foreign {
		return Source{}, nil
	}
	weights, err := checkpoint.Load(file)
	if err != nil {
		return Source{}, err
	}
	o := OriginOf(file, weights)
	return Source{Name: o.Data, Sampling: o.Sampling}, nil
}
