package cpu

// Largest errors of the vector forms found over the whole range of float32, relative to the exact value:
//
//	exp cos 1.2e-7    sigmoid silu softplus 2e-7    tanh 3e-7    gelu 2e-7, and 1e-7 absolute where it tends to 0
//
// maps_test.go holds the bounds, those of the gradients too.

func expGradVector(dx, _, y, dy []float32) { mulVector(dx, dy, y) }

// cosAny gives what the vector form leaves, arguments from 2⁴⁸ and NaN, to the plain one, eight at a time.
func cosAny(y, x []float32) {
	for n := cosVector(y, x); n < len(x); n = cosVector(y, x) {
		far := min(n+8, len(x))
		cosPlain(y[n:far], x[n:far])
		y, x = y[far:], x[far:]
	}
}

func cosGradAny(dx, x, _, dy []float32) {
	for n := cosGradVector(dx, x, dy); n < len(x); n = cosGradVector(dx, x, dy) {
		far := min(n+8, len(x))
		cosGradPlain(dx[n:far], x[n:far], nil, dy[n:far])
		dx, x, dy = dx[far:], x[far:], dy[far:]
	}
}

//go:noescape
func reluVector(y, x []float32)

//go:noescape
func geluVector(y, x []float32)

//go:noescape
func siluVector(y, x []float32)

//go:noescape
func sigmoidVector(y, x []float32)

//go:noescape
func tanhVector(y, x []float32)

//go:noescape
func softplusVector(y, x []float32)

//go:noescape
func expVector(y, x []float32)

//go:noescape
func cosVector(y, x []float32) (done int)

//go:noescape
func reluGradVector(dx, x, y, dy []float32)

//go:noescape
func geluGradVector(dx, x, y, dy []float32)

//go:noescape
func siluGradVector(dx, x, y, dy []float32)

//go:noescape
func sigmoidGradVector(dx, x, y, dy []float32)

//go:noescape
func tanhGradVector(dx, x, y, dy []float32)

//go:noescape
func softplusGradVector(dx, x, y, dy []float32)

//go:noescape
func cosGradVector(dx, x, dy []float32) (done int)
