package main

import (
	"bufio"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/dygmamba/dygmamba/internal/atomicfile"
)

// pending is output: a file that appears under its name whole or not at all, or a pipe or device, which takes what
// comes.
type pending struct {
	*bufio.Writer
	file   *atomicfile.File // nil for the others
	stream *os.File
}

// newPending opens path for writing. Whoever did so defers discard.
func newPending(path string) (*pending, error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return nil, err
		}
		return &pending{Writer: bufio.NewWriterSize(f, 1<<16), stream: f}, nil
	}
	f, err := atomicfile.Create(path)
	if err != nil {
		return nil, err
	}
	return &pending{Writer: bufio.NewWriterSize(f, 1<<16), file: f}, nil
}

// commit writes what is left and gives a file its name.
func (p *pending) commit() error {
	if p.file == nil {
		return errors.Join(p.Flush(), p.stream.Close())
	}
	if err := p.Flush(); err != nil {
		return err
	}
	return p.file.Commit()
}

// discard closes a stream, and removes a file that has no name yet.
func (p *pending) discard() {
	if p.file == nil {
		p.stream.Close()
		return
	}
	p.file.Discard()
}

// writable says early that a file cannot be written where it is wanted.
func writable(flag, path string) error {
	if info, err := os.Stat(filepath.Dir(path)); err != nil || !info.IsDir() {
		return usagef("--%s %s: there is no directory %s", flag, path, filepath.Dir(path))
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return usagef("--%s %s is a directory, want a file", flag, path)
	} else if err == nil && !info.Mode().IsRegular() {
		return nil // pipes and devices take what comes
	}
	f, err := atomicfile.Create(path)
	var named *fs.PathError
	if errors.As(err, &named) {
		err = named.Err // without the name of a file that nobody knows
	}
	if err != nil {
		return usagef("--%s %s: cannot create the file: %v", flag, path, err)
	}
	f.Discard()
	return nil
}

// endingOf tells by the ending of a file's name which of some formats to write, and that the file can be made. Other
// endings are a mistake of the command line. A name without an ending, a pipe and a device get the first format.
func endingOf(flag, path string, formats ...string) (string, error) {
	found := ""
	for _, f := range formats {
		if strings.HasSuffix(strings.ToLower(path), f) && len(f) > len(found) {
			found = f
		}
	}
	info, err := os.Stat(path)
	if found == "" && (filepath.Ext(path) == "" || err == nil && !info.Mode().IsRegular()) {
		found = formats[0]
	}
	if found == "" {
		return "", usagef("--%s %s: unknown file ending, want one of %s", flag, path,
			strings.Join(formats, ", "))
	}
	return found, writable(flag, path)
}

// endingEarly is endingOf for a file that does not exist yet. One that does is looked at later, when it is known if
// it will be read.
func endingEarly(flag, path string, formats ...string) error {
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	_, err := endingOf(flag, path, formats...)
	return err
}

// tableEndings are the formats of tables with a row for each answer.
var tableEndings = []string{".csv", ".parquet"}
