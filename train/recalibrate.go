package train

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/dygmamba/dygmamba/calibration"
	"github.com/dygmamba/dygmamba/checkpoint"
)

// Recalibrate keeps a map of probabilities in the checkpoint of a run directory. Parameters stay, so what was measured
// holds: its record is told the new hash of the file.
func Recalibrate(path string, m *calibration.Map) error {
	d := dir(path)
	lock, err := d.lock()
	if err != nil {
		return fmt.Errorf("run directory: %w", err)
	}
	defer lock.Close()
	f, err := checkpoint.Load(d.path(CheckpointFile))
	if err != nil {
		return err
	}
	before, err := d.hash(CheckpointFile)
	if err != nil {
		return err
	}
	f.Meta[CalibrationKey] = m.String()
	if err := checkpoint.Save(d.path(CheckpointFile), f); err != nil {
		return err
	}
	r, err := ReadResult(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && r.Checkpoint != before {
		return nil // it is not finished, older than such records, or of another file
	}
	if err != nil {
		return err
	}
	if r.Checkpoint, err = d.hash(CheckpointFile); err != nil {
		return err
	}
	return d.writeJSON(ResultFile, r)
}
