package run

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
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
	var epochs []Epoch
	lines := bufio.NewScanner(bytes.NewReader(raw[:1+bytes.LastIndexByte(raw, '\n')]))
	for lines.Scan() {
		var e Epoch
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil || e.Epoch != len(epochs)+1 {
			return nil, fmt.Errorf("%s, line %d: %.80q is not the record of epoch %d", Dir(path).Path(LogFile),
				len(epochs)+1, lines.Text(), len(epochs)+1)
		}
		epochs = append(epochs, e)
	}
	return epochs, lines.Err()
}

// ReadResult reads what a run directory says that its seed achieved; without the file it is not finished, an
// fs.ErrNotExist.
func ReadResult(path string) (r Result, err error) {
	err = Dir(path).ReadJSON(ResultFile, &r)
	return r, err
}
