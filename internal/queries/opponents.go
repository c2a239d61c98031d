package queries

import (
	"context"
	"io"
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
func (k *Reader) ReadOpponents(ctx context.Context, path string, stdin io.Reader,
) (map[sample.Query][]event.Node, error) {
	t, err := k.Read(ctx, path, stdin, dataset.ImportOptions{})
	if err != nil {
		return nil, err
	}
	at, err := t.column(path, opponentColumn, "one called "+opponentColumn+" too, with the names of other destinations")
	if err != nil {
		return nil, err
	}
	list := make(map[sample.Query][]event.Node, len(t.Questions))
	for _, q := range t.Questions {
		names := strings.FieldsFunc(q.Extra[at], func(r rune) bool { return r == ' ' || r == ';' || r == '|' })
		if len(names) == 0 {
			q.place.Bad(opponentColumn, strconv.Quote(q.Extra[at]), "names of other destinations")
		}
		for _, n := range names {
			if v, ok := k.node(n, false); ok {
				list[q.Query] = append(list[q.Query], v)
			} else {
				q.place.Bad(opponentColumn, strconv.Quote(n), k.wantNode())
			}
		}
	}
	return list, t.sheet.Err()
}
