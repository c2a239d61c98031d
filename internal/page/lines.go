package page

import (
	"fmt"
	"math"
	"slices"
)

// Lines draws values over time.
type Lines struct {
	X, Y   Axis
	Series []Series
	Dots   bool      // show each value
	Marks  []float64 // on the X axis: when something happened
}

// Series is one line. Values that are not numbers leave a gap.
type Series struct {
	Name   string
	Tone   Tone
	X, Y   []float64
	Points bool // no line: its values alone

	Radius []float64 // of each value's dot, in pixels; nil: all the same
	Cross  []bool    // values that are marked by a cross instead of a dot; nil: none
	Named  bool      // the name stands beside its last value
}

// Add adds a value.
func (s *Series) Add(x, y float64) { s.X, s.Y = append(s.X, x), append(s.Y, y) }

func (l Lines) draw(m *markup, width float64) float64 {
	height := min(290, max(210, 0.55*width))
	box := l.frame(m, width, height)
	for _, v := range l.Marks {
		if v >= l.X.Min && v <= l.X.Max {
			x := px(l.X.at(v, box.left, box.right))
			m.leaf("line", "class", "mark", "x1", x, "x2", x, "y1", px(box.top), "y2", px(box.bottom))
		}
	}
	for _, s := range l.Series {
		l.line(m, s, box)
	}
	l.names(m, box)
	return height
}

// box is where values are drawn, in pixels.
type box struct{ left, right, top, bottom float64 }

func (l Lines) frame(m *markup, width, height float64) box {
	ys, wide := l.Y.ticks(5), 0.0
	for _, v := range ys {
		wide = max(wide, textWidth(l.Y.label(v, ys)))
	}
	xs := l.X.ticks(int(width / 80))
	b := box{left: wide + 8, right: width - 12, top: 12, bottom: height - 42}
	if n := len(xs); n > 0 && l.X.Max > l.X.Min { // the last label must not hang over the edge
		over := l.X.at(xs[n-1], b.left, b.right) + textWidth(l.X.label(xs[n-1], xs))/2 - width
		b.right -= max(0, over)
	}
	for _, v := range ys {
		y := l.Y.at(v, b.bottom, b.top)
		m.leaf("line", "class", "rule", "x1", px(b.left), "x2", px(b.right), "y1", px(y), "y2", px(y))
		m.element("text", l.Y.label(v, ys), "class", "end", "x", px(b.left-6), "y", px(y+4))
	}
	for _, v := range xs {
		m.element("text", l.X.label(v, xs), "class", "mid", "x", px(l.X.at(v, b.left, b.right)), "y", px(b.bottom+18))
	}
	m.element("text", l.X.Name, "class", "mid", "x", px((b.left+b.right)/2), "y", px(b.bottom+36))
	return b
}

func (l Lines) line(m *markup, s Series, b box) {
	path, pen := "", "M"
	for i, v := range s.Y {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			pen = "M"
			continue
		}
		path += pen + px(l.X.at(s.X[i], b.left, b.right)) + " " + px(l.Y.at(v, b.bottom, b.top))
		pen = "L"
	}
	if path == "" {
		return
	}
	m.open("g", "class", s.Tone.String())
	if !s.Points {
		m.leaf("path", "class", "line", "d", path)
	}
	for i, v := range s.Y {
		if !l.Dots && !s.Points || math.IsNaN(v) || math.IsInf(v, 0) {
			continue
		}
		x, y := l.X.at(s.X[i], b.left, b.right), l.Y.at(v, b.bottom, b.top)
		title := fmt.Sprintf("%s, %s %.4g: %.4f", s.Name, l.X.Name, s.X[i], v)
		if i < len(s.Cross) && s.Cross[i] {
			const arm = 5
			m.open("path", "class", "line", "d", "M"+px(x-arm)+" "+px(y-arm)+"L"+px(x+arm)+" "+px(y+arm)+
				"M"+px(x-arm)+" "+px(y+arm)+"L"+px(x+arm)+" "+px(y-arm))
			m.element("title", title)
			m.close("path")
			continue
		}
		m.open("circle", "class", s.dot(), "r", px(s.radius(i)), "cx", px(x), "cy", px(y))
		m.element("title", title)
		m.close("circle")
	}
	m.close("g")
}

// names writes the names of series beside their last values, each on a side where there is room; one that finds none
// is left out, a pointer resting on its dot still shows it.
func (l Lines) names(m *markup, b box) {
	var taken []box
	for _, s := range l.Series {
		i := len(s.Y) - 1
		if !s.Named || i < 0 || math.IsNaN(s.Y[i]) || math.IsInf(s.Y[i], 0) {
			continue
		}
		x, y := l.X.at(s.X[i], b.left, b.right), l.Y.at(s.Y[i], b.bottom, b.top)
		away, wide := s.radius(i)+4, textWidth(s.Name)
		for _, place := range []struct {
			class      string
			x, y, from float64
		}{
			{"tiny strong", x + away, y + 4, x + away}, {"tiny strong end", x - away, y + 4, x - away - wide},
			{"tiny strong mid", x, y - away, x - wide/2}, {"tiny strong mid", x, y + away + 8, x - wide/2},
		} {
			room := box{place.from, place.from + wide, place.y - 11, place.y + 3}
			if room.left < 0 || room.right > b.right+8 || slices.ContainsFunc(taken, room.meets) {
				continue
			}
			taken = append(taken, room)
			m.element("text", s.Name, "class", place.class, "x", px(place.x), "y", px(place.y))
			break
		}
	}
}

// meets says whether two boxes have something in common.
func (b box) meets(o box) bool {
	return b.left < o.right && o.left < b.right && b.top < o.bottom && o.top < b.bottom
}

// dot is the class of dots: those with a size of their own may lie on each other.
func (s Series) dot() string {
	if s.Radius != nil {
		return "dot bubble"
	}
	return "dot"
}

// radius is that of the dots: larger where there is no line to guide the eye.
func (s Series) radius(i int) float64 {
	if i < len(s.Radius) {
		return max(1, s.Radius[i])
	}
	if s.Points {
		return 4
	}
	return 3
}
