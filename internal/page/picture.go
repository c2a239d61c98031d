package page

import "io"

// Picture is figures side by side as one SVG file, for documents that cannot hold a page. It follows the reader's
// choice of light or dark where it is shown.
type Picture []Figure

const (
	pictureGap  = 20  // between two figures
	pictureEdge = 18  // between a figure's border and what is in it
	halfWidth   = 400 // of one of two charts, as on a page
)

// Write writes the picture.
func (p Picture) Write(w io.Writer) error {
	const top = 62.0 // room for title and note above a chart
	charts, deepest, width := make([]markup, len(p)), 0.0, -1.0*pictureGap
	for i, f := range p {
		deepest = max(deepest, f.Chart.draw(&charts[i], f.room()))
		width += f.room() + 2*pictureEdge + pictureGap
	}
	height := top + deepest + pictureEdge/2
	var m markup
	m.open("svg", "xmlns", "http://www.w3.org/2000/svg", "width", px(width), "height", px(height),
		"viewBox", "0 0 "+px(width)+" "+px(height), "role", "img")
	m.open("style")
	m.WriteString("\n" + chartStyle) // ours: it must not be escaped
	m.close("style")
	left := 0.0
	for i, f := range p {
		outer := f.room() + 2*pictureEdge
		m.leaf("rect", "class", "panel", "x", px(left), "y", "0", "width", px(outer), "height", px(height), "rx", "10")
		m.element("text", f.Title, "class", "title", "x", px(left+pictureEdge), "y", "28")
		m.element("text", f.Note, "x", px(left+pictureEdge), "y", "48")
		m.open("g", "transform", "translate("+px(left+pictureEdge)+" "+px(top)+")")
		m.WriteString(charts[i].String())
		m.close("g")
		left += outer + pictureGap
	}
	m.close("svg")
	_, err := io.WriteString(w, m.String())
	return err
}

// room is how wide the chart of a figure is in a picture.
func (f Figure) room() float64 {
	if f.Wide {
		return 2*halfWidth + 2*pictureEdge + pictureGap
	}
	return halfWidth
}
