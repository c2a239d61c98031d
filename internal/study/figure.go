package study

import (
	"math"
	"slices"

	"github.com/dygmamba/dygmamba/internal/page"
)

// Figure is one of a report.
type Figure struct {
	Title  string   `json:"title"`
	Note   string   `json:"note,omitempty"`
	X      string   `json:"x"`
	Y      string   `json:"y"`
	LogX   bool     `json:"log_x,omitempty"`
	LogY   bool     `json:"log_y,omitempty"`
	Series []Series `json:"series"`
}

// Series is a line of a figure, or, where R is there, points of that weight.
type Series struct {
	Name  string    `json:"name"`
	X     []float64 `json:"x"`
	Y     []float64 `json:"y"`
	R     []float64 `json:"r,omitempty"`
	Cross []bool    `json:"cross,omitempty"` // points that took longer than they were allowed
}

// add adds a point to the line of a name; all points of a line say whether they are crosses, or none.
func (f *Figure) add(name string, x, y float64, cross ...bool) {
	i := slices.IndexFunc(f.Series, func(s Series) bool { return s.Name == name })
	if i < 0 {
		i = len(f.Series)
		f.Series = append(f.Series, Series{Name: name})
	}
	s := &f.Series[i]
	s.X, s.Y, s.Cross = append(s.X, x), append(s.Y, y), append(s.Cross, cross...)
}

// bubble adds a point of some weight.
func (f *Figure) bubble(name string, x, y, weight float64) {
	f.Series = append(f.Series, Series{Name: name, X: []float64{x}, Y: []float64{y}, R: []float64{weight}})
}

// tones in the order in which series take them.
var tones = []page.Tone{page.First, page.Second, page.Fact, page.Third, page.Plain}

// draw makes a chart of a figure.
func (f *Figure) draw() page.Figure {
	chart := page.Lines{X: page.Axis{Name: f.X, Log: f.LogX}, Y: page.Axis{Name: f.Y, Log: f.LogY}, Dots: true}
	out := page.Figure{Title: f.Title, Note: f.Note}
	var xs, ys []float64
	for i, s := range f.Series {
		line := page.Series{Name: s.Name, Tone: tones[i%len(tones)], X: s.X, Y: s.Y, Cross: s.Cross}
		if s.R != nil {
			line.Points, line.Named = true, true
			for _, v := range s.R {
				line.Radius = append(line.Radius, 10*math.Sqrt(math.Max(0, v)))
			}
		} else if s.Name != "" {
			out.Key = append(out.Key, page.Key{Name: s.Name, Tone: line.Tone})
		}
		xs, ys = append(xs, s.X...), append(ys, s.Y...)
		chart.Dots = chart.Dots && len(s.X) < 50
		chart.Series = append(chart.Series, line)
	}
	bubbles := len(f.Series) > 0 && f.Series[0].R != nil
	room := 0.08
	if bubbles {
		room = 0.25
	}
	chart.X.Min, chart.X.Max = reach(xs, f.LogX, room)
	chart.Y.Min, chart.Y.Max = reach(ys, f.LogY, room)
	const few = 12 // no halves of an epoch
	ticks := slices.Compact(slices.Sorted(slices.Values(xs)))
	if !bubbles && (f.LogX || len(ticks) <= few) {
		chart.X.Ticks = ticks
	}
	if f.Note == "" {
		out.Note = f.Y
	}
	out.Chart = chart
	return out
}

// reach is a range with some room around values, a part of their own range.
func reach(values []float64, log bool, part float64) (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, v := range values {
		if !math.IsNaN(v) && !math.IsInf(v, 0) && (!log || v > 0) {
			low, high = min(low, v), max(high, v)
		}
	}
	switch {
	case low > high:
		return 0, 1
	case log:
		factor := max(1.05, math.Pow(high/low, part))
		return low / factor, high * factor
	}
	room := max(part*(high-low), 1e-3*math.Abs(high), 1e-9)
	return low - room, high + room
}
