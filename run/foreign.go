package run

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

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
