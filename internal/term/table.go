package term

import (
	"io"
	"strings"
	"unicode/utf8"
)

// Table is rows of cells under named columns. Numbers stand right, words left.
type Table struct {
	columns []Column
	rows    []row
}

// Column is a column of a table.
type Column struct {
	Name  string
	Right bool // numbers
}

// Left is a column of words.
func Left(name string) Column { return Column{Name: name} }

// Right is a column of numbers.
func Right(name string) Column { return Column{Name: name, Right: true} }

type row struct {
	cells  []string
	marked bool
}

// NewTable is an empty table.
func NewTable(columns ...Column) *Table { return &Table{columns: columns} }

// Row adds a row; missing cells are empty.
func (t *Table) Row(cells ...string) { t.rows = append(t.rows, row{cells: cells}) }

// Mark adds a row that stands out.
func (t *Table) Mark(cells ...string) { t.rows = append(t.rows, row{cells, true}) }

// Gap adds an empty line, unless the table is empty or ends with one.
func (t *Table) Gap() {
	if n := len(t.rows); n > 0 && t.rows[n-1].cells != nil {
		t.rows = append(t.rows, row{})
	}
}

// Write draws the table: a line of names, a rule, the rows. On a terminal that is too narrow, words in the last column
// go on below themselves.
func (t *Table) Write(w io.Writer, s Style) error { return t.write(w, s, Width(w)) }

// write draws the table on a terminal with this many columns; 0 for as many as it takes.
func (t *Table) write(w io.Writer, s Style, cols int) error {
	widths := t.widths()
	fold := t.fold(widths, cols)
	var b strings.Builder
	if err := t.head(&b, s, widths); err != nil {
		return err
	}
	for _, r := range t.rows {
		line := t.line(r.cells, widths)
		if fold > 0 {
			var folded strings.Builder
			wrapLine(&folded, line, fold, cols)
			line = strings.TrimRight(folded.String(), "\n")
		}
		if r.marked {
			line = s.Good(line)
		}
		b.WriteString(line + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// fold is where the last column begins if it is one of words that does not fit but has a third of the terminal, and is
// then made to fit; else 0.
func (t *Table) fold(widths []int, cols int) int {
	last := len(widths) - 1
	if last < 0 || t.columns[last].Right {
		return 0
	}
	at := 2
	for _, width := range widths[:last] {
		at += width + 2
	}
	if at+widths[last] <= cols || at > cols*2/3 {
		return 0
	}
	widths[last] = cols - at
	return at
}

func (t *Table) head(w io.Writer, s Style, widths []int) error {
	names := make([]string, len(t.columns))
	total := 0
	for i, c := range t.columns {
		names[i] = c.Name
		total += widths[i] + 2
	}
	_, err := io.WriteString(w, s.Strong(t.line(names, widths))+"\n"+
		s.Dim("  "+strings.Repeat("─", max(0, total-2)))+"\n")
	return err
}

func (t *Table) widths() []int {
	widths := make([]int, len(t.columns))
	for i, c := range t.columns {
		widths[i] = utf8.RuneCountInString(c.Name)
		for _, r := range t.rows {
			if i < len(r.cells) {
				widths[i] = max(widths[i], utf8.RuneCountInString(r.cells[i]))
			}
		}
	}
	return widths
}

func (t *Table) line(cells []string, widths []int) string {
	var b strings.Builder
	for i, cell := range cells {
		pad := strings.Repeat(" ", max(0, widths[i]-utf8.RuneCountInString(cell)))
		b.WriteString("  ")
		if t.columns[i].Right {
			b.WriteString(pad + cell)
		} else {
			b.WriteString(cell + pad)
		}
	}
	return strings.TrimRight(b.String(), " ")
}

// Facts is a list of names and values, the values aligned.
type Facts struct {
	rows [][2]string
}

// Add adds a fact. An empty name continues the one before.
func (f *Facts) Add(name, value string) { f.rows = append(f.rows, [2]string{name, value}) }

// Write draws the facts, one on each line.
func (f *Facts) Write(w io.Writer, s Style) error {
	wide := 0
	for _, r := range f.rows {
		wide = max(wide, utf8.RuneCountInString(r[0]))
	}
	var b strings.Builder
	for _, r := range f.rows {
		pad := strings.Repeat(" ", wide-utf8.RuneCountInString(r[0]))
		b.WriteString("  " + s.Dim(r[0]) + pad + "  " + r[1] + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}
