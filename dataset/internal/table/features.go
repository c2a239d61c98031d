package table

import (
	"bytes"
	"slices"
	"strings"

	"github.com/dygmamba/dygmamba/dataset/internal/feature"
	"github.com/dygmamba/dygmamba/dataset/internal/input"
)

// AllColumns stands for every column that has no other meaning.
const AllColumns = "all"

// DefaultCategories is how many values of a column have a feature each.
const DefaultCategories = 32

// asked is a column to be encoded, and its kind; "": seen from its values.
type asked struct{ name, kind string }

// encoded finds the columns to encode, by name or as name:kind. Those in others mean something else already.
func (c chooser) encoded(list, others []string, option string) ([]asked, error) {
	var found []asked
	if len(list) == 1 && list[0] == AllColumns && !slices.Contains(c.names, AllColumns) {
		for _, name := range without(c.names, append(others, "")) {
			found = append(found, asked{name: name})
		}
		if len(found) == 0 {
			return nil, input.FileError(c.file, "the columns "+c.list(), "others, to encode as features")
		}
		return found, nil
	}
	for _, text := range list {
		a, err := c.askedFor(text, option)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(found, func(b asked) bool { return b.name == a.name }) {
			return nil, &input.Error{File: c.file, Row: -1, Column: a.name, Found: "it twice in " + option,
				Want: "every column once"}
		}
		found = append(found, a)
	}
	return found, nil
}

// askedFor reads name or name:kind.
func (c chooser) askedFor(text, option string) (asked, error) {
	if text != "" && slices.Contains(c.names, text) {
		return asked{name: text}, nil
	}
	if at := strings.LastIndexByte(text, ':'); at > 0 && slices.Contains(c.names, text[:at]) {
		if kind := text[at+1:]; !slices.Contains(feature.Kinds(), kind) {
			return asked{}, &input.Error{File: c.file, Row: -1, Column: text[:at],
				Found: "kind " + input.Quote(kind) + " in " + option,
				Want:  strings.Join(feature.Kinds(), ", ")}
		}
		return asked{text[:at], text[at+1:]}, nil
	}
	return asked{}, c.all([]string{text}, option)
}

// encoders turn the cells of columns into features: in a way that is fitted to all rows that were read, or was before.
type encoders struct {
	columns []*feature.Column
	fitted  bool                // the columns are those of a set that exists
	width   int                 // then: of all its features
	encoded map[string][]string // then: columns that are in the table as encoded numbers, and their titles
	readers []*feature.Reader   // what is to be fitted
	feat    []float32           // of a block
	value   string              // the column of values, which is encoded as a number and has no gaps; "": none
}

// choose finds the columns to encode in a file: those that are asked for, which must be the same in all files, or those
// that were encoded before.
func (e *encoders) choose(c chooser, list, others []string, option string, missing []string,
) (names []string, err error) {
	if e.fitted {
		for _, column := range e.columns {
			if titles := e.encoded[column.Name]; titles != nil {
				names = append(names, titles...)
				continue
			}
			if err := c.raw(column, option); err != nil {
				return names, err
			}
			names = append(names, column.Name)
		}
		return names, c.all(names, option)
	}
	found, err := c.encoded(list, others, option)
	if err != nil {
		return nil, err
	}
	if found, err = e.withValue(c, found); err != nil {
		return nil, err
	}
	first := e.readers == nil
	bad := input.Error{File: c.file, Row: -1, Want: "the columns of the first file"}
	for i, a := range found {
		names = append(names, a.name)
		if first {
			e.readers = append(e.readers, feature.NewReader(a.name, a.kind, missing))
		} else if i >= len(e.readers) {
			bad.Column, bad.Found = a.name, "a feature that is new"
			return nil, &bad
		}
	}
	for i, r := range e.readers {
		if i >= len(names) || names[i] != r.Name {
			bad.Column, bad.Found = r.Name, "no such feature"
			return nil, &bad
		}
	}
	return names, nil
}

// raw says what is wrong where a table lacks the values of a column: it may have the numbers that these became.
func (c chooser) raw(column *feature.Column, option string) error {
	if slices.Contains(c.names, column.Name) {
		return nil
	}
	titles := exportTitles(column)
	for _, name := range c.names {
		if slices.Contains(titles, name) || slices.Contains(column.Titles(), name) {
			return &input.Error{File: c.file, Row: -1, Column: name,
				Found: "encoded numbers of the column " + column.Name,
				Want: "a column " + column.Name + " with values as they were imported, or the option Schema with the " +
					"schema file of the export"}
		}
	}
	return c.all([]string{column.Name}, option)
}

// read takes the cells of a block. It returns the features of its rows, as far as they are known: plain ones alone,
// plain of them in a row, where the others are still to be fitted.
func (e *encoders) read(file string, b *importBlock, plain int) []float32 {
	if !e.fitted {
		for i := range b.spot {
			for j, r := range e.readers {
				if cell := b.cells[i*len(e.readers)+j]; !r.Add(cell) && r.Name != e.value {
					b.place(file, i).Bad(r.Name, input.Quote(cell), r.Want())
				}
			}
		}
		return b.feat
	}
	if b.width != plain { // was complained about
		return nil
	}
	e.feat = e.feat[:0]
	for i := range b.spot {
		e.feat = append(e.feat, b.feat[i*plain:(i+1)*plain]...)
		cells := b.cells[i*e.cells():]
		for _, c := range e.columns {
			at := len(e.feat)
			e.feat = append(e.feat, make([]float32, c.Width())...)
			if titles := e.encoded[c.Name]; titles != nil {
				e.numbers(b.place(file, i), titles, cells, e.feat[at:])
				cells = cells[len(titles):]
				continue
			}
			if !c.Encode(cells[0], e.feat[at:]) && c.Name != e.value {
				b.place(file, i).Bad(c.Name, input.Quote(cells[0]), c.Want())
			}
			cells = cells[1:]
		}
		e.feat = append(e.feat, make([]float32, (i+1)*e.width-len(e.feat))...)
	}
	return e.feat
}

// cells is how many cells of a row are read.
func (e *encoders) cells() (n int) {
	for _, c := range e.columns {
		n += max(1, len(e.encoded[c.Name]))
	}
	return n
}

// numbers reads the cells of a column that is encoded already.
func (e *encoders) numbers(p input.Place, titles []string, cells [][]byte, out []float32) {
	for i, title := range titles {
		x, ok := input.ParseFloat(bytes.TrimSpace(cells[i]))
		if out[i] = float32(x); !ok || !input.Finite(float64(out[i])) {
			p.Bad(title, input.Quote(cells[i]), "a finite number that fits into 32 bits")
		}
	}
}

// fit makes columns of what was read, and says what a user should know about them.
func (im *importer) fit(e *encoders, train func(row int) bool) []*feature.Column {
	for _, r := range e.readers {
		c := r.Fit(train, im.Categories)
		if c.Width() == 0 || c.Kind == feature.Category && c.Hashed == 0 && c.Seen == 1 {
			im.warn("column %s has the same value in the whole training part and says nothing", c.Name)
		}
		e.columns = append(e.columns, c)
	}
	return e.columns
}

// encode appends the features of a row that was read.
func (e *encoders) encode(row int, out []float32) []float32 {
	for j, r := range e.readers {
		at, width := len(out), e.columns[j].Width()
		out = append(out, make([]float32, width)...)
		r.Encode(e.columns[j], row, out[at:])
	}
	return out
}
