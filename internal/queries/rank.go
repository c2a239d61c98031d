package queries

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/event"
)

// sourceColumns are those of a question whom a source meets.
var sourceColumns = [3]string{Columns[0], "", Columns[2]}

// Candidate is a node that may be met.
type Candidate struct {
	Name string
	Node event.Node
}

// OneSource reads a source and a time, to ask whom it meets then; where is where it was asked, for complaints.
func (k *Reader) OneSource(where, u, ts string) (Question, error) {
	return k.one(where, sourceColumns, [3]string{u, "", ts})
}

// ReadSources reads sources and times, to ask whom each meets then, from a table as Read does; a column i is one of the
// others.
func (k *Reader) ReadSources(
	ctx context.Context, path string, stdin io.Reader, o dataset.ImportOptions,
) (Table, error) {
	return k.read(ctx, path, stdin, dataset.AsksSources, o)
}

// Candidates reads names of destinations: one a line, or a table in any form that can be imported with a column i; "-"
// is standard input. Names that come twice are one candidate.
func (k *Reader) Candidates(ctx context.Context, path string, stdin io.Reader) (all []Candidate, err error) {
	sheet, err := dataset.ReadSheet(ctx, path, stdin, dataset.ListsTargets, dataset.ImportOptions{})
	if sheet == nil {
		return nil, fmt.Errorf("candidates: %w", err)
	}
	listed := map[event.Node]bool{}
	for i, values := range sheet.Rows {
		text := values[sheet.At[1]]
		name := strings.TrimSpace(text)
		n, ok := k.node(name, false)
		if !ok {
			sheet.Places[i].Bad(Columns[1], strconv.Quote(text), k.wantNode())
		} else if !listed[n] {
			listed[n] = true
			all = append(all, Candidate{name, n})
		}
	}
	if err := sheet.Err(); err != nil || len(all) > 0 {
		return all, err
	}
	return nil, &dataset.InputError{File: path, Row: -1, Found: "no names", Want: "a destination's name in each line"}
}
