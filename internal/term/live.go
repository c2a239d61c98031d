package term

import (
	"io"
	"slices"
	"unicode/utf8"
)

// Live is a table whose rows are written as soon as they are known.
type Live struct {
	w      io.Writer
	style  Style
	table  *Table
	widths []int
}

// NewLive writes the line of names and the rule. The widest cells that will come say how wide the columns are; a cell
// that is wider moves the rest of its row to the right.
func NewLive(w io.Writer, s Style, columns []Column, widest ...string) (*Live, error) {
	t := NewTable(columns...)
	t.Row(widest...)
	l := &Live{w, s, t, t.widths()}
	t.rows = nil
	return l, t.head(w, s, l.widths)
}

// Row writes a row; missing cells are empty.
func (l *Live) Row(cells ...string) error {
	_, err := io.WriteString(l.w, l.line(cells)+"\n")
	return err
}

// Remark writes a row that has words in place of all cells but the first.
func (l *Live) Remark(first, words string) error {
	_, err := io.WriteString(l.w, l.line([]string{first})+"  "+l.style.Dim(words)+"\n")
	return err
}

func (l *Live) line(cells []string) string {
	widths := slices.Clone(l.widths)
	for i, cell := range cells {
		widths[i] = max(widths[i], utf8.RuneCountInString(cell))
	}
	return l.table.line(cells, widths)
}
