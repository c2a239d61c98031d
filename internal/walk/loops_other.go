//go:build !amd64

package walk

func scaleAll(h []float32, factor float32) { scalePlain(h, factor) }

func addAll(y, x []float32) { addPlain(y, x) }
