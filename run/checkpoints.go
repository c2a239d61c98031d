package run

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dygmamba/dygmamba/checkpoint"
)

// ErrNoChoice says that a sweep has not come to its end: continue it, or name one of its trials.
var ErrNoChoice = errors.New("holds a sweep that has not chosen yet")

// Checkpoints lists the checkpoints of a path: a checkpoint itself, that of a run directory, or those of a run's seeds,
// each of which has a directory of its own there.
func Checkpoints(path string) ([]string, error) {
	info, err := os.Stat(path)
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
