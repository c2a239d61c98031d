package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

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

// addLabelFile are the flags of a table of labels of nodes.
func addLabelFile(cmd *cobra.Command, f *dataset.LabelFile, found string) {
	flags := cmd.Flags()
	flags.StringVar(&f.Path, "node-labels", "",
		"table with classes of nodes, one row per node and time, for 'train --task node-classification'")
	flags.StringVar(&f.Node, "node-label-id", "", "with --node-labels: `column` of node names"+found)
	flags.StringVar(&f.Time, "node-label-time", "", "with --node-labels: `column` of times"+found)
	flags.StringVar(&f.Label, "node-label", "", "with --node-labels: `column` of classes"+found)
	flags.StringVar(&f.Side, "node-label-side", "",
		"with --node-labels and bipartite data: `column` with the values source or destination"+found)
}

// exportLabels writes the labels of nodes.
func exportLabels(ctx context.Context, w io.Writer, set *dataset.Set, format string) (*dataset.Exported, error) {
	rows, columns, o := dataset.ExportNodeLabels(set)
	done := &dataset.Exported{Rows: rows, Options: dataset.ImportOptions{NodeLabels: o}}
	for _, c := range columns {
		done.Columns = append(done.Columns, c.Name)
	}
	return done, dataset.WriteColumns(ctx, w, format, rows, columns...)
}

// nodeLabelsDoc is the labels of nodes with times of their own.
type nodeLabelsDoc struct {
	Rows    int            `json:"rows"`
	Classes []nodeClassDoc `json:"classes"`
	spanDoc
}

type nodeClassDoc struct {
	Class string `json:"class"`
	Rows  int    `json:"rows"`
}

// nodeLabelsDocOf is nil where there are none.
func nodeLabelsDocOf(set *dataset.Set) *nodeLabelsDoc {
	l := set.NodeLabels
	if l.Len() == 0 {
		return nil
	}
	d := &nodeLabelsDoc{Rows: l.Len(), spanDoc: spanOf(l.Time[0], l.Time[l.Len()-1], set.Clock())}
	for i, n := range l.Counts() {
		d.Classes = append(d.Classes, nodeClassDoc{l.Names[i], n})
	}
	return d
}

// addTo says it to people.
func (d *nodeLabelsDoc) addTo(f *term.Facts) {
	if d == nil {
		return
	}
	const most = 8
	var list []string
	for _, c := range d.Classes[:min(most, len(d.Classes))] {
		list = append(list, fmt.Sprintf("%s (%s)", c.Class, term.Count(c.Rows)))
	}
	if more := len(d.Classes) - most; more > 0 {
		list = append(list, fmt.Sprintf("%d more", more))
	}
	f.Add("node labels", fmt.Sprintf("%s: %s; %s", term.Count(d.Rows), strings.Join(list, ", "), d.spanDoc))
}
