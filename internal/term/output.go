package term

import (
	"io"
	"os"
)

// Output is a stream that remembers whether all that was written to it arrived: many write to it and do not look, and
// a lost answer must not pass for one that was given.
type Output struct {
	w   io.Writer
	err error
}

// NewOutput watches over w, which is a terminal if w is one.
func NewOutput(w io.Writer) *Output { return &Output{w: w} }

// Write writes, unless something was lost before: what follows a gap would only mislead.
func (o *Output) Write(p []byte) (int, error) {
	if o.err != nil {
		return 0, o.err
	}
	n, err := o.w.Write(p)
	o.err = err
	return n, err
}

// Err is what went wrong first.
func (o *Output) Err() error { return o.err }

// fileOf is the file behind a stream, if there is one.
func fileOf(w io.Writer) (*os.File, bool) {
	if o, ok := w.(*Output); ok {
		w = o.w
	}
	f, ok := w.(*os.File)
	return f, ok
}
