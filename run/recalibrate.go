package run

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/dygmamba/dygmamba/calibration"
	"github.com/dygmamba/dygmamba/checkpoint"
)

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
