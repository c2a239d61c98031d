package input

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/dygmamba/dygmamba/event"
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

// Place is where a value stands, for complaints about it.
type Place struct {
	File      string
	Line, Row int
	finder    *Finder
}

// Bad notes what was found there, and what would have been right.
func (p Place) Bad(column, found, want string) {
	p.finder.Add(&Error{File: p.File, Line: p.Line, Row: p.Row, Column: column, Found: found, Want: want})
}

// WantWithin is said of times that are too far away.
var WantWithin = fmt.Sprintf("a time between %g and %g", -event.MaxTime, event.MaxTime)

// WantFloat32 is said of labels and features that are no numbers, or too large.
const WantFloat32 = "a finite number that fits into 32 bits"

// Finder collects problems, the first most of each kind. The zero finder counts and keeps nothing.
type Finder struct {
	Problems
	Most  int
	kinds map[kind]*tally
}

// kind is what makes two problems alike.
type kind struct{ file, column, want string }

type tally struct{ seen, kept int }

// Add takes a problem.
func (f *Finder) Add(e *Error) { f.count(e, 1) }

// count adds a problem that occurred times times, e being the first.
func (f *Finder) count(e *Error, times int) {
	t := f.tally(e)
	t.seen += times
	f.Total += times
	if t.kept < f.Most {
		t.kept++
		f.List = append(f.List, e)
	}
}

func (f *Finder) tally(e *Error) *tally {
	if f.kinds == nil {
		f.kinds = map[kind]*tally{}
	}
	k := kind{e.File, e.Column, e.Want}
	if f.kinds[k] == nil {
		f.kinds[k] = &tally{}
	}
	return f.kinds[k]
}

// Take moves what g found in a piece of the input to f; the piece begins after the given rows and lines. g is empty
// afterwards.
func (f *Finder) Take(g *Finder, rows, lines int) {
	for _, e := range g.List {
		if e.Row > 0 {
			e.Row += rows
		}
		if e.Line > 0 {
			e.Line += lines
		}
		t := g.tally(e)
		f.count(e, t.seen-t.kept+1)
		t.seen, t.kept = 1, 1 // what was not kept is counted with the first
	}
	g.Problems = Problems{}
	clear(g.kinds)
}

// Err is everything found, in the order of the input, or nil.
func (f *Finder) Err() error {
	if f.Total == 0 {
		return nil
	}
	rank := map[string]int{} // files in the order of their first problem
	for _, e := range f.List {
		if _, ok := rank[e.File]; !ok {
			rank[e.File] = len(rank)
		}
	}
	slices.SortStableFunc(f.List, func(a, b *Error) int {
		return cmp.Or(rank[a.File]-rank[b.File], a.Line-b.Line, a.Row-b.Row)
	})
	return &f.Problems
}

// First is the first problem in the order of the input, or nil.
func (f *Finder) First() error {
	if f.Err() == nil {
		return nil
	}
	return f.List[0]
}
