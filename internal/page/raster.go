package page

// Raster shows when things happened: a row for each kind of thing, a tick for each time.
type Raster struct {
	X    Axis
	Rows []RasterRow
}

// RasterRow is one kind of thing.
type RasterRow struct {
	Name  string
	Times []float64
	Tone  Tone
}

func (r Raster) draw(m *markup, width float64) float64 {
	const rowHeight = 17.0
	left := 0.0
	for _, row := range r.Rows {
		left = max(left, textWidth(row.Name)+10)
	}
	right := width - 6
	for i, row := range r.Rows {
		top := float64(i) * rowHeight
		class := "end tiny"
		if row.Tone == First {
			class += " strong"
		}
		m.element("text", row.Name, "class", class, "x", px(left-8), "y", px(top+13))
		m.open("g", "class", row.Tone.String())
		path := ""
		for _, t := range row.Times {
			if t >= r.X.Min && t <= r.X.Max {
				path += "M" + px(r.X.at(t, left, right)) + " " + px(top+4) + "v10"
			}
		}
		if path != "" {
			m.leaf("path", "class", "tick", "d", path)
		}
		m.close("g")
	}
	bottom := rowHeight*float64(len(r.Rows)) + 4
	m.leaf("line", "class", "rule", "x1", px(left), "x2", px(right), "y1", px(bottom), "y2", px(bottom))
	ticks := r.X.ticks(int(width / 80))
	for _, v := range ticks {
		m.element("text", r.X.label(v, ticks), "class", "mid", "x", px(r.X.at(v, left, right)), "y", px(bottom+16))
	}
	m.element("text", r.X.Name, "class", "mid", "x", px((left+right)/2), "y", px(bottom+33))
	return bottom + 40
}
