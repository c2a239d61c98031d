package input

import (
	"cmp"
	"slices"
)

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
