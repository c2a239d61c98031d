package table

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/parquet-go/parquet-go"

	"github.com/dygmamba/dygmamba/dataset/internal/input"
)

// parquet reads the columns that have one value in every record; others cannot be kept as text and are left out.
func (s *Sheet) parquet(ctx context.Context) error {
	return s.reader.readParquet(func(file *parquet.File, names []string) error {
		if err := s.choose(names); err != nil {
			return err
		}
		columns, err := s.flat(file)
		if err != nil {
			return err
		}
		for _, g := range file.RowGroups() {
			if err := s.group(ctx, g, columns); err != nil {
				return err
			}
		}
		return nil
	})
}

// flat opens the columns that can be kept, and forgets the others.
func (s *Sheet) flat(file *parquet.File) ([]*parquetColumn, error) {
	var columns []*parquetColumn
	var names []string
	at := [3]int{-1, -1, -1}
	for i, name := range s.Columns {
		c, err := s.reader.column(file, name, false)
		role := slices.Index(s.At[:], i)
		if err != nil && role >= 0 {
			return nil, err
		}
		if err != nil {
			continue
		}
		if role >= 0 {
			at[role] = len(columns)
		}
		columns, names = append(columns, c), append(names, name)
	}
	s.Columns, s.At = names, at
	return columns, nil
}

// group hands the rows of a row group on.
func (s *Sheet) group(ctx context.Context, g parquet.RowGroup, columns []*parquetColumn) error {
	chunks := g.ColumnChunks()
	for _, c := range columns {
		c.open(chunks[c.index])
		defer c.close()
	}
	for range g.NumRows() {
		if err := ctx.Err(); err != nil {
			return err
		}
		s.reader.rows++
		values := make([]string, len(columns))
		for i, c := range columns {
			x, err := c.next()
			if err != nil {
				return s.reader.damaged(s.reader.rows, err)
			}
			values[i] = c.words(x)
		}
		s.row(s.all.Place(s.reader.path, 0, s.reader.rows), values)
	}
	for _, c := range columns {
		if _, err := c.peek(); err != io.EOF {
			return s.reader.damaged(s.reader.rows, "more values than rows")
		}
	}
	return nil
}

// words is a value as people write it: nothing for null, dates as dates, numbers with digits enough to read them back.
func (c *parquetColumn) words(x parquet.Value) string {
	if x.IsNull() {
		return ""
	}
	if f, ok := c.float(x); ok && c.unit >= 1 {
		return input.FormatTime(f*c.unit, input.TimeDate)
	} else if ok && c.unit > 0 {
		return input.FormatTime(f/float64(int64(1/c.unit+0.5)), input.TimeDate)
	}
	switch x.Kind() {
	case parquet.ByteArray, parquet.FixedLenByteArray:
		text := x.ByteArray()
		if c.uuid {
			return fmt.Sprintf("%x-%x-%x-%x-%x", text[:4], text[4:6], text[6:8], text[8:10], text[10:16])
		}
		return string(text)
	case parquet.Float:
		return strconv.FormatFloat(float64(x.Float()), 'g', -1, 32)
	case parquet.Double:
		return strconv.FormatFloat(x.Double(), 'g', -1, 64)
	case parquet.Int32:
		if c.plus {
			return strconv.FormatUint(uint64(x.Uint32()), 10)
		}
	case parquet.Int64:
		if c.plus {
			return strconv.FormatUint(x.Uint64(), 10)
		}
	}
	return x.String()
}
