// Package layout answers: how are published data sets kept?
//
// As DyGLib keeps them: ml_NAME.csv with the events and two NumPy files of features. And before that, as the JODIE
// project published them: one raw csv.
package layout

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/dygmamba/dygmamba/dataset/internal/data"
	"github.com/dygmamba/dygmamba/dataset/internal/input"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/protocol"
)

// Layout is the three files of one data set as DyGLib keeps them.
type Layout struct {
	CSV         string // of the events
	name        string
	edges, node string // of their features; "" for a missing one
}

// Find finds the files of the data set name in dir, plain or gzip.
func Find(dir, name string) (Layout, bool) {
	find := func(suffix string) string {
		for _, end := range []string{"", ".gz"} {
			if path := filepath.Join(dir, "ml_"+name+suffix+end); input.Exists(path) {
				return path
			}
		}
		return ""
	}
	l := Layout{name: name, CSV: find(".csv"), edges: find(".npy"), node: find("_node.npy")}
	return l, l.CSV != ""
}

// In finds the one data set in a directory; where there are several, the one the directory is named after.
func In(dir string) (Layout, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return Layout{}, err
	}
	var names []string
	for _, e := range entries {
		name, ok := strings.CutPrefix(strings.TrimSuffix(e.Name(), ".gz"), "ml_")
		if name, csv := strings.CutSuffix(name, ".csv"); ok && csv {
			if name == filepath.Base(dir) {
				names = []string{name}
				break
			}
			if len(names) == 0 || names[len(names)-1] != name {
				names = append(names, name)
			}
		}
	}
	switch len(names) {
	case 0:
		return Layout{}, input.FileError(dir, "no ml_NAME.csv or ml_NAME.csv.gz", "a directory in the ml_* layout")
	case 1:
		l, _ := Find(dir, names[0])
		return l, nil
	}
	return Layout{}, input.FileError(dir, fmt.Sprintf("%d data sets (%s)", len(names), strings.Join(names, ", ")),
		"one, or the path of its ml_NAME.csv")
}

// Read reads the three files at once. The error about the data is that about its first problem.
func (l Layout) Read(ctx context.Context) (*data.Set, error) {
	set, found := l.load(ctx, 1)
	if err := found.First(); err != nil {
		return nil, err
	}
	if set == nil {
		return nil, found.broken
	}
	return set, nil
}

// Check reads the three files to the end and returns what is wrong with them, up to most problems of each kind. The set
// is nil if anything is. The error is for what kept it from reading.
func (l Layout) Check(ctx context.Context, most int) (*data.Set, input.Problems, error) {
	set, found := l.load(ctx, most)
	found.Err() // sorts
	return set, found.Problems, found.broken
}

// loaded is what came of loading: problems of the data, or the reason why it could not be read at all.
type loaded struct {
	input.Finder
	broken error
}

// note sorts an error into problems and reasons.
func (l *loaded) note(err error) {
	var bad *input.Error
	if errors.As(err, &bad) {
		l.Add(bad)
	} else if err != nil && l.broken == nil {
		l.broken = err
	}
}

// load reads the three files and keeps up to most problems of each kind. The set is nil if there are any.
func (l Layout) load(ctx context.Context, most int) (*data.Set, *loaded) {
	res := &loaded{Finder: input.Finder{Most: most}}
	table := newTable(l.CSV, &res.Finder)
	edges := &featureFile{path: l.edges, what: "edges", why: "the largest idx"}
	nodes := &featureFile{path: l.node, what: "nodes", why: "the largest id"}
	var wg sync.WaitGroup
	for _, f := range []*featureFile{edges, nodes} {
		wg.Go(func() { f.Features, f.err = readFeatures(f.path) })
	}
	err := table.read(ctx)
	wg.Wait()
	res.note(err)
	readable := err == nil
	if readable && len(table.Src) == 0 && res.Total == 0 {
		res.Add(input.FileError(l.CSV, "no events", "at least one row below the header"))
	}
	if readable && res.Total == 0 && edges.err == nil && nodes.err == nil {
		res.note(scattered(l.CSV, table.maxNode, len(table.Src)))
	}
	edges.last, nodes.last = int(table.maxEdge), int(table.maxNode)
	var warnings []string
	if files := l.Absent(); len(files) > 0 {
		warnings = append(warnings, fmt.Sprintf("%s: no %s: its features are zero",
			filepath.Dir(l.CSV), strings.Join(files, " and no ")))
	}
	for _, f := range []*featureFile{edges, nodes} {
		bad := f.err
		if readable && bad == nil {
			var surplus bool
			if surplus, bad = f.fits(); surplus && most == 1 {
				// A cut event list beside the features of the whole one: what is there can be used.
				warnings = append(warnings, bad.Error()+"; the rows beyond are not used")
				firstRows(&f.Features, f.last+1)
				bad = nil
			}
		}
		res.note(bad)
	}
	if res.Total > 0 || res.broken != nil {
		return nil, res
	}
	log, err := event.FromColumns(table.Columns)
	if err != nil {
		res.broken = fmt.Errorf("load %s: %w", l.CSV, err)
		return nil, res
	}
	return &data.Set{Name: l.name, Log: log, Node: nodes.Features, Edge: edges.Features, Bipartite: data.Bipartite(log),
		Sampling: protocol.Reference, TimeFormat: input.TimeNumber, Warnings: warnings}, res
}

// scattered complains about ids that leave most rows of a table by node empty, and would need more memory for them than
// there is.
func scattered(file string, last event.Node, events int) error {
	const harmless, most = 1 << 24, 64 // ids, ids for each event
	if last <= harmless || int(last)/most <= events {
		return nil
	}
	return input.FileError(file, fmt.Sprintf("node id %d in a table of %d events", last, events),
		"ids that count from 1 with few gaps: dataset.Import with the option Format csv numbers nodes anew")
}

// Absent is the feature files that are not there.
func (l Layout) Absent() []string {
	var files []string
	if l.edges == "" {
		files = append(files, "ml_"+l.name+".npy")
	}
	if l.node == "" {
		files = append(files, "ml_"+l.name+"_node.npy")
	}
	return files
}

// featureFile is a matrix of features, of which the rows 0 … last are wanted.
type featureFile struct {
	data.Features
	err       error // reading it failed
	path      string
	last      int
	what, why string // whose features they are, and where last stands
}

// fits checks that the matrix has its rows, and gives a missing one those rows. Surplus: it has more.
func (f *featureFile) fits() (surplus bool, err error) {
	if f.path == "" {
		f.Rows = f.last + 1
		return false, nil
	}
	if f.Rows > f.last && f.Data != nil {
		for j, v := range f.Row(0) {
			if v != 0 {
				return false, &input.Error{File: f.path, Row: 0, Column: strconv.Itoa(j),
					Found: strconv.FormatFloat(float64(v), 'g', -1, 32), Want: "0, as row 0 is padding"}
			}
		}
	}
	if f.Rows == f.last+1 {
		return false, nil
	}
	return f.Rows > f.last, input.FileError(f.path, fmt.Sprintf("%d rows", f.Rows), fmt.Sprintf(
		"%d: row 0 for padding and the %s 1 … %d (%s in the csv)", f.last+1, f.what, f.last, f.why))
}
