package nn

import (
	"math"
	"math/rand/v2"
)

// Init draws a parameter's initial values.
type Init func(r *rand.Rand, x []float32)

// Uniform draws from (−bound, bound).
func Uniform(bound float64) Init {
	return func(r *rand.Rand, x []float32) {
		for i := range x {
			x[i] = float32((2*r.Float64() - 1) * bound)
		}
	}
}

// FanIn draws from (−1/√n, 1/√n), as PyTorch does for the weight and the bias of a linear map with n inputs.
func FanIn(n int) Init { return Uniform(1 / math.Sqrt(float64(n))) }

// Normal draws from the standard normal distribution.
func Normal(r *rand.Rand, x []float32) {
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
}

// Const sets every value to v.
func Const(v float32) Init {
	return func(_ *rand.Rand, x []float32) {
		for i := range x {
			x[i] = v
		}
	}
}

// Frequencies are 10^(−9i/(d−1)) for i < d: the time encoder's, from one radian per unit of time down to 1e-9.
func Frequencies(_ *rand.Rand, x []float32) {
	for i := range x {
		e := float32(0)
		if len(x) > 1 {
			e = float32(9 * float64(i) / float64(len(x)-1))
		}
		x[i] = 1 / float32(math.Pow(10, float64(e)))
	}
}

// stateLog is ln 1 … ln n in every row of n: Mamba's A_log, the real part of S4D's initial value.
func stateLog(n int) Init {
	return func(_ *rand.Rand, x []float32) {
		for i := range x {
			x[i] = float32(math.Log(float64(i%n + 1)))
		}
	}
}

// stepBias is the inverse softplus of step sizes drawn log-uniformly from [0.001, 0.1).
func stepBias(r *rand.Rand, x []float32) {
	lo, hi := math.Log(0.001), math.Log(0.1)
	for i := range x {
		dt := max(math.Exp(r.Float64()*(hi-lo)+lo), 1e-4)
		x[i] = float32(dt + math.Log(-math.Expm1(-dt)))
	}
}
