// Package atomicfile answers: how does a file appear under its name whole or not at all, and is it still the same?
package atomicfile

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// File is one that has no name yet.
type File struct {
	*os.File
	path string
	mode fs.FileMode // permissions of the file that it replaces; 0: there is none
}

// Create makes a file beside path, or beside what path links to, that Commit gives that name. Devices, pipes and
// directories are refused: they would be replaced. What a killed process left there before it had its name is removed.
//
// A file that is replaced keeps its permissions. A new one has those that the system gives new files (umask).
func Create(path string) (*File, error) {
	file := &File{path: path}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no ordinary file (%v) and would be replaced: want another name",
			path, info.Mode())
	} else if err == nil {
		file.mode = info.Mode().Perm()
	}
	if target, err := filepath.EvalSymlinks(path); err == nil {
		file.path = target
	}
	dir, base := filepath.Split(file.path)
	sweep(filepath.Dir(file.path))
	for number := 0; number < 1000; number++ {
		name := fmt.Sprintf("%s.%s%s%d-%d%s", dir, base, mark, os.Getpid(), number, ending)
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, file.creation())
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return nil, renamed(err, name, path)
		}
		if hold(f); still(f) {
			file.File = f
			return file, nil
		}
		f.Close() // someone swept it away before it was held
	}
	return nil, fmt.Errorf("%s: files beside it disappear as soon as they are made", path)
}

// creation is the mode to create a file with: never more than that of the file it replaces.
func (f *File) creation() fs.FileMode {
	if f.mode != 0 {
		return f.mode | 0o200
	}
	return 0o666
}

// Write is that of the file, with its later name in errors.
func (f *File) Write(p []byte) (int, error) {
	n, err := f.File.Write(p)
	return n, renamed(err, f.Name(), f.path)
}

// WriteAt is that of the file, with its later name in errors.
func (f *File) WriteAt(p []byte, offset int64) (int, error) {
	n, err := f.File.WriteAt(p, offset)
	return n, renamed(err, f.Name(), f.path)
}

// renamed replaces a file's name in an error.
func renamed(err error, from, to string) error {
	var named *fs.PathError
	if errors.As(err, &named) && named.Path == from {
		return &fs.PathError{Op: named.Op, Path: to, Err: named.Err}
	}
	return err
}

// A file that has no name yet is called .NAME.dygmamba-PID-N.tmp. Its process holds a lock on it, which ends with the
// process.
const (
	mark   = ".dygmamba-"
	ending = ".tmp"
)

// sweep removes what killed processes left in a directory.
func sweep(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		if name := e.Name(); name[0] == '.' && strings.HasSuffix(name, ending) && strings.Contains(name, mark) &&
			e.Type().IsRegular() {
			if path := filepath.Join(dir, name); abandoned(path) {
				os.Remove(path)
			}
		}
	}
}

// still says whether a file is there under its name.
func still(f *os.File) bool {
	is, err := f.Stat()
	if err != nil {
		return false
	}
	named, err := os.Stat(f.Name())
	return err == nil && os.SameFile(is, named)
}

// Lock keeps other processes from replacing a file until unlock is called, where the system can. A process that ends
// unlocks.
func Lock(path string) (unlock func(), err error) {
	for {
		if _, err := os.Stat(path); err != nil || !renamesOpen {
			return func() {}, err
		}
		f, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		if others, _ := hold(f); others {
			f.Close()
			return nil, fmt.Errorf("%s is being replaced by another process: wait for that, then try again", path)
		}
		if still(f) {
			return func() { f.Close() }, nil
		}
		f.Close() // what is locked has been replaced meanwhile
	}
}

// Own is Create for a directory that one process alone writes to: its file has a fixed name until then, so that a
// process that is killed again and again leaves at most one behind.
func Own(path string) (*File, error) {
	file := &File{path: path}
	if info, err := os.Stat(path); err == nil {
		file.mode = info.Mode().Perm()
	}
	f, err := os.OpenFile(path+".tmp", os.O_RDWR|os.O_CREATE|os.O_TRUNC, file.creation())
	if err != nil {
		return nil, renamed(err, path+".tmp", path)
	}
	file.File = f
	return file, nil
}

// Commit puts everything on the disk and then renames. The file is gone if that fails.
func (f *File) Commit() error {
	var err error
	if f.mode != 0 {
		err = f.Chmod(f.mode)
	}
	if err == nil {
		err = f.Sync()
	}
	if !renamesOpen {
		err = errors.Join(err, f.Close())
	}
	if err == nil {
		err = os.Rename(f.Name(), f.path)
	}
	if renamesOpen { // it is held until it has its name
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		os.Remove(f.Name())
		return renamed(err, f.Name(), f.path)
	}
	// so that the new name survives a power cut; not every system can
	if dir, err := os.Open(filepath.Dir(f.path)); err == nil {
		dir.Sync()
		dir.Close()
	}
	return nil
}

// Discard removes what has no name yet.
func (f *File) Discard() {
	f.Close()
	os.Remove(f.Name())
}

// Write fills a file that appears whole or not at all.
func Write(path string, fill func(io.Writer) error) error {
	file, err := Create(path)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(file, 1<<20)
	err = fill(w)
	if err == nil {
		err = w.Flush()
	}
	if err != nil {
		file.Discard()
		return err
	}
	return file.Commit()
}

// WriteJSON writes a value in lines that people can read.
func WriteJSON(path string, value any) error {
	raw, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return Write(path, func(w io.Writer) error {
		_, err := w.Write(append(raw, '\n'))
		return err
	})
}

// Hash is the SHA-256 of a file in hexadecimal.
func Hash(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
