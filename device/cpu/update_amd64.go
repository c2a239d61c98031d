package cpu

func useUpdate(l *loops) {
	l.adam, l.rmsprop = adamVector, rmspropVector
	l.sgd = func(w, g, m []float32, s *sgdStep) {
		if m == nil {
			sgdVector(w, g, s)
		} else {
			momentumVector(w, g, m, s)
		}
	}
}

//go:noescape
func adamVector(w, g, m, v []float32, s *adamStep)

//go:noescape
func sgdVector(w, g []float32, s *sgdStep)

//go:noescape
func momentumVector(w, g, m []float32, s *sgdStep)

//go:noescape
func rmspropVector(w, g, v []float32, s *rmspropStep)
