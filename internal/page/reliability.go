package page

import (
	"fmt"

	"github.com/dygmamba/dygmamba/calibration"
)

// Reliability draws what came true beside what was said, of the bins that have answers.
func Reliability(r calibration.Reliability) Lines {
	line := Lines{
		X: Axis{Name: "probability that the model gave", Max: 1, Percent: true}, Y: Axis{Max: 1, Percent: true},
		Series: []Series{
			{Name: "as it should be", Tone: Third, X: []float64{0, 1}, Y: []float64{0, 1}},
			{Name: "came true", Tone: First, Points: true},
		},
	}
	for _, b := range r.Bins {
		if b.Answers > 0 {
			s := &line.Series[1]
			s.X, s.Y = append(s.X, b.Said), append(s.Y, b.True)
		}
	}
	return line
}

// ReliabilityFigure is the same with a title, and how far off it is on average.
func ReliabilityFigure(title string, r calibration.Reliability) Figure {
	return Figure{Title: title, Note: fmt.Sprintf("calibration error %.2f %%", 100*r.ECE), Chart: Reliability(r)}
}
