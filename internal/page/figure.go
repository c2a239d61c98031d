package page

import "html"

// Figures stand side by side where there is room, otherwise below each other. One alone takes the whole width.
type Figures []Figure

// Figure is a drawing with a title, a note below that, and the meaning of its colours.
type Figure struct {
	Title, Note string
	Key         []Key
	Chart       Chart
	Wide        bool // in a Picture: takes the room of two
}

// Key names what a tone stands for.
type Key struct {
	Name string
	Tone Tone
}

// Chart can be drawn at any width, in pixels. Text is as large at any width, so each is drawn for the room it will
// have.
type Chart interface {
	draw(m *markup, width float64) (height float64)
}

const (
	wholeWidth = 828 // of a figure alone on a large screen
	halfWidth  = 400 // of one of two
	phoneWidth = 336
)

func (f Figures) write(m *markup) {
	m.open("div", "class", "figures")
	for _, one := range f {
		one.write(m, len(f) == 1)
	}
	m.close("div")
}

func (f Figure) write(m *markup, alone bool) {
	m.open("figure")
	m.open("figcaption")
	m.WriteString(html.EscapeString(f.Title))
	if f.Note != "" {
		m.element("small", f.Note)
	}
	m.close("figcaption")
	if len(f.Key) > 0 {
		m.open("div", "class", "key")
		for _, k := range f.Key {
			m.element("span", k.Name, "class", k.Tone.class())
		}
		m.close("div")
	}
	if alone {
		f.svg(m, "large", wholeWidth)
		f.svg(m, "small", phoneWidth)
	} else {
		f.svg(m, "", halfWidth)
	}
	m.close("figure")
}

func (f Figure) svg(m *markup, class string, width float64) {
	var drawing markup
	height := f.Chart.draw(&drawing, width)
	m.open("svg", "class", class, "viewBox", "0 0 "+px(width)+" "+px(height), "role", "img", "aria-label", f.Title)
	m.WriteString(drawing.String())
	m.close("svg")
}
