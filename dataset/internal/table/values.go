package table

import (
	"bytes"
	"math"

	"github.com/dygmamba/dygmamba/dataset/internal/data"
	"github.com/dygmamba/dygmamba/dataset/internal/feature"
	"github.com/dygmamba/dygmamba/dataset/internal/input"
)

// eventValues gathers the values of events in the order of rows, which is that of edge ids.
type eventValues struct {
	all []float64 // by edge id; nil: there are none
}

// begin takes the values of a set that events are added to.
func (v *eventValues) begin(set *data.Set) {
	if set.Values != nil {
		v.all = append(v.all, set.Values...)
	}
}

// read takes the values of a block. The column is among those to encode.
func (v *eventValues) read(im *importer, b *importBlock) {
	if im.reader.cols.Value == "" || len(b.spot) == 0 {
		return
	}
	at, width := im.encoders.place(im.reader.cols.Value)
	if v.all == nil {
		v.all = make([]float64, 1) // padding
	}
	for i := range b.spot {
		cell := bytes.TrimSpace(b.cells[i*width+at])
		x, ok := input.ParseFloat(cell)
		if !ok || !input.Finite(x) || math.Abs(x) > mostValue {
			b.place(im.reader.path, i).Bad(im.reader.cols.Value, input.Quote(cell), wantValue)
		}
		v.all = append(v.all, x)
	}
}

// mostValue can be squared and added up for all events.
const mostValue = 1e140

const wantValue = "a finite number in every row, of at most 1e140: it is what is predicted"

// done are the values of all edges; nil: there are none.
func (v *eventValues) done(edges int) []float64 {
	if v.all == nil {
		return nil
	}
	return v.all[:edges]
}

// place is where the cell of a column is among those that are read of a row, and how many these are.
func (e *encoders) place(name string) (at, width int) {
	if !e.fitted {
		for i, r := range e.readers {
			if r.Name == name {
				return i, len(e.readers)
			}
		}
	}
	for _, c := range e.columns {
		if c.Name == name {
			return at, e.cells()
		}
		at += max(1, len(e.encoded[c.Name]))
	}
	return -1, e.cells()
}

// withValue sees to it that the column of values is encoded, as a number: what is predicted was seen before.
func (e *encoders) withValue(c chooser, found []asked) ([]asked, error) {
	if e.value == "" {
		return found, nil
	}
	for i, a := range found {
		if a.name != e.value {
			continue
		}
		if a.kind != "" && a.kind != feature.Number {
			return nil, &input.Error{File: c.file, Row: -1, Column: a.name, Found: "kind " + input.Quote(a.kind),
				Want: "kind " + feature.Number + ", for the column of values"}
		}
		found[i].kind = feature.Number
		return found, nil
	}
	return append(found, asked{e.value, feature.Number}), nil
}
