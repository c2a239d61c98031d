package table

import (
	"context"
	"errors"
	"io"
	"slices"

	"github.com/parquet-go/parquet-go"

	"github.com/dygmamba/dygmamba/dataset/internal/input"
)

// parquetRows reads the wanted columns of a Parquet file side by side.
type parquetRows struct {
	*tableReader
	src, dst, time, label *parquetColumn // nil for those not wanted
	feat, cells           []*parquetColumn
}

func (r *tableReader) parquet(ctx context.Context) error {
	return r.readParquet(func(file *parquet.File, names []string) error {
		p, err := r.parquetRows(file, names)
		if err != nil {
			return err
		}
		return p.groups(ctx, file)
	})
}

// parquetRows opens the columns that are wanted of a file.
func (r *tableReader) parquetRows(file *parquet.File, names []string) (*parquetRows, error) {
	cols, err := r.choose(names)
	if err != nil {
		return nil, err
	}
	p := &parquetRows{tableReader: r}
	for _, c := range []struct {
		at   **parquetColumn
		name string
	}{{&p.src, cols.Source}, {&p.dst, cols.Target}, {&p.time, cols.Time}, {&p.label, cols.Label}} {
		if *c.at, err = r.column(file, c.name, false); err != nil {
			return nil, err
		}
	}
	for _, name := range cols.EdgeFeatures {
		c, err := r.column(file, name, true)
		if err != nil {
			return nil, err
		}
		p.feat = append(p.feat, c)
	}
	for _, name := range cols.Features {
		c, err := r.column(file, name, false)
		if err != nil {
			return nil, err
		}
		p.cells = append(p.cells, c)
	}
	return p, nil
}

func (p *parquetRows) all() []*parquetColumn {
	cols := slices.Concat(p.feat, p.cells)
	for _, c := range []*parquetColumn{p.src, p.dst, p.time, p.label} {
		if c != nil {
			cols = append(cols, c)
		}
	}
	return cols
}

func (p *parquetRows) groups(ctx context.Context, file *parquet.File) error {
	var b importBlock
	b.reset(p.o.MaxProblems, 0)
	for _, g := range file.RowGroups() {
		chunks := g.ColumnChunks()
		for _, c := range p.all() {
			c.open(chunks[c.index])
		}
		err := p.group(ctx, g.NumRows(), &b)
		for _, c := range p.all() {
			c.close()
		}
		if err != nil {
			return err
		}
	}
	return p.merge(&b)
}

// group reads the rows of a row group; full blocks are merged.
func (p *parquetRows) group(ctx context.Context, rows int64, b *importBlock) error {
	const most = 8 << 10
	for range rows {
		if b.Rows == most {
			if err := p.merge(b); err != nil {
				return err
			}
			b.reset(p.o.MaxProblems, 0)
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		b.Rows++
		if err := p.row(b, place{b.Block.Place(p.path, 0, b.Rows)}); err != nil {
			var bad *input.Error
			if errors.As(err, &bad) {
				return err
			}
			return p.damaged(p.rows+b.Rows, err)
		}
	}
	for _, c := range p.all() {
		if _, err := c.peek(); err != io.EOF {
			bad := p.damaged(p.rows+b.Rows, "more values than rows")
			bad.Column = c.name
			return bad
		}
	}
	return nil
}

func (p *parquetRows) row(b *importBlock, at place) error {
	v := row{ok: true}
	begin := b.begin()
	for _, k := range []struct {
		col *parquetColumn
		key *key
	}{{p.src, &v.src}, {p.dst, &v.dst}} {
		if k.col == nil {
			continue
		}
		x, err := k.col.next()
		if err != nil {
			return err
		}
		*k.key = k.col.key(b, at, &v, x)
	}
	if p.time != nil {
		x, err := p.time.next()
		if err != nil {
			return err
		}
		v.time, v.format = p.time.moment(at, &v, x)
	}
	if p.label != nil {
		x, err := p.label.next()
		if err != nil {
			return err
		}
		v.label = p.label.number(at, &v, x)
	}
	for _, c := range p.feat {
		if err := c.list(b, at, &v); err != nil {
			return err
		}
	}
	for _, c := range p.cells {
		x, err := c.next()
		if err != nil {
			return err
		}
		b.cells = append(b.cells, c.cell(b, at, &v, x))
	}
	b.add(at, v, begin)
	return nil
}
