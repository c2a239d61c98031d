package table

import (
	"bytes"
	"context"
	"slices"

	"github.com/dygmamba/dygmamba/dataset/internal/input"
)

// jsonl reads objects, a line each. Members that come later are columns too, in which rows before have nothing.
func (s *Sheet) jsonl(ctx context.Context) error {
	txt, names, err := s.reader.openJSONL()
	if err != nil {
		return err
	}
	if err := s.choose(names); err != nil {
		return err
	}
	return input.InOrder(ctx, txt, s.objects, s.mergeObjects)
}

// objectBlock is some rows with their members.
type objectBlock struct {
	sheetBlock
	names [][]string // of each row, as many as it has values
}

func (s *Sheet) objects(data []byte, b *objectBlock) {
	b.Reset(s.reader.o.MaxProblems, 0)
	b.rows, b.names = b.rows[:0], b.names[:0]
	for len(data) > 0 {
		text, rest, _ := bytes.Cut(data, []byte{'\n'})
		data = rest
		b.Lines++
		if text = bytes.TrimSpace(text); len(text) == 0 {
			continue
		}
		b.Rows++
		p := b.Place(s.reader.path, b.Lines, b.Rows)
		var names []string
		var values [][]byte
		if !members(text, func(name string, value []byte) {
			names, values = append(names, name), append(values, plainJSON(value))
		}) {
			p.Bad("", input.Quote(text), wantJSON)
			continue
		}
		b.keep(p, values)
		b.names = append(b.names, names)
	}
}

// plainJSON is a value as people write it in a table: strings without quotes, nothing for null, lists and objects as
// they are.
func plainJSON(value []byte) []byte {
	if text, ok := scalarText(value); ok {
		return text
	}
	if len(value) > 0 && value[0] == 'n' {
		return nil
	}
	return value
}

// mergeObjects puts the members of every row into their columns.
func (s *Sheet) mergeObjects(b *objectBlock) error {
	for i, names := range b.names {
		values := make([]string, len(s.Columns))
		for k, name := range names {
			at := slices.Index(s.Columns, name)
			if at < 0 {
				at = len(s.Columns)
				s.Columns, values = append(s.Columns, name), append(values, "")
			}
			values[at] = b.rows[i].values[k]
		}
		b.rows[i].values = values
	}
	return s.merge(&b.sheetBlock)
}
