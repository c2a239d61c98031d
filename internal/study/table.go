package study

import (
	"cmp"
	_ "embed"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"text/template"

	"github.com/dygmamba/dygmamba/internal/page"
	"github.com/dygmamba/dygmamba/internal/term"
)

// Table is one of a report or a document.
type Table struct {
	Title   string   `json:"title"`
	Columns []string `json:"columns"`
	Rows    [][]Cell `json:"rows"`
	Notes   []string `json:"notes,omitempty"`
}

// Cell is one of a table. A value in all its digits is there where it was measured here.
type Cell struct {
	Text       string   `json:"text"`
	Value      *float64 `json:"value,omitempty"` // as a fraction, where Text is in percent
	Std        *float64 `json:"std,omitempty"`
	Runs       []string `json:"runs,omitempty"`       // that it is the mean of
	Link       string   `json:"link,omitempty"`       // to the first of them, from the report's directory
	Conditions string   `json:"conditions,omitempty"` // of the number
	Marks      string   `json:"marks,omitempty"`      // letters, which a note explains
	Rank       int      `json:"rank,omitempty"`       // 1: the best of its column, 2: the second
	Faint      bool     `json:"faint,omitempty"`      // words, not a result
}

// Shown is a part of a report: an exhibit with what there is to show.
type Shown struct {
	Exhibit
	Notes   []string `json:"notes,omitempty"`
	Tables  []Table  `json:"tables,omitempty"`
	Figures []Figure `json:"figures,omitempty"`
}

// Document is parts with what stands around them.
type Document struct {
	Title string   `json:"title"`
	Lead  string   `json:"lead,omitempty"`
	Notes []string `json:"notes,omitempty"`
	Parts []Shown  `json:"parts"`
	Foot  string   `json:"foot,omitempty"`
}

// Formats are the endings of files that Document.Write writes.
var Formats = []string{".html", ".md", ".csv", ".json", ".tex"}

// Write writes the document in the format of a file's ending.
func (d *Document) Write(w io.Writer, ending string) error {
	switch ending {
	case ".html":
		return d.page().Write(w)
	case ".json":
		enc := json.NewEncoder(w)
		enc.SetIndent("", "  ")
		return enc.Encode(d)
	case ".md", ".tex":
		return formats.ExecuteTemplate(w, ending, d)
	case ".csv":
		for i, t := range d.tables() {
			if i > 0 {
				io.WriteString(w, "\n")
			}
			if err := t.csv(w); err != nil {
				return err
			}
		}
		return nil
	}
	return fmt.Errorf("no format %q, want one of %s", ending, strings.Join(Formats, ", "))
}

//go:embed formats.tmpl
var formatText string

// leveled is a part under a heading of a level.
type leveled struct {
	Level string
	Shown
}

// formats write Markdown, and LaTeX for the package booktabs: the best of a column bold, the second underlined.
var formats = template.Must(template.New("").Delims("<<", ">>").Funcs(template.FuncMap{
	"at": func(level string, s Shown) leveled { return leveled{level, s} },
	"align": func(t Table, left, right string) string {
		return strings.Repeat(left, t.words()) + strings.Repeat(right, len(t.Columns)-t.words())
	},
	"size": func(t Table) string { // so that wide tables fit on a page
		return []string{"", `\small`, `\footnotesize`, `\scriptsize`}[min(3, max(0, len(t.Columns)-4)/2)]
	},
	"tables": (*Document).tables, "latex": latexText.Replace, "latexNote": latexNote,
}).Parse(formatText))

// tables are those of all parts; the first of a part has its title.
func (d *Document) tables() (list []Table) {
	for _, s := range d.Parts {
		for i, t := range s.Tables {
			if t.Title == "" && i == 0 {
				t.Title = s.Title
			}
			list = append(list, t)
		}
	}
	return list
}

// page is the document for a browser, with contents where there is much of it.
func (d *Document) page() page.Page {
	p := page.Page{Title: d.Title, Lead: d.Lead, Foot: d.Foot, Wide: true}
	for _, n := range d.Notes {
		p.Parts = append(p.Parts, page.Remark(n))
	}
	var contents page.Contents
	var parts []page.Part
	for _, s := range d.Parts {
		head := page.Section{ID: s.ID, Title: strings.ReplaceAll(s.Title, "`", ""), Note: s.Number}
		if s.ID != "" {
			contents = append(contents, head)
		}
		parts = append(append(parts, head), s.parts()...)
	}
	if len(contents) > 2 {
		p.Parts = append(p.Parts, contents)
	}
	p.Parts = append(p.Parts, parts...)
	return p
}

// row starts one with words.
func row(words ...string) (cells []Cell) {
	for _, w := range words {
		cells = append(cells, Cell{Text: w})
	}
	return cells
}

// prune takes out columns that have nothing in them.
func (t *Table) prune() {
	for i := len(t.Columns) - 1; i > 0; i-- {
		if slices.ContainsFunc(t.Rows, func(row []Cell) bool { return row[i].Text != "" }) {
			continue
		}
		t.Columns = slices.Delete(t.Columns, i, i+1)
		for k := range t.Rows {
			t.Rows[k] = slices.Delete(t.Rows[k], i, i+1)
		}
	}
}

// words is how many columns at the left have no numbers.
func (t *Table) words() int {
	for i, name := range t.Columns {
		switch name {
		case "run", "device", "audit", "model", "preset", "data set", "setting", "negatives", "training negatives",
			"state", "settings", "conditions", "phase", "":
		case "events":
			if i > 0 {
				return i
			}
		default:
			return max(1, i)
		}
	}
	return len(t.Columns)
}

// superscripts are the letters of marks as they stand beside a number.
var superscripts = strings.NewReplacer("a", "ᵃ", "b", "ᵇ", "c", "ᶜ", "e", "ᵉ", "f", "ᶠ", "n", "ⁿ", "r", "ʳ", "s", "ˢ",
	"t", "ᵗ", "u", "ᵘ", "x", "ˣ")

// shown is the text of a cell with its marks.
func (c Cell) shown() string {
	if c.Marks == "" {
		return c.Text
	}
	return c.Text + " " + superscripts.Replace(c.Marks)
}

// explain adds a note for the marks that a table has.
func (t *Table) explain() {
	var list []string
	for _, m := range marks {
		if slices.ContainsFunc(t.Rows, func(row []Cell) bool {
			return slices.ContainsFunc(row, func(c Cell) bool { return strings.Contains(c.Marks, m.letter) })
		}) {
			list = append(list, superscripts.Replace(m.letter)+" "+m.means)
		}
	}
	if list != nil {
		t.Notes = append(t.Notes, strings.Join(list, "; ")+".")
	}
}

// WriteTerm writes the table for a terminal.
func (t *Table) WriteTerm(w io.Writer, s term.Style) error {
	var columns []term.Column
	for i, name := range t.Columns {
		columns = append(columns, term.Column{Name: name, Right: i >= t.words()})
	}
	out := term.NewTable(columns...)
	for _, row := range t.Rows {
		var cells []string
		for _, c := range row {
			cells = append(cells, c.shown())
		}
		out.Row(cells...)
	}
	if err := out.Write(w, s); err != nil {
		return err
	}
	for _, n := range t.Notes {
		fmt.Fprintf(w, "\n%s", n)
	}
	_, err := fmt.Fprintln(w)
	return err
}

// grid is the table of a page.
func (t *Table) grid() page.Grid {
	g := page.Grid{Head: t.Columns, Words: t.words()}
	for _, row := range t.Rows {
		var cells []page.Cell
		for _, c := range row {
			x := page.Cell{Text: c.shown(), Note: c.Conditions, Link: escaped(c.Link), Mark: page.Mark(c.Rank),
				Exact: digits(c.Value)}
			if c.Faint {
				x.Mark = page.Faint
			}
			cells = append(cells, x)
		}
		g.Rows = append(g.Rows, cells)
	}
	return g
}

// parts are the tables and figures of an exhibit on a page.
func (s *Shown) parts() (parts []page.Part) {
	for _, t := range s.Tables {
		if t.Title != "" {
			parts = append(parts, page.Text(t.Title))
		}
		parts = append(parts, t.grid())
		for _, n := range t.Notes {
			parts = append(parts, page.Remark(n))
		}
	}
	side := 2
	if len(s.Figures) == 3 {
		side = 3
	}
	for list := range slices.Chunk(s.Figures, side) {
		var row page.Figures
		for _, f := range list {
			row = append(row, f.draw())
		}
		parts = append(parts, row)
	}
	for _, n := range s.Notes {
		parts = append(parts, page.Remark(n))
	}
	return parts
}

// Markdown is a cell of a table that may be a link.
func (c Cell) Markdown() string {
	text := strings.NewReplacer("\n", " ", "|", "\\|").Replace(c.shown())
	if c.Link != "" && text != "" {
		text = fmt.Sprintf("[%s](%s)", text, escaped(c.Link))
	}
	return fmt.Sprintf([]string{"%s", "**%s**", "<u>%s</u>"}[c.Rank], text)
}

// escaped is a path as a link.
func escaped(path string) string {
	u := url.URL{Path: path}
	return strings.TrimPrefix(u.String(), "./")
}

// csv writes what was measured in all its digits, with columns for deviations and marks where there are any.
func (t *Table) csv(w io.Writer) error {
	var columns [][]string
	for i, name := range t.Columns {
		text, std, marks := []string{name}, []string{name + " std"}, []string{name + " marks"}
		for _, row := range t.Rows {
			c := row[i]
			text = append(text, cmp.Or(digits(c.Value), c.Text))
			std, marks = append(std, digits(c.Std)), append(marks, c.Marks)
		}
		columns = append(columns, text)
		for _, more := range [][]string{std, marks} {
			if strings.Join(more[1:], "") != "" {
				columns = append(columns, more)
			}
		}
	}
	out := csv.NewWriter(w)
	for k := range len(t.Rows) + 1 {
		var line []string
		for _, column := range columns {
			line = append(line, column[k])
		}
		out.Write(line)
	}
	out.Flush()
	return out.Error()
}

// digits are all of a number, "" where there is none.
func digits(v *float64) string {
	if v == nil {
		return ""
	}
	return strconv.FormatFloat(*v, 'g', -1, 64)
}

var latexText = strings.NewReplacer(`\`, `\textbackslash{}`, "&", `\&`, "%", `\%`, "$", `\$`, "#", `\#`, "_", `\_`,
	"{", `\{`, "}", `\}`, "~", `\textasciitilde{}`, "^", `\textasciicircum{}`, "±", `$\pm$`, "×", `$\times$`,
	"≤", `$\leq$`, "ρ", `$\rho$`, "γ", `$\gamma$`, "`", "")

// LaTeX is a cell of a table.
func (c Cell) LaTeX() string {
	text := latexText.Replace(c.Text)
	if minus, ok := strings.CutPrefix(text, "-"); ok {
		text = "$-$" + minus
	}
	text = fmt.Sprintf([]string{"%s", `\textbf{%s}`, `\underline{%s}`}[c.Rank], text)
	if c.Marks != "" {
		text += "$^{\\mathrm{" + c.Marks + "}}$"
	}
	return text
}

// latexNote is a note whose marks are superscripts.
func latexNote(text string) string {
	text = latexText.Replace(text)
	for _, m := range marks {
		text = strings.ReplaceAll(text, superscripts.Replace(m.letter)+" ", "$^{\\mathrm{"+m.letter+"}}$ ")
	}
	return text
}

func upper(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
