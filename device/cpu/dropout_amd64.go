package cpu

func useDropout(l *loops) { l.draw, l.keep, l.drop = drawVector, keepVector, dropVector }

//go:noescape
func drawVector(words []uint32, first uint64, stream, key0, key1 uint32)

//go:noescape
func keepVector(y, x []float32, words []uint32, least uint32, scale float32)

//go:noescape
func dropVector(y, x []float32, first uint64, stream, key0, key1, least uint32, scale float32)
