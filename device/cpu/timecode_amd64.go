package cpu

// codeAny gives phases that are too large for the vector form to the plain one.
func codeAny(y, w, bias []float32, delta float32) {
	if n := codeVector(y, w, bias, delta); n < len(y) {
		codePlain(y[n:], w[n:], bias[n:], delta)
	}
}

// codeGradAny gives phases that are too large for the vector form to the plain one.
func codeGradAny(dw, dbias []float64, dy, w, bias []float32, delta float32) {
	if n := codeGradVector(dw, dbias, dy, w, bias, delta); n < len(dy) {
		codeGradPlain(dw[n:], dbias[n:], dy[n:], w[n:], bias[n:], delta)
	}
}

//go:noescape
func codeVector(y, w, bias []float32, delta float32) (done int)

//go:noescape
func codeGradVector(dw, dbias []float64, dy, w, bias []float32, delta float32) (done int)
