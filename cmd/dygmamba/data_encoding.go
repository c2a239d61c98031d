package main

import (
	"fmt"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/internal/term"
)

// encodingDoc says how columns of tables became features.
type encodingDoc struct {
	FittedUntil string             `json:"fitted_until"` // the last time that what was fitted knows of
	Events      []encodedColumnDoc `json:"events,omitempty"`
	Nodes       []encodedColumnDoc `json:"nodes,omitempty"`
}

type encodedColumnDoc struct {
	Column   string   `json:"column"`
	Kind     string   `json:"kind"`
	Features int      `json:"features"`
	About    string   `json:"about"`
	Values   []string `json:"values,omitempty"` // of a category whose values have a feature each, in their order
}

// encodingDocOf is nil where nothing was fitted.
func encodingDocOf(r *dataset.Recipe, timeFormat string) *encodingDoc {
	if r == nil || r.FittedUntil == nil {
		return nil
	}
	return &encodingDoc{dataset.FormatTime(*r.FittedUntil, timeFormat), encodedColumns(r.Edge), encodedColumns(r.Node)}
}

func encodedColumns(e dataset.Encoding) []encodedColumnDoc {
	var docs []encodedColumnDoc
	for _, c := range e.Columns {
		docs = append(docs, encodedColumnDoc{c.Name, c.Kind, c.Width(), c.About(), c.Values})
	}
	return docs
}

// addTo says it to people.
func (d *encodingDoc) addTo(f *term.Facts) {
	if d == nil {
		return
	}
	add := func(what string, columns []encodedColumnDoc) {
		for i, c := range columns {
			if i > 0 {
				what = ""
			}
			features := "1 feature"
			if c.Features != 1 {
				features = fmt.Sprintf("%d features", c.Features)
			}
			f.Add(what, fmt.Sprintf("%s: %s, %s; %s", c.Column, c.Kind, features, c.About))
		}
	}
	add("encoded", d.Events)
	add("of nodes", d.Nodes)
	f.Add("fitted on", "the training part: events until "+d.FittedUntil)
}
