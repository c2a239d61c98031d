package table

import (
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/format"

	"github.com/dygmamba/dygmamba/dataset/internal/input"
	"github.com/dygmamba/dygmamba/event"
)

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
	t := found[0].Node.Type()
	if scaled(t) {
		return nil, &input.Error{File: r.path, Row: -1, Column: name, Found: "decimals",
			Want: "whole or floating-point numbers: cast the column"}
	}
	return &parquetColumn{name: name, index: found[0].ColumnIndex, unit: timeUnit(t), plus: unsigned(t),
		uuid: uuid(t)}, nil
}

// scaled says whether values of a type are decimals, in which the stored number is not the one meant.
func scaled(t parquet.Type) bool {
	if l := t.LogicalType(); l != nil {
		if v, ok := l.Value.(*format.DecimalType); ok {
			return v.Scale != 0 || t.Kind() != parquet.Int32 && t.Kind() != parquet.Int64
		}
	}
	c := t.ConvertedType()
	return c != nil && *c == deprecated.Decimal
}

// uuid says whether a type holds identifiers of 16 bytes that are written in groups of hexadecimal digits.
func uuid(t parquet.Type) bool {
	l := t.LogicalType()
	if l == nil {
		return false
	}
	_, ok := l.Value.(*format.UUIDType)
	return ok && t.Length() == 16
}

// timeUnit is the length of one in seconds, 0 for types that are no times.
func timeUnit(t parquet.Type) float64 {
	const day = 24 * 60 * 60
	if l := t.LogicalType(); l != nil {
		switch v := l.Value.(type) {
		case *format.DateType:
			return day
		case *format.TimestampType:
			switch v.Unit.Value.(type) {
			case *format.MilliSeconds:
				return 1e-3
			case *format.MicroSeconds:
				return 1e-6
			case *format.NanoSeconds:
				return 1e-9
			}
		}
	}
	if c := t.ConvertedType(); c != nil {
		switch *c {
		case deprecated.Date:
			return day
		case deprecated.TimestampMillis:
			return 1e-3
		case deprecated.TimestampMicros:
			return 1e-6
		}
	}
	return 0
}

// unsigned says whether a type holds whole numbers without a sign.
func unsigned(t parquet.Type) bool {
	if l := t.LogicalType(); l != nil {
		if v, ok := l.Value.(*format.IntType); ok {
			return !v.IsSigned
		}
	}
	c := t.ConvertedType()
	return c != nil && *c >= deprecated.Uint8 && *c <= deprecated.Uint64
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
func (c *parquetColumn) key(p *place, x *parquet.Value) key {
	if !x.IsNull() {
		switch x.Kind() {
		case parquet.Int32:
			if c.plus {
				return key{num: int64(x.Uint32())}
			}
			return key{num: int64(x.Int32())}
		case parquet.Int64:
			if c.plus && x.Int64() < 0 {
				return key{text: p.block.keep(strconv.AppendUint(nil, x.Uint64(), 10))}
			}
			return key{num: x.Int64()}
		case parquet.ByteArray, parquet.FixedLenByteArray:
			return p.key(p.block.keep(c.letters(x)))
		case parquet.Float, parquet.Double: // how some programs keep whole numbers where others are missing
			p.spoil(c.shown(x)+" as a floating-point number",
				"a node's name, as text or a whole number: cast the column")
			return key{}
		}
	}
	p.spoil(c.shown(x), "a node's name, as text or a whole number")
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
func (c *parquetColumn) text(p *place, x *parquet.Value) []byte {
	if x.IsNull() {
		return nil
	}
	if c.unit > 0 {
		at, _ := c.time(p, x)
		return p.block.keep([]byte(input.FormatTime(at, input.TimeDate)))
	}
	b := p.block
	from := len(b.arena)
	switch x.Kind() {
	case parquet.Boolean:
		b.arena = strconv.AppendBool(b.arena, x.Boolean())
	case parquet.Float:
		b.arena = strconv.AppendFloat(b.arena, float64(x.Float()), 'g', -1, 32)
	case parquet.Double:
		b.arena = strconv.AppendFloat(b.arena, x.Double(), 'g', -1, 64)
	case parquet.ByteArray, parquet.FixedLenByteArray:
		b.arena = append(b.arena, c.letters(x)...)
	default:
		b.arena = append(b.arena, c.shown(x)...)
	}
	return b.arena[from:len(b.arena):len(b.arena)]
}

// letters are the characters of a value that has some.
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
	if x.Kind() == parquet.ByteArray {
		return input.Quote(x.ByteArray())
	}
	switch {
	case c.plus && x.Kind() == parquet.Int64:
		return strconv.FormatUint(x.Uint64(), 10)
	case c.plus && x.Kind() == parquet.Int32:
		return strconv.FormatUint(uint64(x.Uint32()), 10)
	}
	return x.String()
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
	case parquet.Int32:
		f = float64(x.Int32())
		if c.plus {
			f = float64(x.Uint32())
		}
	case parquet.Int64:
		f = float64(x.Int64())
		if c.plus {
			f = float64(x.Uint64())
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
