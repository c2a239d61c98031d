package table

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dygmamba/dygmamba/dataset/internal/feature"
	"github.com/dygmamba/dygmamba/dataset/internal/input"
	"github.com/dygmamba/dygmamba/dataset/internal/native"
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
		for _, name := range c.names {
			if name != "" && !slices.Contains(others, name) {
				found = append(found, asked{name: name})
			}
		}
		if len(found) == 0 {
			return nil, &input.Error{File: c.file, Row: -1, Found: "the columns " + c.list(),
				Want: "others, to encode as features"}
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
	_, err := c.pick(text, nil, "features", option)
	return asked{}, err
}

// encoders read the columns of a table that are to be encoded.
type encoders struct {
	readers []*feature.Reader
}

// begin takes the columns of a file. All files of an import have the same.
func (e *encoders) begin(file string, list []asked, missing []string) error {
	if e.readers == nil {
		for _, a := range list {
			e.readers = append(e.readers, feature.NewReader(a.name, a.kind, missing))
		}
		return nil
	}
	for i, r := range e.readers {
		if i >= len(list) || list[i].name != r.Name() {
			return &input.Error{File: file, Row: -1, Column: r.Name(), Found: "no such feature",
				Want: "the columns of the first file"}
		}
	}
	if len(list) > len(e.readers) {
		column := list[len(e.readers)].name
		return &input.Error{File: file, Row: -1, Column: column, Found: "a feature that is new",
			Want: "the columns of the first file"}
	}
	return nil
}

// read takes the cells of a block.
func (e *encoders) read(file string, b *importBlock) {
	for i := range b.src {
		for j, r := range e.readers {
			if cell := b.cells[i*len(e.readers)+j]; !r.Add(cell) {
				b.place(file, i).Bad(r.Name(), input.Quote(cell), r.Want())
			}
		}
	}
}

// fit makes columns of what was read, and says what a user should know about them.
func (e *encoders) fit(train func(row int) bool, categories int) (list []*feature.Column, warnings []string) {
	for _, r := range e.readers {
		c := r.Fit(train, categories)
		if c.Width() == 0 || c.Kind == feature.Category && c.Hashed == 0 && c.Seen == 1 {
			warnings = append(warnings,
				fmt.Sprintf("column %s has the same value in the whole training part and says nothing", c.Name))
		}
		list = append(list, c)
	}
	return list, warnings
}

// encode appends the features of a row.
func (e *encoders) encode(columns []*feature.Column, row int, out []float32) []float32 {
	for j, r := range e.readers {
		at, width := len(out), columns[j].Width()
		out = append(out, make([]float32, width)...)
		r.Encode(columns[j], row, out[at:])
	}
	return out
}

// encodeEvents fits the encodings of events on the training part and writes the features of all.
func (im *importer) encodeEvents(r *Report) error {
	times, until := im.table.times(), *im.recipe.FittedUntil
	columns, warnings := im.encoders.fit(func(row int) bool { return times[row] <= until }, im.Categories)
	im.recipe.Edge.Columns = columns
	r.Warnings = append(r.Warnings, warnings...)
	plain := max(0, im.width)
	if im.recipe.Edge.Width() == 0 {
		return nil
	}
	im.features = im.out.Section(native.EdgeFeatures, 0, 0, -1)
	im.features.Write(make([]byte, 4*im.recipe.Edge.Width())) // row 0 is padding
	var row []float32
	for i := range times {
		row = im.encoders.encode(columns, i, append(row[:0], im.plain[i*plain:(i+1)*plain]...))
		im.nonzero = im.nonzero || slices.ContainsFunc(row, func(v float32) bool { return v != 0 })
		if _, err := im.features.Write(native.Bytes(row)); err != nil {
			return err
		}
	}
	return nil
}
