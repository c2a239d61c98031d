package main

import (
	"fmt"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/internal/term"
)

// timelineDoc is the rows of features of nodes that change over time.
type timelineDoc struct {
	Rows  int `json:"rows"`
	Nodes int `json:"nodes"` // that have one
	spanDoc
}

// timelineDocOf is nil where features of nodes do not change.
func timelineDocOf(set *dataset.Set) *timelineDoc {
	t := set.Timeline
	if t.Len() == 0 {
		return nil
	}
	return &timelineDoc{t.Len(), t.Nodes(), spanOf(t.Time[0], t.Time[t.Len()-1], set.Clock())}
}

// addTo says it to people.
func (d *timelineDoc) addTo(f *term.Facts) {
	if d != nil {
		f.Add("over time", fmt.Sprintf("features of nodes change: %s rows of %s nodes, %s", term.Count(d.Rows),
			term.Count(d.Nodes), d.spanDoc))
	}
}
