package run

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"

	"github.com/dygmamba/dygmamba/internal/atomicfile"
)

// The files of a run directory.
const (
	ConfigFile     = "config.json"            // everything needed to repeat the run
	LogFile        = "log.jsonl"              // a line per epoch
	CheckpointFile = "checkpoint.safetensors" // the best epoch
	LastFile       = "last.safetensors"       // where to resume
	ResultFile     = "result.json"            // final metrics
)

// Dir is a run directory; the empty one keeps nothing.
type Dir string

func (d Dir) Path(name string) string { return filepath.Join(string(d), name) }

// WriteJSON replaces a file in one move, so that a reader or a crash never sees half of it.
func (d Dir) WriteJSON(name string, value any) error {
	if d == "" {
		return nil
	}
	raw, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return d.replace(name, append(raw, '\n'))
}

func (d Dir) ReadJSON(name string, value any) error {
	raw, err := os.ReadFile(d.Path(name))
	if err != nil {
		return err
	}
	if err := json.Unmarshal(raw, value); err != nil {
		return fmt.Errorf("read %s: %w", d.Path(name), err)
	}
	return nil
}

func (d Dir) replace(name string, content []byte) error {
	path := d.Path(name)
	f, err := atomicfile.Own(path)
	if err != nil {
		return err
	}
	if _, err = f.Write(content); err != nil {
		f.Discard()
	} else {
		err = f.Commit()
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// Hash is the SHA-256 of a file, "" where nothing is kept.
func (d Dir) Hash(name string) (string, error) {
	if d == "" {
		return "", nil
	}
	return atomicfile.Hash(d.Path(name))
}

// AppendLog adds an epoch's line.
func (d Dir) AppendLog(e Epoch) error {
	if d == "" {
		return nil
	}
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(d.Path(LogFile), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(append(line, '\n'))
	return errors.Join(err, f.Close())
}

// ReadLog is the log of the first n epochs; what a killed run wrote after its last saved state is dropped.
func (d Dir) ReadLog(n int) ([]Epoch, error) {
	raw, err := os.ReadFile(d.Path(LogFile))
	if errors.Is(err, fs.ErrNotExist) && n == 0 {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	epochs, kept, err := d.parseLog(raw, n)
	if err != nil {
		return nil, err
	}
	if len(epochs) < n {
		return nil, fmt.Errorf("%s holds %d epochs, the saved state has finished %d", d.Path(LogFile), len(epochs), n)
	}
	if n > 0 && !bytes.HasSuffix(kept, []byte{'\n'}) {
		kept = append(kept, '\n')
	}
	return epochs, d.replace(LogFile, kept)
}

// parseLog reads at most n whole lines of a log, and says which bytes these are.
func (d Dir) parseLog(raw []byte, n int) (epochs []Epoch, read []byte, err error) {
	size := 0
	for line := range bytes.Lines(raw) {
		if len(epochs) == n {
			break
		}
		var e Epoch
		if err := json.Unmarshal(line, &e); err != nil || e.Epoch != len(epochs)+1 {
			return nil, nil, fmt.Errorf("%s, line %d: %.80q is not the record of epoch %d", d.Path(LogFile),
				len(epochs)+1, bytes.TrimSuffix(line, []byte{'\n'}), len(epochs)+1)
		}
		epochs, size = append(epochs, e), size+len(line)
	}
	return epochs, raw[:size], nil
}

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

// ErrForeign says that a directory holds what this run did not write, or no longer what it wrote.
var ErrForeign = errors.New("not the files of this run")

// ErrExists says that a directory holds a training or a sweep already: continue it, or choose another directory.
var ErrExists = errors.New("already exists")

// reworded is a sentinel in other words.
type reworded struct {
	text string
	is   error
}

func (e reworded) Error() string        { return e.text }
func (e reworded) Is(target error) bool { return target == e.is }

// Foreignf is an ErrForeign.
func Foreignf(format string, args ...any) error {
	return reworded{fmt.Sprintf(format, args...), ErrForeign}
}

// ExistsIn is an ErrExists of a directory; what is a training or a sweep.
func ExistsIn(dir, what string) error {
	return reworded{dir + " holds a " + what + " already", ErrExists}
}

// Vacant says why no training can begin where there is no state to resume from: what lies there is someone's work. A
// configuration alone is what a training leaves that ended before it had learned anything.
func (d Dir) Vacant() error {
	for _, name := range []string{LogFile, CheckpointFile, ResultFile} {
		if _, err := os.Lstat(d.Path(name)); err == nil {
			return Foreignf("%s has %s but no %s, without which no training can go on, and would be overwritten by a "+
				"new one: bring %s back, or choose another directory", d, name, LastFile, LastFile)
		}
	}
	var was Config
	err := d.ReadJSON(ConfigFile, &was)
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && was.Hashes.Data != "":
		return nil
	}
	return Foreignf("%s is not the configuration of a training and would be overwritten: choose another directory",
		d.Path(ConfigFile))
}
