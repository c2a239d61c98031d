package cpu

func usePeak(l *loops) { l.fma = fma8 }

//go:noescape
func fma8(n int)
