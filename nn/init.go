package nn

import (
	"math"

	"github.com/dygmamba/dygmamba/internal/mersenne"
)

// Init draws a parameter's initial values.
type Init func(d *Draws, x []float32)

// Draws are the random numbers behind initial values: those that PyTorch draws on the CPU after manual_seed with the
// same seed. A model that declares its parameters in the reference's order therefore starts from the very weights that
// the reference starts from.
type Draws struct {
	twister *mersenne.Twister
	second  float64 // of a pair of normal numbers
	waiting bool    // second has not been given out
}

func newDraws(seed uint64) *Draws { return &Draws{twister: mersenne.New(uint32(seed))} } // PyTorch's takes 32 bits too

// Uniform is the next number in [lo, hi): 24 bits of the next word.
func (d *Draws) Uniform(lo, hi float32) float32 {
	const bits = 24
	u := float64(d.twister.Uint32()&(1<<bits-1)) / (1 << bits)
	return float32(u*float64(hi-lo) + float64(lo)) // rounded once: PyTorch's build has a fused multiply-add here
}

// skip passes over n numbers.
func (d *Draws) skip(n int) {
	for range n {
		d.twister.Uint32()
	}
}

// Uniform draws from [−bound, bound).
func Uniform(bound float64) Init {
	return func(d *Draws, x []float32) {
		for i := range x {
			x[i] = d.Uniform(-float32(bound), float32(bound))
		}
	}
}

// FanIn draws from [−1/√n, 1/√n), as PyTorch does for the weight and the bias of a linear map with n inputs.
func FanIn(n int) Init { return Uniform(1 / math.Sqrt(float64(n))) }

// After is an init whose parameters PyTorch has drawn before, n numbers in all, to overwrite them.
func After(n int, init Init) Init {
	return func(d *Draws, x []float32) {
		d.skip(n)
		init(d, x)
	}
}

// Const sets every value to v.
func Const(v float32) Init {
	return func(_ *Draws, x []float32) {
		for i := range x {
			x[i] = v
		}
	}
}

// Frequencies are 10^(−9i/(d−1)) for i < d: the time encoder's, from one radian per unit of time down to 1e-9.
func Frequencies(_ *Draws, x []float32) {
	for i := range x {
		e := float32(0)
		if len(x) > 1 {
			e = float32(9 * float64(i) / float64(len(x)-1))
		}
		x[i] = 1 / float32(math.Pow(10, float64(e)))
	}
}

// LogFrequencies are the time encoder's for logarithms of time, which run from 0 to about 20: 10^(1−3i/(d−1)) for
// i < d.
func LogFrequencies(_ *Draws, x []float32) {
	for i := range x {
		x[i] = float32(math.Pow(10, 1-3*float64(i)/float64(max(1, len(x)-1))))
	}
}

// stateLog is ln 1 … ln n in every row of n: Mamba's A_log, the real part of S4D's initial value.
func stateLog(n int) Init {
	return func(_ *Draws, x []float32) {
		for i := range x {
			x[i] = float32(math.Log(float64(i%n + 1)))
		}
	}
}

// stepBias is the inverse softplus of step sizes drawn log-uniformly from [0.001, 0.1).
func stepBias(d *Draws, x []float32) {
	lo, hi := math.Log(0.001), math.Log(0.1)
	for i := range x {
		dt := max(math.Exp(float64(d.Uniform(0, 1))*(hi-lo)+lo), 1e-4)
		x[i] = float32(dt + math.Log(-math.Expm1(-dt)))
	}
}
