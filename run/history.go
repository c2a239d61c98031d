package run

import (
	"bytes"
	"errors"
	"io/fs"
	"math"
	"os"
)

// History reads the epochs that a run directory's log has so far, and leaves it as it is. A last line that is cut off
// is one that is being written.
func History(path string) ([]Epoch, error) {
	raw, err := os.ReadFile(Dir(path).Path(LogFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // before the first epoch
	}
	if err != nil {
		return nil, err
	}
	epochs, _, err := Dir(path).parseLog(raw[:1+bytes.LastIndexByte(raw, '\n')], math.MaxInt)
	return epochs, err
}

// ReadResult reads what a run directory says that its seed achieved; without the file it is not finished, an
// fs.ErrNotExist.
func ReadResult(path string) (r Result, err error) {
	err = Dir(path).ReadJSON(ResultFile, &r)
	return r, err
}
