package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/internal/term"
)

// removal is what 'data retract' and 'data forget' have in common.
type removal struct {
	out  string
	ids  string // --ids
	rows string // --rows
	side string
}

func newDataRetract(a *app) *cobra.Command {
	var r removal
	cmd := &cobra.Command{
		Use:   "retract X.dgm --ids FILE --out Y.dgm",
		Short: "Write a data set without some of its events",
		Args:  takes("a data set"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if (r.ids == "") == (r.rows == "") {
				return usagef("%s needs --ids FILE or --rows FILE, one of them", cmd.CommandPath())
			}
			return r.run(cmd.Context(), a, args[0], r.retract)
		},
	}
	cmd.Flags().StringVar(&r.ids, "ids", "", "`file` with the ids of events to remove, one a line")
	cmd.Flags().StringVar(&r.rows, "rows", "", "`file` with the numbers of events to remove, counted from 1 in the "+
		"order in which they were imported, one a line")
	cmd.Flags().StringVar(&r.out, "out", "", "`file` to write (required)")
	return cmd
}

func newDataForget(a *app) *cobra.Command {
	var r removal
	cmd := &cobra.Command{
		Use:   "forget X.dgm NODE... --out Y.dgm",
		Short: "Write a data set without some of its nodes",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) < 2 {
				return usagef("%s needs a .dgm file and the nodes to forget", cmd.CommandPath())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			choose := func(set *dataset.Set) (func(int) bool, map[event.Node]bool, error) {
				erase, err := r.nodes(set, args[1:])
				return func(int) bool { return false }, erase, err
			}
			return r.run(cmd.Context(), a, args[0], choose)
		},
	}
	cmd.Flags().StringVar(&r.side, "side", "", "in bipartite data: forget only nodes of this `side`, source or "+
		"destination")
	cmd.Flags().StringVar(&r.out, "out", "", "`file` to write (required)")
	return cmd
}

// run opens a set, lets choose say what goes, and writes the rest.
func (r *removal) run(ctx context.Context, a *app, path string,
	choose func(*dataset.Set) (drop func(int) bool, erase map[event.Node]bool, err error)) error {
	switch {
	case r.out == "":
		return usagef("--out is missing: the file to write")
	case sameFile(path, r.out):
		return usagef("--out %s is the data set itself: want another file, which may replace it then", r.out)
	case filepath.Ext(r.out) != ".dgm":
		return usagef("--out is %q, must end with .dgm", r.out)
	}
	set, err := a.openSet(ctx, path, "", "")
	if err != nil {
		return err
	}
	defer set.Close()
	if err := set.Log.Verify(); err != nil {
		return err
	}
	drop, erase, err := choose(set)
	if err != nil {
		return err
	}
	part := dataset.Without(set, drop, erase)
	if err := dataset.Save(r.out, part); err != nil {
		return err
	}
	doc := struct {
		Out     string `json:"out"`
		Removed int    `json:"removed"`
		Events  int    `json:"events"`
		Nodes   int    `json:"nodes"`
	}{r.out, set.Log.Len() - part.Log.Len(), part.Log.Len(), max(0, part.NumNodes()-1)}
	return a.emit(doc, func(w io.Writer, s term.Style) error {
		fmt.Fprintf(w, "wrote %s without %s; %s and %s remain\n", s.Strong(doc.Out),
			term.Counted(doc.Removed, "event"), term.Counted(doc.Events, "event"), term.Counted(doc.Nodes, "node"))
		_, err := fmt.Fprintln(w, "models that were trained with the old file keep what they learned until they are "+
			"trained again")
		return err
	})
}

// retract finds events by their ids or rows.
func (r *removal) retract(set *dataset.Set) (func(int) bool, map[event.Node]bool, error) {
	path := r.ids + r.rows
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, err
	}
	var list []string
	for line := range strings.Lines(string(raw)) {
		if line = strings.TrimSpace(line); line != "" {
			list = append(list, line)
		}
	}
	if len(list) == 0 {
		return nil, nil, &dataset.InputError{File: path, Row: -1, Found: "no line", Want: "at least one event"}
	}
	gone := map[int]bool{}
	if r.ids != "" {
		places, err := set.Positions(list)
		if err != nil {
			return nil, nil, &dataset.InputError{File: path, Row: -1, Found: err.Error(), Want: "ids of its events"}
		}
		for _, i := range places {
			gone[i] = true
		}
		return func(i int) bool { return gone[i] }, nil, nil
	}
	places, all := map[event.Edge]int{}, set.Log.All()
	for i := range all.Len() {
		places[all.Edge(i)] = i
	}
	for i, text := range list {
		var row event.Edge
		_, err := fmt.Sscan(text, &row)
		at, ok := places[row]
		if err != nil || !ok {
			return nil, nil, &dataset.InputError{File: path, Row: i + 1, Found: text,
				Want: fmt.Sprintf("the number of an event, up to %d", set.Edge.Rows-1)}
		}
		gone[at] = true
	}
	return func(i int) bool { return gone[i] }, nil, nil
}

// nodes finds the nodes to forget.
func (r *removal) nodes(set *dataset.Set, names []string) (map[event.Node]bool, error) {
	apart := set.Names.Sources() > 0
	if r.side != "" && (r.side != "source" && r.side != "destination" || !apart) {
		return nil, usagef("--side is %q, must be source or destination, in data whose sides are named apart", r.side)
	}
	erase := map[event.Node]bool{}
	for _, name := range names {
		found := false
		if id, ok := set.Names.Source(name); ok && r.side != "destination" && int(id) < set.NumNodes() {
			erase[id], found = true, true
		}
		if id, ok := set.Names.Target(name); ok && r.side != "source" && int(id) < set.NumNodes() {
			erase[id], found = true, true
		}
		if !found {
			return nil, &dataset.InputError{File: set.Name, Row: -1, Found: fmt.Sprintf("no node %q", name),
				Want: "nodes of the data set; nothing was written"}
		}
	}
	return erase, nil
}
