package cpu

func useColSum(l *loops) { l.colSum = colSumVector }

//go:noescape
func colSumVector(sum, x []float32, rows, stride int)
