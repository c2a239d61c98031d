package run

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dygmamba/dygmamba/calibration"
	"github.com/dygmamba/dygmamba/checkpoint"
	"github.com/dygmamba/dygmamba/protocol"
)

// ErrNoChoice says that a sweep has not come to its end: continue it, or name one of its trials.
var ErrNoChoice = errors.New("holds a sweep that has not chosen yet")

// Checkpoints lists the checkpoints of a path: a checkpoint itself, that of a run directory, or those of a run's seeds,
// each of which has a directory of its own there.
func Checkpoints(path string) ([]string, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w; want the directory of a run, or a file with weights", path, errors.Unwrap(err))
	}
	if err != nil {
		return nil, fmt.Errorf("load checkpoint: %w", err)
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	if best := filepath.Join(path, CheckpointFile); Exists(best) {
		return []string{best}, nil
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, fmt.Errorf("load checkpoint: %w", err)
	}
	var files []string
	for _, e := range entries {
		best := filepath.Join(path, e.Name(), CheckpointFile)
		if e.IsDir() && strings.HasPrefix(e.Name(), "seed-") && Exists(best) {
			files = append(files, best)
		}
	}
	if s, err := OpenSweep(path); files == nil && err == nil { // that of the chosen trial
		if s.Best == "" {
			return nil, fmt.Errorf("load checkpoint: %w: %s %w", fs.ErrNotExist, path, ErrNoChoice)
		}
		return Checkpoints(filepath.Join(path, s.Best))
	}
	if files == nil {
		return nil, fmt.Errorf("load checkpoint: %w: %s has no %s; a run has one after its first epoch",
			fs.ErrNotExist, path, CheckpointFile)
	}
	slices.SortStableFunc(files, func(a, b string) int { return len(a) - len(b) }) // seed-2 before seed-10
	return files, nil
}

func Exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func ReadCheckpoint(path string) (checkpoint.File, error) {
	foreign, err := checkpoint.IsPyTorch(path)
	if err != nil {
		return checkpoint.File{}, err
	}
	if foreign {
		return checkpoint.LoadPyTorch(path)
	}
	return checkpoint.Load(path)
}

// Keys of a checkpoint's metadata that say what it was trained on. Checkpoints of earlier versions have DataKey alone.
const (
	DataKey      = "data"         // name of the data set
	DataHashKey  = "data_sha256"  // Hashes.Data
	SplitHashKey = "split_sha256" // Hashes.Split
	SamplingKey  = "sampling"     // Config.Sampling
	SchemaKey    = "schema"       // dataset.Schema as JSON, where columns were encoded or events have kinds
)

// Origin is what a checkpoint was trained on, and how its training drew from that. Fields that nobody knows are empty.
type Origin struct {
	Data                string // name of the data set
	DataHash, SplitHash string
	Sampling            protocol.Sampling
	FitUntil            string // FitKey
}

// OriginOf asks the run beside a checkpoint, or else the checkpoint's own metadata. A run of another model is not
// asked.
func OriginOf(path string, f checkpoint.File) Origin {
	r, err := Open(filepath.Dir(path))
	if err == nil && r.Config.Model == f.Meta["model"] {
		c := r.Config
		return Origin{c.Data, c.Hashes.Data, c.Hashes.Split, c.Sampling, f.Meta[FitKey]}
	}
	return Origin{f.Meta[DataKey], f.Meta[DataHashKey], f.Meta[SplitHashKey], protocol.Sampling(f.Meta[SamplingKey]),
		f.Meta[FitKey]}
}

// CalibrationKey is the metadata key of a checkpoint's calibration.Map.
const CalibrationKey = "calibration"

// Recalibrate keeps a map of probabilities in the checkpoint of a run directory. Parameters stay, so what was measured
// holds: its record is told the new hash of the file.
func Recalibrate(path string, m *calibration.Map) error {
	d := Dir(path)
	lock, err := d.Lock()
	if err != nil {
		return fmt.Errorf("run directory: %w", err)
	}
	defer lock.Close()
	f, err := checkpoint.Load(d.Path(CheckpointFile))
	if err != nil {
		return err
	}
	before, err := d.Hash(CheckpointFile)
	if err != nil {
		return err
	}
	f.Meta[CalibrationKey] = m.String()
	if err := checkpoint.Save(d.Path(CheckpointFile), f); err != nil {
		return err
	}
	r, err := ReadResult(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && r.Checkpoint != before {
		return nil // it is not finished, older than such records, or of another file
	}
	if err != nil {
		return err
	}
	if r.Checkpoint, err = d.Hash(CheckpointFile); err != nil {
		return err
	}
	return d.WriteJSON(ResultFile, r)
}
