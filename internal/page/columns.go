package page

// Columns draws values as columns that stand next to each other in the order of time, each with words above and below.
type Columns struct {
	List []Column
	Line float64 // a dashed line at this value; 0 for none
}

// Column is one of them.
type Column struct {
	Value float64
	Above string // the value in words
	Below [2]string
	Tone  Tone
	Title string // what a pointer resting on it shows
}

func (c Columns) draw(m *markup, width float64) float64 {
	const top, deep = 20.0, 120.0
	bottom, foot := top+deep, 22.0
	axis := Axis{Max: c.Line}
	for _, x := range c.List {
		axis.Max = max(axis.Max, x.Value)
		if x.Below[1] != "" {
			foot = 37
		}
	}
	if c.Line > 0 {
		y := px(axis.at(c.Line, bottom, top))
		m.leaf("line", "class", "dash", "x1", "0", "x2", px(width), "y1", y, "y2", y)
	}
	step := width / float64(max(1, len(c.List)))
	thick := min(64, 0.72*step)
	for i, x := range c.List {
		middle := (float64(i) + 0.5) * step
		y := bottom
		if axis.Max > 0 {
			y = axis.at(max(0, x.Value), bottom, top)
		}
		m.open("g", "class", x.Tone.String())
		m.open("rect", "class", "bar", "x", px(middle-thick/2), "y", px(y), "width", px(thick),
			"height", px(max(1, bottom-y)), "rx", "2")
		if x.Title != "" {
			m.element("title", x.Title)
		}
		m.close("rect")
		m.close("g")
		m.element("text", x.Above, "class", "mid tiny strong", "x", px(middle), "y", px(y-5))
		m.element("text", x.Below[0], "class", "mid tiny", "x", px(middle), "y", px(bottom+15))
		m.element("text", x.Below[1], "class", "mid tiny", "x", px(middle), "y", px(bottom+30))
	}
	m.leaf("line", "class", "rule", "x1", "0", "x2", px(width), "y1", px(bottom), "y2", px(bottom))
	return bottom + foot
}
