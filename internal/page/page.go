// Package page answers: how does a result look in a browser?
//
// A page is one file that needs nothing else: style sheet and drawings are part of it, nothing runs and nothing is
// fetched. It follows the reader's choice of light or dark and fits a telephone. All text is escaped; the same page
// gives the same bytes.
package page

import (
	_ "embed"
	"io"
)

//go:embed style.css
var style string

//go:embed chart.css
var chartStyle string // colours and drawings

// Page is a document with a title, a few sentences below it, and parts.
type Page struct {
	Title string
	Lead  string
	Parts []Part
	Foot  string
	Wide  bool // for tables with many columns
}

// Part is something that stands on a page below what comes before it.
type Part interface{ write(m *markup) }

// Write writes the page as HTML.
func (p Page) Write(w io.Writer) error {
	var m markup
	m.WriteString("<!doctype html>\n")
	m.open("html", "lang", "en")
	m.open("head")
	m.leaf("meta", "charset", "utf-8")
	m.leaf("meta", "name", "viewport", "content", "width=device-width, initial-scale=1")
	m.leaf("meta", "name", "color-scheme", "content", "light dark")
	m.element("title", p.Title)
	m.open("style")
	m.WriteString("\n" + chartStyle + style) // ours: it must not be escaped
	m.close("style")
	m.close("head")
	m.open("body")
	if p.Wide {
		m.open("main", "class", "wide")
	} else {
		m.open("main")
	}
	m.element("h1", p.Title)
	m.element("p", p.Lead, "class", "lead")
	for _, part := range p.Parts {
		part.write(&m)
	}
	m.element("footer", p.Foot)
	m.close("main")
	m.close("body")
	m.close("html")
	_, err := io.WriteString(w, m.String())
	return err
}

// Heading begins a section.
type Heading string

func (h Heading) write(m *markup) { m.element("h2", string(h)) }

// Text is a paragraph.
type Text string

func (t Text) write(m *markup) { m.element("p", string(t)) }

// Code is a block of commands or program text.
type Code string

func (c Code) write(m *markup) {
	m.open("pre")
	m.element("code", string(c))
	m.close("pre")
}

// Numbers are a few results that should be seen first, side by side.
type Numbers []Number

// Number is one of them.
type Number struct {
	Value string
	Exact string // the same in all its digits, for whoever reads the page by program; may be ""
	Name  string
	Tone  Tone
}

func (n Numbers) write(m *markup) {
	m.open("div", "class", "numbers")
	for _, x := range n {
		m.open("div", "class", "number "+x.Tone.class())
		if x.Exact == "" {
			m.element("strong", x.Value)
		} else {
			m.open("strong")
			m.element("data", x.Value, "value", x.Exact)
			m.close("strong")
		}
		m.element("span", x.Name)
		m.close("div")
	}
	m.close("div")
}

// Table has a row of names and rows of cells; all columns but the first, or the first few, hold numbers.
type Table struct {
	Head  []string
	Rows  [][]string
	Words int // so many columns hold words; 0 is 1
}

func (t Table) write(m *markup) {
	m.open("div", "class", "table")
	m.open("table")
	m.open("tr")
	for i, name := range t.Head {
		t.cell(m, "th", i, name)
	}
	m.close("tr")
	for _, row := range t.Rows {
		m.open("tr")
		for i, cell := range row {
			t.cell(m, "td", i, cell)
		}
		m.close("tr")
	}
	m.close("table")
	m.close("div")
}

func (t Table) cell(m *markup, tag string, column int, text string) {
	if column > 0 && column < t.Words {
		m.element(tag, text, "class", "words")
		return
	}
	m.element(tag, text)
}

// Tone is a colour with a meaning of its own on the whole page.
type Tone int

// The tones.
const (
	Plain  Tone = iota // no emphasis
	First              // what the page is about
	Second             // what it is compared with
	Third              // what stands in the background
	Fact               // what really happened
)

func (t Tone) class() string { return [...]string{"plain", "first", "second", "third", "fact"}[t] }
