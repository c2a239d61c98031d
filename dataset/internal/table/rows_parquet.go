package table

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"github.com/dygmamba/dygmamba/dataset/internal/input"
	"github.com/dygmamba/dygmamba/event"
)

// parquetCells reads the wanted columns of a Parquet file side by side.
type parquetCells struct {
	columns []*parquetColumn // nil for those not wanted
	err     error            // of the row being read
	rows    int              // of the blocks that were handed on

	full, free chan *importBlock // to be merged, and to be filled
}

// parquet reads the file: one goroutine reads values, another looks up names and merges.
func (r *tableReader) parquet(ctx context.Context) (err error) {
	defer r.recovered(&err)
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
	x := &parquetCells{full: make(chan *importBlock), free: make(chan *importBlock, 3)}
	if err := x.open(r, file); err != nil {
		return err
	}
	for range cap(x.free) {
		x.free <- new(importBlock)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		defer close(x.full)
		ended <- r.groups(ctx, file, x)
	}()
	for b := range x.full {
		if err == nil {
			if r.resolve != nil {
				r.resolve(b)
			}
			if err = r.merge(b); err != nil {
				cancel()
			}
		}
		x.free <- b
	}
	return cmp.Or(err, <-ended)
}

// recovered complains about whatever is damaged in the file: the package that reads the format trusts it more than we
// do, and panics.
func (r *tableReader) recovered(err *error) {
	if p := recover(); p != nil {
		*err = r.damaged(-1, p)
	}
}

// groups reads all row groups and hands on blocks of rows.
func (r *tableReader) groups(ctx context.Context, file *parquet.File, x *parquetCells) (err error) {
	defer r.recovered(&err)
	b := x.block(r)
	for _, g := range file.RowGroups() {
		if b, err = r.group(ctx, g, x, b); err != nil {
			return err
		}
	}
	x.full <- b
	return nil
}

// block is an empty block to fill.
func (x *parquetCells) block(r *tableReader) *importBlock {
	b := <-x.free
	b.reset(r.o.MaxProblems, 0)
	return b
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

// group reads the rows of a row group into a block. A full one is handed on; the last one is returned.
func (r *tableReader) group(ctx context.Context, g parquet.RowGroup, x *parquetCells, b *importBlock) (*importBlock,
	error) {
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
			x.rows += b.Rows
			x.full <- b
			b = x.block(r)
			if err := ctx.Err(); err != nil {
				return nil, err
			}
		}
		b.Rows++
		if r.row(b, b.Block.Place(r.path, 0, b.Rows), x); x.err != nil {
			return nil, r.damaged(x.rows+b.Rows, x.err)
		}
	}
	for _, c := range x.columns {
		if c == nil {
			continue
		}
		if _, err := c.peek(); err != io.EOF {
			bad := r.damaged(x.rows+b.Rows, "more values than rows")
			bad.Column = c.name
			return nil, bad
		}
	}
	return b, nil
}

func (x *parquetCells) next(p *place) (*parquetColumn, *parquet.Value) {
	c := x.columns[p.column]
	v, err := c.peek()
	c.i++
	if err != nil && x.err == nil {
		x.err = err
	}
	return c, v
}

func (x *parquetCells) time(p *place) (event.Time, string) {
	c, v := x.next(p)
	return c.time(p, v)
}

func (x *parquetCells) label(p *place) (float32, []byte) {
	c, v := x.next(p)
	switch k := v.Kind(); {
	case v.IsNull():
		return noLabel, nil
	case k == parquet.ByteArray || k == parquet.FixedLenByteArray:
		return p.label(keep(p.block, c.letters(v)))
	}
	return c.number(p, v), nil
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

// parquetColumn reads the values of one column, a page at a time.
type parquetColumn struct {
	name  string
	index int
	unit  float64 // seconds in one, where values are times; 0 where they are plain numbers
	plus  bool    // whole numbers without a sign
	uuid  bool    // identifiers of 16 bytes

	pages  parquet.Pages
	page   parquet.Page
	values parquet.ValueReader
	buf    [512]parquet.Value
	n, i   int
}

// column finds the only leaf below name; nil if name is "".
func (r *tableReader) column(file *parquet.File, name string, list bool) (*parquetColumn, error) {
	if name == "" {
		return nil, nil
	}
	var found []parquet.LeafColumn
	for _, path := range file.Schema().Columns() {
		if path[0] == name {
			leaf, _ := file.Schema().Lookup(path...)
			found = append(found, leaf)
		}
	}
	if len(found) != 1 || found[0].MaxRepetitionLevel > 0 && !list || found[0].MaxRepetitionLevel > 1 {
		want := "single values"
		if list {
			want = "numbers, or lists of numbers"
		}
		return nil, &input.Error{File: r.path, Row: -1, Column: name, Found: "a nested column", Want: want}
	}
	c, t := &parquetColumn{name: name, index: found[0].ColumnIndex}, found[0].Node.Type()
	l := t.LogicalType() // also of files that have the older types alone
	if l == nil {
		return c, nil
	}
	switch v := l.Value.(type) {
	case *format.DecimalType:
		if v.Scale != 0 || t.Kind() != parquet.Int32 && t.Kind() != parquet.Int64 {
			return nil, &input.Error{File: r.path, Row: -1, Column: name, Found: "decimals",
				Want: "whole or floating-point numbers: cast the column"}
		}
	case *format.DateType:
		c.unit = 24 * 60 * 60
	case *format.TimestampType:
		c.unit = v.Unit.Value.Duration().Seconds()
	case *format.IntType:
		c.plus = !v.IsSigned
	case *format.UUIDType:
		c.uuid = t.Length() == 16
	}
	return c, nil
}

func (c *parquetColumn) open(chunk parquet.ColumnChunk) {
	c.pages, c.page, c.values, c.n, c.i = chunk.Pages(), nil, nil, 0, 0
}

func (c *parquetColumn) close() {
	parquet.Release(c.page)
	c.page = nil
	c.pages.Close()
}

// peek is the next value without taking it; io.EOF at the end of the row group.
func (c *parquetColumn) peek() (*parquet.Value, error) {
	if c.i < c.n {
		return &c.buf[c.i], nil
	}
	return c.fill()
}

// fill reads more values, and is the first of them.
func (c *parquetColumn) fill() (*parquet.Value, error) {
	for c.i >= c.n {
		if c.values == nil {
			parquet.Release(c.page)
			page, err := c.pages.ReadPage()
			if c.page = page; err != nil {
				return new(parquet.Value), err
			}
			c.values = page.Values()
		}
		n, err := c.values.ReadValues(c.buf[:])
		c.n, c.i = n, 0
		if err == io.EOF {
			c.values = nil
		} else if err != nil {
			return new(parquet.Value), err
		}
	}
	return &c.buf[c.i], nil
}

// key reads a name: text or a whole number.
func (x *parquetCells) key(p *place) key {
	c, v := x.next(p)
	if !v.IsNull() {
		switch v.Kind() {
		case parquet.Int32, parquet.Int64:
			n := c.whole(v)
			if c.plus && n < 0 {
				return key{text: keep(p.block, strconv.AppendUint(nil, uint64(n), 10))}
			}
			return key{num: n}
		case parquet.ByteArray, parquet.FixedLenByteArray:
			return p.key(keep(p.block, c.letters(v)))
		case parquet.Float, parquet.Double: // how some programs keep whole numbers where others are missing
			p.spoil(c.shown(v)+" as a floating-point number",
				"a node's name, as text or a whole number: cast the column")
			return key{}
		}
	}
	p.spoil(c.shown(v), "a node's name, as text or a whole number")
	return key{}
}

// time reads a timestamp, a date, a number, or text that Import reads elsewhere too.
func (c *parquetColumn) time(p *place, x *parquet.Value) (float64, string) {
	if !x.IsNull() && (x.Kind() == parquet.ByteArray || x.Kind() == parquet.FixedLenByteArray) {
		return p.time(x.ByteArray())
	}
	f, ok := c.float(x)
	if !ok {
		p.spoil(c.shown(x), wantTime)
	} else if math.Abs(f) > event.MaxTime {
		p.spoil(c.shown(x), input.WantWithin)
	}
	switch {
	case c.unit == 0:
		return f, input.TimeNumber
	case c.unit >= 1:
		return f * c.unit, input.TimeDate
	}
	return f / math.Round(1/c.unit), input.TimeDate // as exact as can be: 1e-3 itself is not
}

// number reads a label or feature.
func (c *parquetColumn) number(p *place, x *parquet.Value) float32 {
	f, ok := c.float(x)
	if !ok || !input.Finite(float64(float32(f))) {
		p.spoil(c.shown(x), input.WantFloat32)
	}
	return float32(f)
}

// text is a value as people write it; null is missing. Numbers are written as briefly as they can be read back.
func (x *parquetCells) text(p *place) []byte {
	c, v := x.next(p)
	switch k := v.Kind(); {
	case v.IsNull():
		return nil
	case c.unit > 0:
		at, _ := c.time(p, v)
		return keep(p.block, input.FormatTime(at, input.TimeDate))
	case k == parquet.ByteArray || k == parquet.FixedLenByteArray:
		return keep(p.block, c.letters(v))
	}
	return keep(p.block, c.shown(v))
}

func (c *parquetColumn) letters(x *parquet.Value) []byte {
	text := x.ByteArray()
	if c.uuid {
		text = fmt.Appendf(nil, "%x-%x-%x-%x-%x", text[:4], text[4:6], text[6:8], text[8:10], text[10:16])
	}
	return text
}

func (c *parquetColumn) shown(x *parquet.Value) string {
	if x.IsNull() {
		return "nothing"
	}
	switch k := x.Kind(); {
	case k == parquet.ByteArray:
		return input.Quote(x.ByteArray())
	case c.plus && (k == parquet.Int32 || k == parquet.Int64):
		return strconv.FormatUint(uint64(c.whole(x)), 10)
	}
	return x.String()
}

// whole is the bits of a whole number, of 32 or 64.
func (c *parquetColumn) whole(x *parquet.Value) int64 {
	switch {
	case x.Kind() == parquet.Int64:
		return x.Int64()
	case c.plus:
		return int64(x.Uint32())
	}
	return int64(x.Int32())
}

// float is a finite number.
func (c *parquetColumn) float(x *parquet.Value) (float64, bool) {
	if x.IsNull() {
		return 0, false
	}
	var f float64
	switch x.Kind() {
	case parquet.Boolean:
		if x.Boolean() {
			f = 1
		}
	case parquet.Int32, parquet.Int64:
		if f = float64(c.whole(x)); c.plus {
			f = float64(uint64(c.whole(x)))
		}
	case parquet.Float:
		f = float64(x.Float())
	case parquet.Double:
		f = x.Double()
	case parquet.ByteArray:
		v, ok := input.ParseFloat(x.ByteArray())
		return v, ok && input.Finite(v)
	default:
		return 0, false
	}
	return f, input.Finite(f)
}
