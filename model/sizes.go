package model

import (
	"fmt"

	"github.com/dygmamba/dygmamba/internal/memory"
	"github.com/dygmamba/dygmamba/nn"
)

// The most that settings may ask for: positions of a row or its neighbours, widths, and numbers of layers. What fits
// into memory is another question, but to find out that thousands of layers do not, they would have to be put
// together first, which takes minutes.
const (
	Long = 1 << 20
	Wide = 1 << 16
	Deep = 100
)

// Size is a setting that must be a moderate number of something.
type Size struct {
	Key   string
	Value int
	Most  int
}

// CheckSizes says which of the sizes is below 1 or above its most.
func CheckSizes(sizes ...Size) error {
	for _, s := range sizes {
		if s.Value < 1 || s.Value > s.Most {
			return fmt.Errorf("%s is %d, must be at least 1 and at most %d", s.Key, s.Value, s.Most)
		}
	}
	return nil
}

// CheckTimeDim says what is wrong with the width of a time encoding.
func CheckTimeDim(width int) error {
	if width < 2 {
		return fmt.Errorf("time_feat_dim is %d, must be at least 2: frequencies run from 1 to 1e-9", width)
	}
	return nil
}

// CheckScale says what is wrong with the decay of neighbours that are picked by time.
func CheckScale(scale float64) error {
	if !(scale > 0) {
		return fmt.Errorf("time_scaling_factor is %v, must be above 0", scale)
	}
	return nil
}

// CheckDropout says what is wrong with the share that is left out at random.
func CheckDropout(rate float64) error {
	if !(rate >= 0 && rate < 1) {
		return fmt.Errorf("dropout is %v, must be at least 0 and below 1", rate)
	}
	return nil
}

// Place gives parameters their memory and their initial values, unless they plainly do not fit into this machine's.
// Lighter says what would need less.
func (e Env) Place(p *nn.Params, lighter string) error {
	const gib = 1 << 30
	if need, free := 4*int64(p.Count()), memory.Available(); free > 0 && need > free {
		return fmt.Errorf("the weights take %.1f GiB, and %.1f GiB are free: %s need less",
			float64(need)/gib, float64(free)/gib, lighter)
	}
	p.Place(e.Device)
	return nil
}
