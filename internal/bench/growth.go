package bench

import "math"

// Growth is a quantity that grows in proportion: Base + Each·x, neither below zero. Off is the largest distance of a
// measurement, relative to it.
type Growth struct {
	Base float64 `json:"base"`
	Each float64 `json:"per_neighbor"`
	Off  float64 `json:"off"`
}

// FitNeeds is how many measurements show a growth.
const FitNeeds = 3

// fitGrowth finds the line with the least relative errors; nil for fewer than FitNeeds measurements.
func fitGrowth(x, y []float64) *Growth {
	if len(x) < FitNeeds {
		return nil
	}
	var w, wx, wy, wxx, wxy float64
	for i := range x {
		k := 1 / (y[i] * y[i])
		w, wx, wy, wxx, wxy = w+k, wx+k*x[i], wy+k*y[i], wxx+k*x[i]*x[i], wxy+k*x[i]*y[i]
	}
	g := &Growth{Each: (w*wxy - wx*wy) / (w*wxx - wx*wx)}
	g.Base = (wy - g.Each*wx) / w
	if g.Base < 0 {
		g.Base, g.Each = 0, wxy/wxx
	}
	for i := range x {
		g.Off = max(g.Off, math.Abs(g.At(x[i])-y[i])/y[i])
	}
	return g
}

// At is the quantity at x.
func (g *Growth) At(x float64) float64 { return g.Base + g.Each*x }
