package cpu

import "math"

// The functions below are the plain twins of the macros in math_amd64.h.

// exp32 is eˣ, within two units in the last place.
func exp32(x float32) float32 {
	switch {
	case x != x:
		return x
	case x > 89:
		return float32(math.Inf(1))
	case x < -104:
		return 0
	}
	const round = 1.5 * (1 << 23)
	n := float32(x*(1/math.Ln2)) + round
	bits := int32(math.Float32bits(n)) - 0x4b400000
	n -= round
	const high, low = 0.693359375, -2.12194440e-4
	r := float32(x-n*high) - n*low
	p := float32(0.0013814613)
	p = p*r + 0.00836871
	p = p*r + 0.041668389
	p = p*r + 0.16666521
	p = p*r + 0.49999994
	p = p*r*r + r + 1
	half := bits >> 1
	return p * power2(half) * power2(bits-half)
}

// power2 is 2ⁿ for n in [−126, 127].
func power2(n int32) float32 { return math.Float32frombits(uint32(n+127) << 23) }

// sigmoid32 is 1/(1+e⁻ˣ).
func sigmoid32(x float32) float32 { return 1 / (1 + exp32(-x)) }

// silu32 is x/(1+e⁻ˣ).
func silu32(x float32) float32 { return x / (1 + exp32(-x)) }
