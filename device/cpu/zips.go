package cpu

func addPlain(z, x, y []float32) {
	for i := range z {
		z[i] = x[i] + y[i]
	}
}

func subPlain(z, x, y []float32) {
	for i := range z {
		z[i] = x[i] - y[i]
	}
}

func mulPlain(z, x, y []float32) {
	for i := range z {
		z[i] = x[i] * y[i]
	}
}

func addOnePlain(z, x []float32, v float32) {
	for i := range z {
		z[i] = x[i] + v
	}
}

func subOnePlain(z, x []float32, v float32) {
	for i := range z {
		z[i] = x[i] - v
	}
}

func mulOnePlain(z, x []float32, v float32) {
	for i := range z {
		z[i] = x[i] * v
	}
}
