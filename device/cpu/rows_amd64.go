package cpu

//go:noescape
func dotVector(x, y []float32) float32

//go:noescape
func sumVector(x []float32) float32

//go:noescape
func axpyVector(y, x []float32, k float32)

//go:noescape
func softmaxVector(x []float32)
