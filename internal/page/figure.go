package page

import "html/template"

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

// Keys are the names and tones of lines.
func Keys(list []Series) (keys []Key) {
	for _, s := range list {
		keys = append(keys, Key{s.Name, s.Tone})
	}
	return keys
}

// Chart can be drawn at any width, in pixels. Text is as large at any width, so each is drawn for the room it will
// have.
type Chart interface {
	draw(m *markup, width float64) (height float64)
}

func (f Figure) svg(class string, width float64) template.HTML {
	var drawing, m markup
	height := f.Chart.draw(&drawing, width)
	m.open("svg", "class", class, "viewBox", "0 0 "+px(width)+" "+px(height), "role", "img", "aria-label", f.Title)
	m.WriteString(drawing.String())
	m.close("svg")
	return template.HTML(m.String())
}
