package data

import (
	"fmt"
	"strings"

	"github.com/dygmamba/dygmamba/dataset/internal/feature"
	"github.com/dygmamba/dygmamba/event"
)

// Recipe is how tables became a set, so that rows that come later become more of the same.
type Recipe struct {
	Source   string `json:"src"` // columns by name
	Target   string `json:"dst"`
	Time     string `json:"time"`
	Label    string `json:"label,omitempty"`
	Kind     string `json:"kind,omitempty"`
	ID       string `json:"id,omitempty"`
	Value    string `json:"value,omitempty"`       // is among the columns of Edge too
	Layout   string `json:"time_layout,omitempty"` // of dates that are not in one of the usual forms
	NoHeader bool   `json:"no_header,omitempty"`   // columns are called 1, 2, 3, …

	KindOfFile bool `json:"kind_of_file,omitempty"` // kinds are names of files

	Edge     Encoding `json:"edge,omitzero"`       // features of events
	Node     Encoding `json:"node,omitzero"`       // features of nodes
	NodeID   string   `json:"node_id,omitempty"`   // the column of names in a table of nodes
	NodeSide string   `json:"node_side,omitempty"` // and of sides
	NodeTime string   `json:"node_time,omitempty"` // and of the times from which on rows hold; "": they always do

	NodeLabels LabelColumns `json:"node_labels,omitzero"` // in a table of labels of nodes

	// FittedUntil is the time up to which events, and the nodes that occur in them, told the encodings what they know.
	FittedUntil *event.Time `json:"fitted_until,omitempty"`
}

// ValueColumn is the name of the column of values, "" where there is none.
func (s *Set) ValueColumn() string {
	if s.Recipe == nil {
		return ""
	}
	return s.Recipe.Value
}

// LabelColumns are those of a table of labels of nodes, by name.
type LabelColumns struct {
	Node  string `json:"node"`
	Side  string `json:"side,omitempty"`
	Time  string `json:"time"`
	Label string `json:"label"`
}

// Encoding is how the columns of a table become features: those taken as they are first, then those that were fitted.
type Encoding struct {
	Plain      []string          `json:"plain,omitempty"`       // columns of numbers, or of lists of numbers
	PlainWidth int               `json:"plain_width,omitempty"` // features of all of them
	Columns    []*feature.Column `json:"columns,omitempty"`
}

// Width is the number of features.
func (e *Encoding) Width() int {
	n := e.PlainWidth
	for _, c := range e.Columns {
		n += c.Width()
	}
	return n
}

// Titles names the features: by their column, numbered where those were lists.
func (e *Encoding) Titles() []string {
	var list []string
	for i := range e.PlainWidth {
		switch {
		case len(e.Plain) == e.PlainWidth:
			list = append(list, e.Plain[i])
		default:
			list = append(list, fmt.Sprintf("%s_%d", strings.Join(e.Plain, "_"), i+1))
		}
	}
	for _, c := range e.Columns {
		list = append(list, c.Titles()...)
	}
	return list
}

// Check says what is wrong with a recipe that came from a file, for features of these widths.
func (r *Recipe) Check(edge, node int) error {
	for _, e := range []struct {
		what  string
		of    *Encoding
		width int
	}{{"events", &r.Edge, edge}, {"nodes", &r.Node, node}} {
		if e.of.PlainWidth < 0 || e.of.PlainWidth > e.width {
			return fmt.Errorf("%d plain features of %s, the data have %d", e.of.PlainWidth, e.what, e.width)
		}
		if err := e.of.check(); err != nil {
			return fmt.Errorf("%s: %w", e.what, err)
		}
		if w := e.of.Width(); w != 0 && w != e.width {
			return fmt.Errorf("%d features of %s, the data have %d", w, e.what, e.width)
		}
	}
	return nil
}
