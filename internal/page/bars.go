package page

import "fmt"

// Bars compares a few fractions, each a bar from the left with its value in percent at the end.
type Bars struct {
	Rows   []Bar
	Chance float64 // a dashed line: what guessing gives; 0 for none
}

// Bar is one of them.
type Bar struct {
	Name  string
	Value float64 // from 0 to 1
	Tone  Tone
}

func (c Bars) draw(m *markup, width float64) float64 {
	const rowHeight, thick = 44.0, 16.0
	right := width - 52 // room for the value of a full bar
	axis := Axis{Max: 1}
	chance := axis.at(c.Chance, 0, right)
	for i, r := range c.Rows {
		top := 6 + float64(i)*rowHeight
		end := axis.at(min(1, max(0, r.Value)), 0, right)
		m.element("text", r.Name, "x", "0", "y", px(top+14))
		m.open("g", "class", r.Tone.String())
		m.leaf("rect", "class", "bar", "x", "0", "y", px(top+20), "width", px(max(1, end)),
			"height", px(thick), "rx", "3")
		m.close("g")
		m.element("text", fmt.Sprintf("%.1f", 100*r.Value), "class", "strong", "x", px(end+8), "y", px(top+32))
		if c.Chance > 0 {
			m.leaf("line", "class", "dash", "x1", px(chance), "x2", px(chance), "y1", px(top+17),
				"y2", px(top+20+thick+3))
		}
	}
	height := 6 + rowHeight*float64(len(c.Rows))
	if c.Chance > 0 {
		m.element("text", "chance", "class", "mid tiny", "x", px(chance), "y", px(height+10))
		height += 10
	}
	return height + 6
}
