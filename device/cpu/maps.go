package cpu

import "math"

// The functions of one number and their gradients, as loops. Each computes in float64 and rounds once, so that these
// are the reference for every vector form.

func identityPlain(y, x []float32) { copy(y, x) }

// reluPlain is max(x, 0); NaN stays NaN.
func reluPlain(y, x []float32) {
	for i, v := range x {
		if v < 0 {
			v = 0
		}
		y[i] = v
	}
}

// geluPlain is x·Φ(x) = x·(1+erf(x/√2))/2.
func geluPlain(y, x []float32) {
	for i, v := range x {
		x := max(float64(v), -40) // and no −∞·0
		y[i] = float32(0.5 * x * math.Erfc(-x/math.Sqrt2))
	}
}

// siluPlain is x·σ(x).
func siluPlain(y, x []float32) {
	for i, v := range x {
		y[i] = float32(float64(v) * logistic(float64(v)))
	}
}

func sigmoidPlain(y, x []float32) {
	for i, v := range x {
		y[i] = float32(logistic(float64(v)))
	}
}

func tanhPlain(y, x []float32) {
	for i, v := range x {
		y[i] = float32(math.Tanh(float64(v)))
	}
}

// softplusPlain is log(1+exp(x)), and x above 20.
func softplusPlain(y, x []float32) {
	for i, v := range x {
		if v > 20 {
			y[i] = v
		} else {
			y[i] = float32(math.Log1p(math.Exp(float64(v))))
		}
	}
}

func expPlain(y, x []float32) {
	for i, v := range x {
		y[i] = float32(math.Exp(float64(v)))
	}
}

func cosPlain(y, x []float32) {
	for i, v := range x {
		y[i] = float32(math.Cos(float64(v)))
	}
}

func identityGradPlain(dx, _, _, dy []float32) { copy(dx, dy) }

func reluGradPlain(dx, _, y, dy []float32) {
	for i, v := range dy {
		if y[i] <= 0 {
			v = 0
		}
		dx[i] = v
	}
}

// geluGradPlain is dy·(Φ(x) + x·φ(x)).
func geluGradPlain(dx, x, _, dy []float32) {
	for i := range dy {
		v := min(max(float64(x[i]), -40), 40)
		cdf := 0.5 * math.Erfc(-v/math.Sqrt2)
		pdf := math.Exp(-0.5*v*v) / math.Sqrt(2*math.Pi)
		dx[i] = float32(float64(dy[i]) * (cdf + v*pdf))
	}
}

// siluGradPlain is dy·σ(x)·(1 + x·(1−σ(x))).
func siluGradPlain(dx, x, _, dy []float32) {
	for i := range dy {
		v := float64(x[i])
		s := logistic(v)
		dx[i] = float32(float64(dy[i]) * s * (1 + v*logistic(-v)))
	}
}

// sigmoidGradPlain is dy·y·(1−y).
func sigmoidGradPlain(dx, _, y, dy []float32) {
	for i := range dy {
		dx[i] = dy[i] * y[i] * (1 - y[i])
	}
}

// tanhGradPlain is dy·(1−y²).
func tanhGradPlain(dx, _, y, dy []float32) {
	for i := range dy {
		dx[i] = dy[i] * (1 - y[i]*y[i])
	}
}

// softplusGradPlain is dy·σ(x), and dy above 20.
func softplusGradPlain(dx, x, _, dy []float32) {
	for i := range dy {
		if x[i] > 20 {
			dx[i] = dy[i]
		} else {
			dx[i] = float32(float64(dy[i]) * logistic(float64(x[i])))
		}
	}
}

// expGradPlain is dy·y.
func expGradPlain(dx, _, y, dy []float32) {
	for i := range dy {
		dx[i] = dy[i] * y[i]
	}
}

// cosGradPlain is −dy·sin(x).
func cosGradPlain(dx, x, _, dy []float32) {
	for i := range dy {
		dx[i] = float32(-float64(dy[i]) * math.Sin(float64(x[i])))
	}
}

func logistic(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
