package input

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Error is a complaint about someone's data: where it is, what was found there, and what would have been right.
type Error struct {
	File string
	Line int // line of a text file as an editor counts it, from 1; 0 where that makes no sense
	// data row from 1, the header not counted; in an .npy file the matrix row from 0; -1 where that makes no sense
	Row    int
	Column string // column name, or number in an .npy file
	Found  string
	Want   string
}

// Error is one line: file, place, found, want.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.File)
	switch {
	case e.Line > 0 && e.Row >= 0:
		fmt.Fprintf(&b, ": line %d (row %d)", e.Line, e.Row)
	case e.Line > 0:
		fmt.Fprintf(&b, ": line %d", e.Line)
	case e.Row >= 0:
		fmt.Fprintf(&b, ": row %d", e.Row)
	}
	if e.Column != "" {
		b.WriteString(", column " + e.Column)
	}
	fmt.Fprintf(&b, ": found %s; want %s", e.Found, e.Want)
	return b.String()
}

// Problems is everything found wrong with some input. It is an error if Total > 0.
type Problems struct {
	List  []*Error // the first few of each kind
	Total int      // all of them
}

// Error is one problem per line, and how many more there are.
func (p *Problems) Error() string {
	var b strings.Builder
	for i, e := range p.List {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(e.Error())
	}
	if more := p.Total - len(p.List); more > 0 {
		fmt.Fprintf(&b, "\nand %d more", more)
	}
	return b.String()
}

// Unwrap lets errors.As find the Errors.
func (p *Problems) Unwrap() []error {
	errs := make([]error, len(p.List))
	for i, e := range p.List {
		errs[i] = e
	}
	return errs
}

// FileError is a complaint about a whole file.
func FileError(file, found, want string) *Error {
	return &Error{File: file, Row: -1, Found: found, Want: want}
}

// Quote shows a value from a file: quoted, and cut if it is long.
func Quote[T ~string | ~[]byte](v T) string {
	const most = 60
	if len(v) > most {
		cut := most
		for cut > most-utf8.UTFMax && !utf8.RuneStart(v[cut]) {
			cut--
		}
		return strconv.Quote(string(v[:cut])) + fmt.Sprintf("… (%d bytes)", len(v))
	}
	return strconv.Quote(string(v))
}
