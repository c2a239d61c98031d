package walk

// least is the smallest factor that decay leaves anything of: what is smaller would only end in numbers that
// processors are slow with.
const least = 1e-15

// scale is h·factor.
func scale(h []float32, factor float32) {
	if factor < least {
		clear(h)
		return
	}
	scaleAll(h, factor)
}

// add is y + x, which are as long as each other.
func add(y, x []float32) { addAll(y, x[:len(y)]) }

func scalePlain(h []float32, factor float32) {
	for i := range h {
		h[i] *= factor
	}
}

func addPlain(y, x []float32) {
	x = x[:len(y)]
	for i := range y {
		y[i] += x[i]
	}
}
