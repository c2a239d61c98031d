package native

import "io"

// store is where a file is written: a whole.File, or nowhere.
type store interface {
	io.ReaderAt
	io.WriterAt
	Truncate(size int64) error
	Commit() error
	Discard()
}

// nowhere forgets what is written. It reads as zeros.
type nowhere struct{}

func (nowhere) WriteAt(p []byte, _ int64) (int, error) { return len(p), nil }
func (nowhere) ReadAt(p []byte, _ int64) (int, error)  { clear(p); return len(p), nil }
func (nowhere) Truncate(int64) error                   { return nil }
func (nowhere) Commit() error                          { return nil }
func (nowhere) Discard()                               {}
