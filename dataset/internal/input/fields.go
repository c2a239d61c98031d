package input

import (
	"bytes"
	"iter"
)

// Splitter cuts rows of delimited text into fields.
type Splitter struct {
	Delim  byte
	Fields [][]byte // of the last row; they point into the data, or into spare where quotes were undone
	spare  []byte   // grows from row to row, so that fields stay valid
}

// Row cuts the first row off data into s.Fields and returns what follows and how many lines the row took.
// bad says what is wrong with its quotes, "" for nothing. A row without any characters has no fields.
func (s *Splitter) Row(data []byte) (rest []byte, lines int, bad string) {
	s.Fields = s.Fields[:0]
	from := 0
	for i, c := range data {
		switch c {
		case s.Delim:
			s.Fields = append(s.Fields, data[from:i])
			from = i + 1
		case '\n':
			end := i
			if end > from && data[end-1] == '\r' {
				end--
			}
			if len(s.Fields) > 0 || end > 0 {
				s.Fields = append(s.Fields, data[from:end])
			}
			return data[i+1:], 1, ""
		case '"':
			if i == from {
				return s.quotedRow(data, from)
			}
		}
	}
	if len(data) > 0 {
		s.Fields = append(s.Fields, bytes.TrimSuffix(data[from:], []byte{'\r'}))
	}
	return nil, 1, ""
}

// WantQuotes is said of rows that cannot be cut.
const WantQuotes = "quotes around whole fields, and doubled within them"

// Block is what is known of a block of delimited text: how far it was read, and what is wrong with it.
type Block struct {
	Rows, Lines int // good and bad ones
	Finder      Finder
	split       Splitter
}

// Reset makes the block ready for other text, to keep up to most problems of each kind.
func (b *Block) Reset(most int, delim byte) {
	b.Rows, b.Lines = 0, 0
	b.Finder.Most = most
	b.split.Delim, b.split.spare = delim, b.split.spare[:0]
}

// Place is where a value of the block stands, lines and rows counted from 1 in it. Complaints about it are the block's.
func (b *Block) Place(file string, line, row int) Place { return Place{file, line, row, &b.Finder} }

// Each walks over the rows of data that can be cut into fields, and complains about the others.
func (b *Block) Each(file string, data []byte) iter.Seq2[Place, [][]byte] {
	return func(yield func(Place, [][]byte) bool) {
		for len(data) > 0 {
			p := b.Place(file, b.Lines+1, b.Rows+1)
			rest, lines, bad := b.split.Row(data)
			data = rest
			b.Lines += lines
			f := b.split.Fields
			if bad == "" && len(f) == 0 { // an empty line
				continue
			}
			b.Rows++
			if bad != "" {
				p.Bad("", bad, WantQuotes)
			} else if !yield(p, f) {
				return
			}
		}
	}
}

// quotedRow goes on with a row from its first quoted field.
func (s *Splitter) quotedRow(data []byte, from int) (rest []byte, lines int, bad string) {
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
			s.Fields = append(s.Fields, s.spare[start:len(s.spare):len(s.spare)])
			if i < len(data) && data[i] == '\r' {
				i++
			}
			if i < len(data) && data[i] != s.Delim && data[i] != '\n' && bad == "" {
				bad = "text after a closing quote"
			}
			for i < len(data) && data[i] != s.Delim && data[i] != '\n' {
				i++
			}
		} else {
			start := i
			for i < len(data) && data[i] != s.Delim && data[i] != '\n' {
				i++
			}
			field := data[start:i]
			if i == len(data) || data[i] == '\n' {
				field = bytes.TrimSuffix(field, []byte{'\r'})
			}
			s.Fields = append(s.Fields, field)
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
