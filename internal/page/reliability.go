package page

import (
	"fmt"
	"math"

	"github.com/dygmamba/dygmamba/calibration"
)

// Reliability draws what came true beside what was said, of the bins that have answers: a larger dot for more of them.
func Reliability(r calibration.Reliability) Lines {
	line := Lines{
		X: Axis{Name: "probability that the model gave", Max: 1, Percent: true}, Y: Axis{Max: 1, Percent: true},
		Series: []Series{
			{Name: "as it should be", Tone: Third, X: []float64{0, 1}, Y: []float64{0, 1}},
			{Name: "came true", Tone: First, Points: true},
		},
	}
	all := 0
	for _, b := range r.Bins {
		all += b.Answers
	}
	for _, b := range r.Bins {
		if b.Answers > 0 {
			s := &line.Series[1]
			s.X, s.Y = append(s.X, b.Said), append(s.Y, b.True)
			s.Radius = append(s.Radius, 2+8*math.Sqrt(float64(b.Answers)/float64(all)))
		}
	}
	return line
}

// ReliabilityFigure is the same with a title, and how far off it is on average.
func ReliabilityFigure(title string, r calibration.Reliability) Figure {
	note := fmt.Sprintf("calibration error %.2f %%; larger dots: more answers", 100*r.ECE)
	return Figure{Title: title, Note: note, Chart: Reliability(r)}
}
