package dygmamba

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
	"github.com/dygmamba/dygmamba/train"
)

// Run is what the training of one seed wrote down about itself.
type Run struct {
	Dir    string // SeedDir of a training
	Config train.Config
}

// RunError says that the records of a run are not what a training wrote.
type RunError struct {
	File string
	Err  error
}

func (e *RunError) Error() string { return e.File + ": " + e.Err.Error() }

// Unwrap is what is wrong with the file.
func (e *RunError) Unwrap() error { return e.Err }

// OpenRun reads the configuration of the run in a directory, which is that of its checkpoints too. There may be none:
// checkpoints can be taken elsewhere.
func OpenRun(dir string) (Run, error) { return ReadRun(filepath.Join(dir, train.ConfigFile)) }

// ReadRun is OpenRun for the file with the configuration, whatever it is called.
func ReadRun(file string) (Run, error) {
	r := Run{Dir: filepath.Dir(file)}
	raw, err := os.ReadFile(file)
	if err != nil {
		return r, err
	}
	if err := json.Unmarshal(raw, &r.Config); err != nil {
		return r, &RunError{file, err}
	}
	if r.Config.Hashes.Data == "" {
		return r, &RunError{file, errors.New("found no hash of the data, want the configuration of a run")}
	}
	return r, nil
}

// OpenSeed opens the run of a seed below the directory of a training, or else that of the first seed there: one more
// seed of the same begins with its settings.
func OpenSeed(dir string, seed uint64) (Run, error) {
	if begun := Seeds(dir); len(begun) > 0 && !slices.Contains(begun, seed) {
		seed = begun[0]
	}
	return OpenRun(SeedDir(dir, seed))
}

// Seeds are those whose runs were begun below the directory of a training, in order.
func Seeds(dir string) []uint64 {
	var seeds []uint64
	files, _ := filepath.Glob(filepath.Join(dir, "seed-*", train.ConfigFile))
	for _, file := range files {
		name := filepath.Base(filepath.Dir(file))
		if seed, err := strconv.ParseUint(strings.TrimPrefix(name, "seed-"), 10, 64); err == nil {
			seeds = append(seeds, seed)
		}
	}
	slices.Sort(seeds)
	return seeds
}

func (r Run) file() string { return filepath.Join(r.Dir, train.ConfigFile) }

// Settings lists every setting of a run as key=value, beside its preset and its order, "" for models that have none;
// also those that its configuration does not name since they are younger.
func (r Run) Settings() (preset, order string, settings []string, err error) {
	factory, err := Factory(r.Config.Model)
	if err != nil {
		return "", "", nil, &RunError{r.file(), err}
	}
	spec, err := factory.Decode(r.Config.Spec)
	if err != nil {
		return "", "", nil, &RunError{r.file(), err}
	}
	for _, s := range model.Settings(spec.Config, spec.Training) {
		settings = append(settings, fmt.Sprintf("%s=%v", s.Key, s.Value))
	}
	return spec.Preset, spec.Order, settings, nil
}

// History is what the run has noted of its epochs so far.
func (r Run) History() ([]train.Epoch, error) {
	epochs, err := train.History(r.Dir)
	if err != nil {
		return nil, &RunError{r.Dir, err}
	}
	return epochs, nil
}

// Result is what the run achieved. One that is not finished has none: fs.ErrNotExist.
func (r Run) Result() (train.Result, error) {
	result, err := train.ReadResult(r.Dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		err = &RunError{r.Dir, err}
	}
	return result, err
}

// Task is what the run learned, "" for links.
func (r Run) Task() string {
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
	path := filepath.FromSlash(r.Config.Backbone)
	if !filepath.IsAbs(path) {
		path = filepath.Join(r.Dir, path)
	}
	return filepath.Dir(filepath.Dir(path)) // above seed-0/checkpoint.safetensors
}

// Unfinished says whether a directory holds a training that has not come to its result, or has gone on since then.
func Unfinished(dir string) bool {
	if !exists(filepath.Join(dir, train.LastFile)) {
		return false
	}
	raw, err := os.ReadFile(filepath.Join(dir, train.ResultFile))
	var result train.Result
	if err != nil || json.Unmarshal(raw, &result) != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	log, _ := os.ReadFile(filepath.Join(dir, train.LogFile))
	return result.Ended != "" || bytes.Count(log, []byte{'\n'}) > result.Epochs
}

// Source is where the data of a trained model come from.
type Source struct {
	Name string // of the data set; "" where nobody knows
	Path string // where it lay; "" where its name leads there
	Lost bool   // nothing is there any more
}

// Source is where the data of a run lie. Runs and data may be moved together.
func (r Run) Source() Source {
	s := Source{Name: r.Config.Data}
	if r.Config.Path == "" {
		return s
	}
	s.Path = filepath.FromSlash(r.Config.Path)
	if !filepath.IsAbs(s.Path) {
		s.Path = filepath.Join(r.Dir, s.Path)
	}
	s.Lost = !exists(s.Path)
	return s
}

// SourceOf is where the data of a checkpoint come from: its run knows, or else the checkpoint itself has their name.
// That of another program tells nothing.
func SourceOf(file string) (Source, error) {
	if r, err := OpenRun(filepath.Dir(file)); err == nil {
		return r.Source(), nil
	}
	if foreign, err := checkpoint.IsPyTorch(file); err != nil || foreign {
		return Source{}, nil
	}
	weights, err := checkpoint.Load(file)
	if err != nil {
		return Source{}, err
	}
	return Source{Name: weights.Meta["data"]}, nil
}
