package dataset

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// pending is a file that appears under its name whole or not at all.
type pending struct {
	*os.File
	path string
}

// createPending makes a file beside path, or beside what path links to, that commit gives that name. It is written out of order, which only
// a file of the disk takes.
func createPending(path string) (*pending, error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no ordinary file (%v) and would be replaced: want another name", path, info.Mode())
	}
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*.tmp")
	if err != nil {
		return nil, err
	}
	return &pending{f, path}, nil
}

// commit puts everything on the disk and then renames. The file is gone if that fails.
func (p *pending) commit() error {
	err := p.Chmod(0o644)
	if err == nil {
		err = p.Sync()
	}
	if e := p.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(p.Name(), p.path)
	}
	if err != nil {
		os.Remove(p.Name())
		return err
	}
	if dir, err := os.Open(filepath.Dir(p.path)); err == nil { // so that the new name survives a power cut; not every system can
		dir.Sync()
		dir.Close()
	}
	return nil
}

// discard removes what was written.
func (p *pending) discard() {
	p.Close()
	os.Remove(p.Name())
}

// store is where a file is written: a pending one, or nowhere.
type store interface {
	io.ReaderAt
	io.WriterAt
	Truncate(size int64) error
	commit() error
	discard()
}

// nowhere forgets what is written. It reads as zeros.
type nowhere struct{}

func (nowhere) WriteAt(p []byte, _ int64) (int, error) { return len(p), nil }
func (nowhere) ReadAt(p []byte, _ int64) (int, error)  { clear(p); return len(p), nil }
func (nowhere) Truncate(int64) error                   { return nil }
func (nowhere) commit() error                          { return nil }
func (nowhere) discard()                               {}
