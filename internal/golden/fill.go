package golden

import (
	"math"
	"strings"
)

// Fill gives the parameters their golden values. Parameter number q, in the given order, has 0.2·sin(1 + 0.5·q + 0.7·i)
// at flat index i, but A_log, D and the time encoder keep the values every model starts with.
func Fill(params []Param) map[string][]float32 {
	filled := make(map[string][]float32, len(params))
	for q, p := range params {
		w := make([]float32, p.Len())
		value := start(p)
		if value == nil {
			value = func(i int) float64 { return 0.2 * math.Sin(1+0.5*float64(q)+0.7*float64(i)) }
		}
		for i := range w {
			w[i] = float32(value(i))
		}
		filled[p.Name] = w
	}
	return filled
}

// start is the initial value of a parameter that the fill rule leaves alone, nil for all others.
func start(p Param) func(i int) float64 {
	last := p.Name[strings.LastIndexByte(p.Name, '.')+1:]
	switch {
	case last == "A_log":
		return func(i int) float64 { return math.Log(float64(i%p.Shape[1] + 1)) }
	case last == "D":
		return func(int) float64 { return 1 }
	case strings.HasSuffix(p.Name, "time_encoder.w.weight"):
		return func(i int) float64 { // in float32 at every step, as the reference does
			exponent := float32(9 * float64(i) / float64(p.Shape[0]-1))
			return float64(1 / float32(math.Pow(10, float64(exponent))))
		}
	case strings.HasSuffix(p.Name, "time_encoder.w.bias"):
		return func(int) float64 { return 0 }
	}
	return nil
}

// features is the toy graph's rule: a row of zeros, then f of the flat index times a rate.
func features(rows int, f func(float64) float64, rate float64) Matrix {
	const cols = 8
	m := Matrix{rows, cols, make([]float32, rows*cols)}
	for i := range m.Data[cols:] {
		m.Data[cols+i] = float32(f(rate * float64(i)))
	}
	return m
}
