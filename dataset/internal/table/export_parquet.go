package table

import (
	"context"
	"io"
	"math"
	"reflect"

	"github.com/parquet-go/parquet-go"

	"github.com/dygmamba/dygmamba/event"
)

// micros is a time in microseconds.
func micros(at event.Time) int64 { return int64(math.Round(at * 1e6)) }

func (t *sheet) parquet(ctx context.Context, w io.Writer) error {
	out := parquet.NewWriter(w, parquet.NewSchema("table", inOrder{columns: t.columns}),
		parquet.Compression(&parquet.Snappy))
	rows := make([]parquet.Row, 0, someRows)
	for i := range t.rows {
		row := make(parquet.Row, len(t.columns))
		for j, c := range t.columns {
			row[j] = c.value(i).Level(0, 0, j)
		}
		if rows = append(rows, row); len(rows) < cap(rows) && i+1 < t.rows {
			continue
		}
		if _, err := out.WriteRows(rows); err != nil {
			return err
		}
		rows = rows[:0]
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return out.Close()
}

// inOrder is a group of columns that keep their order; a parquet.Group sorts them by name.
type inOrder struct {
	parquet.Group
	columns []Column
}

// Fields are the columns.
func (g inOrder) Fields() []parquet.Field {
	fields := make([]parquet.Field, len(g.columns))
	for i, c := range g.columns {
		fields[i] = columnField{c.node, c.Name}
	}
	return fields
}

// GoType would name a Go type like the group, which rows are never made of.
func (g inOrder) GoType() reflect.Type { return reflect.TypeFor[struct{}]() }

// columnField is a field of the group.
type columnField struct {
	parquet.Node
	name string
}

func (c columnField) Name() string                           { return c.name }
func (c columnField) Value(base reflect.Value) reflect.Value { return base } // rows are never made of Go values
