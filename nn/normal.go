package nn

import "math"

// Normal draws from the standard normal distribution.
//
// PyTorch has two ways. From lanes numbers on it fills the tensor with uniform numbers and turns each block of lanes
// into normal ones: the first half gives radii, the second angles. A last block that is not full ends at the end of the
// tensor and is drawn anew, over what the block before has left there. Fewer numbers are drawn in pairs, in float64,
// and the second of a pair waits for the next small tensor.
func Normal(d *Draws, x []float32) {
	if len(x) < lanes {
		for i := range x {
			x[i] = float32(d.normal())
		}
		return
	}
	for i := range x {
		x[i] = d.Uniform(0, 1)
	}
	for ; len(x) >= lanes; x = x[lanes:] {
		normals((*[lanes]float32)(x))
		if rest := len(x) - lanes; rest > 0 && rest < lanes {
			x = x[rest:]
			for i := range x {
				x[i] = d.Uniform(0, 1)
			}
			normals((*[lanes]float32)(x))
		}
	}
}

// lanes is the number of float32 in the two vector registers that PyTorch works on.
const lanes = 16

// normals turns uniform numbers into normal ones, as Box and Muller do.
func normals(x *[lanes]float32) {
	for i := range lanes / 2 {
		radius := float32(math.Sqrt(float64(-2 * vectorLog(1-x[i]))))
		sin, cos := vectorSinCos(2 * math.Pi * x[i+lanes/2])
		x[i], x[i+lanes/2] = radius*cos, radius*sin
	}
}

// normal is the next number of the pairs.
func (d *Draws) normal() float64 {
	if d.waiting {
		d.waiting = false
		return d.second
	}
	angle := 2 * math.Pi * d.uniform64()
	radius := math.Sqrt(-2 * math.Log1p(-d.uniform64()))
	d.second, d.waiting = radius*math.Sin(angle), true
	return radius * math.Cos(angle)
}

// uniform64 is the next number in [0, 1) with 53 bits: those of the next two words, the higher one first.
func (d *Draws) uniform64() float64 {
	const bits = 53
	high := uint64(d.twister.Uint32())
	low := uint64(d.twister.Uint32())
	return float64((high<<32|low)&(1<<bits-1)) / (1 << bits)
}

// The vector functions are those of the Cephes library (S. L. Moshier) for float32, as PyTorch evaluates them eight at
// a time: products that are added to something are not rounded before. An accurate logarithm or cosine is better and
// does not give the same bits: every fourth normal number would differ in the last one. PyTorch itself has them where a
// processor lacks AVX2, and there its normal numbers are up to 2e-6 away from these.

// vectorLog is the natural logarithm of x in (0, 1]: of the mantissa, within a factor √2 of 1, plus e·ln 2 in two
// parts.
func vectorLog(x float32) float32 {
	fraction, exponent := math.Frexp(float64(x))
	m, e := float32(fraction), float32(exponent)
	if m < math.Sqrt2/2 {
		m, e = m+m, e-1
	}
	m--
	square := m * m
	y := polynomial(m, 7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1,
		-1.6668057665e-1, 2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1)
	y = fused(float32(y*m), square, float32(e*-2.12194440e-4))
	y = fused(-0.5, square, y)
	return fused(e, 0.693359375, m+y)
}

// vectorSinCos is the sine and the cosine of x ≥ 0: of what remains within π/4 of 0 when a multiple of π/2, in three
// parts, is taken off.
func vectorSinCos(x float32) (sin, cos float32) {
	eighth := (int32(x*(4/math.Pi)) + 1) &^ 1 // in eighths of a turn, to the nearest quarter
	turns := float32(eighth)
	x = fused(turns, -0.78515625, x)
	x = fused(turns, -2.4187564849853515625e-4, x)
	x = fused(turns, -3.77489497744594108e-8, x)
	square := x * x
	c := polynomial(square, 2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2)
	cos = fused(float32(c*square), square, -0.5*square) + 1
	s := polynomial(square, -1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1)
	sin = fused(float32(s*square), x, x)
	switch eighth & 7 {
	case 2:
		return cos, -sin
	case 4:
		return -sin, -cos
	case 6:
		return -cos, sin
	}
	return sin, cos
}

// polynomial has the coefficient of the highest power first.
func polynomial(x float32, coefficients ...float32) float32 {
	y := coefficients[0]
	for _, c := range coefficients[1:] {
		y = fused(y, x, c)
	}
	return y
}

// fused is a·b + c. Float64 holds the product as it is; the sum is rounded to it and then to float32, which is not what
// one rounding gives in about one of 2²⁹ cases.
func fused(a, b, c float32) float32 { return float32(float64(a)*float64(b) + float64(c)) }
