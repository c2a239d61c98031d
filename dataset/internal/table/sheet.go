package table

import (
	"context"
	"io"
	"slices"
	"strings"

	"github.com/dygmamba/dygmamba/dataset/internal/input"
)

// Sheet is a table whose columns are all kept as text, for questions about events rather than events.
type Sheet struct {
	Columns []string // names; in JSON lines more may come with later rows
	At      [3]int   // which of them are the source, the destination and the time; −1 for one that is not asked for
	// Rows have a value for each of the columns known so far, and their places are for complaints about them.
	Rows   [][]string
	Places []input.Place

	asks     Asks
	headless bool      // a list of names without a header
	roles    [3]string // the columns at At
	reader   *tableReader
	all      input.Block // problems of all rows
}

// sheetNames are those that columns of questions have first of all; otherwise they are found as in a table of events.
var sheetNames = [3]string{"u", "i", "ts"}

// Asks is what the rows of a sheet ask.
type Asks uint8

// Questions: do source and destination interact at a time, or whom does the source meet then? Or no question: a list
// of destinations, one name a line or the column i of a table.
const (
	Pairs Asks = iota
	Sources
	Targets
)

const wantNames = "one name in each line, or a column i in the first line"

// ReadSheet reads a table; see dataset.ReadSheet.
func ReadSheet(ctx context.Context, path string, in io.Reader, asks Asks, o Options) (*Sheet, error) {
	o.limit()
	if asks == Targets {
		o.Delimiter = "," // names may have spaces
	}
	s := &Sheet{asks: asks}
	s.all.Finder.Most = o.MaxProblems
	file, err := openTable(ctx, path, in)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	s.reader = &tableReader{path: file.Path, o: o, choose: s.choose, merge: s.merge, sheet: s}
	if err := s.reader.read(ctx, file); err != nil {
		return nil, err
	}
	for role, name := range s.roles {
		if s.At[role] = -1; name != "" {
			s.At[role] = slices.Index(s.Columns, name)
		}
	}
	return s, s.Err()
}

// Err is what is wrong with the rows, by all who complained, or nil.
func (s *Sheet) Err() error { return s.all.Finder.Err() }

// noHeader says whether the first line of a list is a name.
func (s *Sheet) noHeader(fields [][]byte) bool {
	s.headless = s.asks == Targets && !slices.ContainsFunc(fields, func(f []byte) bool {
		return strings.TrimSpace(string(f)) == sheetNames[1]
	})
	return s.headless
}

// choose finds the columns that are asked for, and takes all of them.
func (s *Sheet) choose(names []string) (Columns, error) {
	s.Columns = slices.Clone(names)
	all := Columns{Features: names}
	c, o := chooser{s.reader.path, names}, s.reader.o
	for k, role := range o.roles() {
		if s.asks == Sources && k == 1 || s.asks == Targets && k != 1 {
			continue
		}
		switch {
		case s.headless:
			role.likely = names
		case role.likely[0] != sheetNames[k]:
			role.likely = append([]string{sheetNames[k]}, role.likely...)
		}
		var err error
		if s.roles[k], err = c.pick(role); err != nil {
			return all, err
		}
	}
	if r := s.roles; s.asks != Targets && (r[0] == r[1] || r[0] == r[2] || r[1] == r[2]) {
		return all, input.FileError(s.reader.path,
			"the same column for two of source, destination and time: "+r[0]+", "+r[2], "different columns")
	}
	return all, nil
}

// drop does without a column that cannot be kept as text, unless it is asked for.
func (s *Sheet) drop(name string) bool {
	if slices.Contains(s.roles[:], name) {
		return false
	}
	s.Columns = slices.DeleteFunc(s.Columns, func(c string) bool { return c == name })
	return true
}

func (s *Sheet) merge(b *importBlock) error {
	r, more := s.reader, b.more
	n := len(r.wanted) - atFeatures
	for i, at := range b.spot {
		values := make([]string, max(n, len(s.Columns)))
		for k, cell := range b.cells[i*n : (i+1)*n] {
			values[k] = string(cell)
		}
		for ; len(more) > 0 && more[0].row == i; more = more[1:] {
			k := slices.Index(s.Columns, more[0].name)
			if k < 0 {
				k = len(s.Columns)
				s.Columns, values = append(s.Columns, more[0].name), append(values, "")
			}
			values[k] = string(more[0].text)
		}
		line := int(at.line)
		if line > 0 {
			line += r.lines
		}
		s.Rows = append(s.Rows, values)
		s.Places = append(s.Places, s.all.Place(r.path, line, r.rows+int(at.row)))
	}
	r.take(&s.all.Finder, b)
	return nil
}
