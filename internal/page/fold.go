package page

// Folds are things in a list, each a line until someone opens it.
type Folds []Fold

// Fold is one of them.
type Fold struct {
	Title string
	Note  string // behind the title, less loud
	Value string // at the end of the line
	Tone  Tone   // of the value
	Open  bool   // from the beginning
	Parts []Part
}

func (f Folds) write(m *markup) {
	m.open("div", "class", "folds")
	for _, one := range f {
		one.write(m)
	}
	m.close("div")
}

func (f Fold) write(m *markup) {
	attributes := []string{"class", f.Tone.class()}
	if f.Open {
		attributes = append(attributes, "open", "open")
	}
	m.open("details", attributes...)
	m.open("summary")
	m.element("strong", f.Title)
	if f.Note != "" {
		m.element("span", f.Note)
	}
	m.element("em", f.Value)
	m.close("summary")
	m.open("div")
	for _, p := range f.Parts {
		p.write(m)
	}
	m.close("div")
	m.close("details")
}

// Facts are names and what they stand for.
type Facts [][2]string

func (f Facts) write(m *markup) {
	m.open("dl")
	for _, x := range f {
		m.element("dt", x[0])
		m.element("dd", x[1])
	}
	m.close("dl")
}
