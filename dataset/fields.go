package dataset

import (
	"bytes"
	"iter"
)

// splitter cuts rows of delimited text into fields.
type splitter struct {
	delim  byte
	fields [][]byte // of the last row; they point into the data, or into spare where quotes were undone
	spare  []byte   // grows from row to row, so that fields stay valid; reset empties it
}

// reset forgets all rows so far.
func (s *splitter) reset(delim byte) { s.delim, s.fields, s.spare = delim, s.fields[:0], s.spare[:0] }

// row cuts the first row off data into s.fields and returns what follows and how many lines the row took.
// bad says what is wrong with its quotes, "" for nothing. A row without any characters has no fields.
func (s *splitter) row(data []byte) (rest []byte, lines int, bad string) {
	s.fields = s.fields[:0]
	from := 0
	for i, c := range data {
		switch c {
		case s.delim:
			s.fields = append(s.fields, data[from:i])
			from = i + 1
		case '\n':
			end := i
			if end > from && data[end-1] == '\r' {
				end--
			}
			if len(s.fields) > 0 || end > 0 {
				s.fields = append(s.fields, data[from:end])
			}
			return data[i+1:], 1, ""
		case '"':
			if i == from {
				return s.quotedRow(data, from)
			}
		}
	}
	if len(data) > 0 {
		s.fields = append(s.fields, bytes.TrimSuffix(data[from:], []byte{'\r'}))
	}
	return nil, 1, ""
}

const wantQuotes = "quotes around whole fields, and doubled within them"

// textBlock is what is known of a block of delimited text: how far it was read, and what is wrong with it.
type textBlock struct {
	rows, lines int // good and bad ones
	finder      finder
	split       splitter
}

func (b *textBlock) reset(most int, delim byte) {
	b.rows, b.lines = 0, 0
	b.finder.most = most
	b.split.reset(delim)
}

// each walks over the rows of data that can be cut into fields, and complains about the others.
func (b *textBlock) each(file string, data []byte) iter.Seq2[place, [][]byte] {
	return func(yield func(place, [][]byte) bool) {
		for len(data) > 0 {
			p := place{file, b.lines + 1, b.rows + 1, &b.finder}
			rest, lines, bad := b.split.row(data)
			data = rest
			b.lines += lines
			f := b.split.fields
			if bad == "" && len(f) == 0 { // an empty line
				continue
			}
			b.rows++
			if bad != "" {
				p.bad("", bad, wantQuotes)
			} else if !yield(p, f) {
				return
			}
		}
	}
}

// quotedRow goes on with a row from its first quoted field.
func (s *splitter) quotedRow(data []byte, from int) (rest []byte, lines int, bad string) {
	lines = 1
	for i := from; ; {
		if i < len(data) && data[i] == '"' {
			start := len(s.spare)
			for i++; ; i++ {
				if i == len(data) {
					return nil, lines, "a quoted field that is never closed"
				}
				if data[i] == '"' {
					i++
					if i == len(data) || data[i] != '"' {
						break
					}
				}
				if data[i] == '\n' {
					lines++
				}
				s.spare = append(s.spare, data[i])
			}
			s.fields = append(s.fields, s.spare[start:len(s.spare):len(s.spare)])
			if i < len(data) && data[i] == '\r' {
				i++
			}
			if i < len(data) && data[i] != s.delim && data[i] != '\n' && bad == "" {
				bad = "text after a closing quote"
			}
			for i < len(data) && data[i] != s.delim && data[i] != '\n' {
				i++
			}
		} else {
			start := i
			for i < len(data) && data[i] != s.delim && data[i] != '\n' {
				i++
			}
			field := data[start:i]
			if i == len(data) || data[i] == '\n' {
				field = bytes.TrimSuffix(field, []byte{'\r'})
			}
			s.fields = append(s.fields, field)
		}
		switch {
		case i == len(data):
			return nil, lines, bad
		case data[i] == '\n':
			return data[i+1:], lines, bad
		}
		i++ // the delimiter
	}
}
