package table

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/parquet-go/parquet-go"

	"github.com/dygmamba/dygmamba/dataset/internal/input"
	"github.com/dygmamba/dygmamba/event"
)

// parquetCells reads the wanted columns of a Parquet file side by side.
type parquetCells struct {
	columns []*parquetColumn // nil for those not wanted
	err     error            // of the row being read
}

// parquet reads the file. Whatever is damaged in it is complained about: the package that reads the format trusts it
// more than we do, and panics.
func (r *tableReader) parquet(ctx context.Context) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = r.damaged(-1, p)
		}
	}()
	f := r.in.Disk()
	if f == nil {
		return input.FileError(r.path, "a Parquet file that cannot be read back and forth",
			"a plain Parquet file on disk")
	}
	file, err := parquet.OpenFile(f, r.in.Size, parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return r.damaged(-1, err)
	}
	var names []string
	for _, path := range file.Schema().Columns() {
		if !slices.Contains(names, path[0]) {
			names = append(names, path[0])
		}
	}
	if err := r.want(names); err != nil {
		return err
	}
	x := &parquetCells{}
	if err := x.open(r, file); err != nil {
		return err
	}
	var b importBlock
	b.reset(r.o.MaxProblems, 0)
	for _, g := range file.RowGroups() {
		if err := r.group(ctx, g, x, &b); err != nil {
			return err
		}
	}
	return r.merge(&b)
}

// damaged complains of what is wrong at a row, or with the whole file at row −1.
func (r *tableReader) damaged(row int, why any) *input.Error {
	return &input.Error{File: r.path, Row: row, Found: fmt.Sprintf("damaged Parquet data (%v)", why),
		Want: "an undamaged file"}
}

// open opens the columns that are wanted of a file. A sheet does without those that cannot be kept as text.
func (x *parquetCells) open(r *tableReader, file *parquet.File) error {
	wanted := r.wanted
	r.wanted = nil
	for i, name := range wanted {
		list := i >= atFeatures && i < atFeatures+len(r.cols.EdgeFeatures)
		c, err := r.column(file, name, list)
		if err != nil && (r.sheet == nil || !r.sheet.drop(name)) {
			return err
		} else if err == nil {
			r.wanted, x.columns = append(r.wanted, name), append(x.columns, c)
		}
	}
	return nil
}

// group reads the rows of a row group; full blocks are merged.
func (r *tableReader) group(ctx context.Context, g parquet.RowGroup, x *parquetCells, b *importBlock) error {
	const most = 8 << 10
	chunks := g.ColumnChunks()
	for _, c := range x.columns {
		if c != nil {
			c.open(chunks[c.index])
			defer c.close()
		}
	}
	for range g.NumRows() {
		if b.Rows == most {
			if err := r.merge(b); err != nil {
				return err
			}
			b.reset(r.o.MaxProblems, 0)
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		b.Rows++
		if r.row(b, b.Block.Place(r.path, 0, b.Rows), x); x.err != nil {
			return r.damaged(r.rows+b.Rows, x.err)
		}
	}
	for _, c := range x.columns {
		if c == nil {
			continue
		}
		if _, err := c.peek(); err != io.EOF {
			bad := r.damaged(r.rows+b.Rows, "more values than rows")
			bad.Column = c.name
			return bad
		}
	}
	return nil
}

// next is the next value of a column.
func (x *parquetCells) next(p *place) (*parquetColumn, *parquet.Value) {
	c := x.columns[p.column]
	v, err := c.peek()
	c.i++
	if err != nil && x.err == nil {
		x.err = err
	}
	return c, v
}

func (x *parquetCells) key(p *place) key {
	c, v := x.next(p)
	return c.key(p, v)
}

func (x *parquetCells) time(p *place) (event.Time, string) {
	c, v := x.next(p)
	return c.time(p, v)
}

func (x *parquetCells) label(p *place) float32 {
	c, v := x.next(p)
	return c.number(p, v)
}

// features reads one number, or as many as the list of a row has.
func (x *parquetCells) features(p *place) {
	c, v := x.next(p)
	for x.err == nil {
		p.block.feat = append(p.block.feat, c.number(p, v))
		var err error
		if v, err = c.peek(); err != nil || v.RepetitionLevel() == 0 {
			if err != io.EOF {
				x.err = err
			}
			return
		}
		c.i++
	}
}

func (x *parquetCells) text(p *place) []byte {
	c, v := x.next(p)
	return c.text(p, v)
}
