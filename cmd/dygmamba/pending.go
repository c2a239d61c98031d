package main

import (
	"bufio"
	"errors"
	"os"
	"path/filepath"
)

// pending is a file that appears under its name whole or not at all.
type pending struct {
	*bufio.Writer
	file *os.File
	path string // "": a pipe or a device, which takes what comes
}

// newPending makes a file beside path, or beside what path links to. Whoever made it defers discard.
func newPending(path string) (*pending, error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return nil, err
		}
		return &pending{bufio.NewWriterSize(f, 1<<16), f, ""}, nil
	}
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*.tmp")
	if err != nil {
		return nil, err
	}
	return &pending{bufio.NewWriterSize(f, 1<<16), f, path}, nil
}

// commit puts everything on the disk and gives the file its name.
func (p *pending) commit() error {
	if p.path == "" {
		return errors.Join(p.Flush(), p.file.Close())
	}
	err := errors.Join(p.Flush(), p.file.Chmod(0o644), p.file.Sync(), p.file.Close())
	if err == nil {
		err = os.Rename(p.file.Name(), p.path)
	}
	return err
}

// discard removes what has no name yet.
func (p *pending) discard() {
	p.file.Close()
	if p.path != "" {
		os.Remove(p.file.Name())
	}
}

// writable says early that a file cannot be written where it is wanted.
func writable(flag, path string) error {
	if info, err := os.Stat(filepath.Dir(path)); err != nil || !info.IsDir() {
		return usagef("--%s %s: there is no directory %s", flag, path, filepath.Dir(path))
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return usagef("--%s %s is a directory, want a file", flag, path)
	}
	return nil
}
