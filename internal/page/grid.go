package page

import "strings"

// Grid is a table whose cells are more than text. All columns but the first few hold numbers.
type Grid struct {
	Head  []string
	Rows  [][]Cell
	Words int // so many columns hold words; 0 is 1
}

// Cell is one of a Grid.
type Cell struct {
	Text  string
	Exact string // the same in all its digits, for whoever reads the page by program; may be ""
	Note  string // what a pointer resting on it shows
	Link  string // a path or a place of this page; others are not followed
	Mark  Mark
}

// Mark is how a cell stands out.
type Mark int

// The marks.
const (
	Unmarked Mark = iota
	Best          // bold
	Next          // underlined
	Faint         // words in the place of a number
)

func (k Mark) class() string { return [...]string{"", "best", "next", "faint"}[k] }

func (g Grid) write(m *markup) {
	m.open("div", "class", "table")
	m.open("table")
	m.open("tr")
	t := Table{Words: g.Words}
	for i, name := range g.Head {
		t.cell(m, "th", i, name)
	}
	m.close("tr")
	for _, row := range g.Rows {
		m.open("tr")
		for i, c := range row {
			c.write(m, i > 0 && i < g.Words)
		}
		m.close("tr")
	}
	m.close("table")
	m.close("div")
}

func (c Cell) write(m *markup, words bool) {
	var attributes, classes []string
	if words {
		classes = append(classes, "words")
	}
	if k := c.Mark.class(); k != "" {
		classes = append(classes, k)
	}
	if classes != nil {
		attributes = append(attributes, "class", strings.Join(classes, " "))
	}
	if c.Note != "" {
		attributes = append(attributes, "title", c.Note)
	}
	m.open("td", attributes...)
	link := c.Link != "" && local(c.Link)
	if link {
		m.open("a", "href", c.Link)
	}
	if c.Exact == "" {
		m.element("span", c.Text)
	} else {
		m.element("data", c.Text, "value", c.Exact)
	}
	if link {
		m.close("a")
	}
	m.close("td")
}

// local says whether a link stays on this machine: no page here leads anywhere else.
func local(link string) bool {
	return !strings.Contains(link, ":") && !strings.HasPrefix(link, "//") && !strings.HasPrefix(link, `\`)
}

// Section begins a section that others can lead to.
type Section struct{ ID, Title, Note string }

func (s Section) write(m *markup) {
	m.element("h2", s.Title, "id", s.ID)
	if s.Note != "" {
		m.element("p", s.Note, "class", "note")
	}
}

// Contents leads to sections.
type Contents []Section

func (c Contents) write(m *markup) {
	m.open("nav")
	for _, s := range c {
		m.open("div")
		m.element("a", s.Title, "href", "#"+s.ID)
		if s.Note != "" {
			m.element("span", s.Note)
		}
		m.close("div")
	}
	m.close("nav")
}

// Remark is a paragraph that is less loud.
type Remark string

func (r Remark) write(m *markup) { m.element("p", string(r), "class", "note") }
