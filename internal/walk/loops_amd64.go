package walk

//go:noescape
func scaleAll(h []float32, factor float32)

//go:noescape
func addAll(y, x []float32)
