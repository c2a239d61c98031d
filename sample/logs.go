package sample

import "math"

// Logs turns times into log(1 + per·time); those below 0 count as 0.
func Logs(times []float32, per float64) {
	for i, t := range times {
		times[i] = float32(math.Log1p(max(0, float64(t)) * per))
	}
}
