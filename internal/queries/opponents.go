package queries

import (
	"context"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/sample"
)

// opponentColumn lists other destinations than the event's own.
const opponentColumn = "negatives"

// ReadOpponents reads events and the destinations that each is to be told from: a table as Read takes it, with a column
// negatives that has their names, separated by spaces, semicolons or bars.
func (k *Asker) ReadOpponents(ctx context.Context, path string, stdin io.Reader,
) (map[sample.Query][]event.Node, error) {
	t, err := k.Read(ctx, path, stdin, dataset.ImportOptions{})
	if err != nil {
		return nil, err
	}
	name := path
	if path == "-" {
		name = "standard input"
	}
	at := slices.Index(t.Extra, opponentColumn)
	if at < 0 {
		return nil, &dataset.InputError{File: name, Row: -1, Found: "columns u, i, ts " + strings.Join(t.Extra, ", "),
			Want: "one called " + opponentColumn + " too, with the names of other destinations"}
	}
	list := make(map[sample.Query][]event.Node, len(t.Questions))
	var bad dataset.Problems
	for row, q := range t.Questions {
		names := strings.FieldsFunc(q.Extra[at], func(r rune) bool { return r == ' ' || r == ';' || r == '|' })
		p := rowProblems{&bad, name, 0, row + 1}
		if len(names) == 0 {
			p.add(opponentColumn, strconv.Quote(q.Extra[at]), "names of other destinations")
		}
		for _, n := range names {
			if v, ok := k.node(n, false); ok {
				list[q.Query] = append(list[q.Query], v)
			} else {
				p.add(opponentColumn, strconv.Quote(n), k.wantNode())
			}
		}
	}
	if bad.Total > 0 {
		return nil, &bad
	}
	return list, nil
}
