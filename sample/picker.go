package sample

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/index"
	"github.com/dygmamba/dygmamba/internal/mersenne"
	"github.com/dygmamba/dygmamba/internal/rng"
	"github.com/dygmamba/dygmamba/protocol"
)

// Strategies for a fixed number of neighbours, under the names this field uses.
const (
	Recent    = "recent"              // the last ones
	Uniform   = "uniform"             // any, with replacement
	TimeAware = "time_interval_aware" // with replacement; prefers events after long gaps
)

// PickerOptions says how to choose neighbours. Which generator draws is not the model's choice but that of whoever
// replays the events, see Bind. Models embed it in their configurations.
type PickerOptions struct {
	Strategy string `json:"sample_neighbor_strategy" about:"recent, uniform or time_interval_aware"` // "" is Recent
	// Scale is for TimeAware; 0 is 1e-6.
	Scale float64 `json:"time_scaling_factor" in:"(0,inf)" about:"time_interval_aware: decay per unit of time"`
}

// NewPicker is the Picker of a Plan. It is nil, which means the most recent ones, for Recent. Whoever gathers with the
// plan binds it first, see Bind; until then it draws as the reference does from seed 0, and knows no past but the
// histories it is shown.
func NewPicker(o PickerOptions) (Picker, error) {
	if o.Scale == 0 {
		o.Scale = 1e-6
	}
	if !(o.Scale > 0) || math.IsInf(o.Scale, 1) {
		return nil, fmt.Errorf("time scaling factor %v, must be a positive number", o.Scale)
	}
	switch o.Strategy {
	case Recent, "":
		return nil, nil
	case Uniform, TimeAware:
		return o.bind(nil, protocol.Reference, 0), nil
	}
	return nil, fmt.Errorf("neighbour strategy %q, must be %s, %s or %s", o.Strategy, Recent, Uniform, TimeAware)
}

// Conditions are what a model's answers depend on, beside the past, when it picks neighbours this way: a line each.
func (o PickerOptions) Conditions() []string {
	if o.Strategy == Recent || o.Strategy == "" {
		return nil
	}
	return []string{"neighbours are picked at random, " + o.Strategy + ": what was asked before moves the generator"}
}

// Bind is a copy of a plan's picker that looks at one past and draws from the start of a seed, in the way of sampling;
// "" is protocol.Reference. The reference programs make a new one for every epoch and every evaluation, with seed 0 for
// the training past and 1 for the whole. Pickers of other packages are returned as they are.
func Bind(p Picker, past index.View, sampling protocol.Sampling, seed uint64) Picker {
	if b, ok := p.(interface {
		bind(past index.View, sampling protocol.Sampling, seed uint64) Picker
	}); ok {
		return b.bind(past, sampling, seed)
	}
	return p
}

// bind makes a random picker.
func (o PickerOptions) bind(past index.View, sampling protocol.Sampling, seed uint64) Picker {
	var gen generator
	if sampling == protocol.Native {
		gen = rng.New(seed, "neighbors "+o.Strategy)
	} else {
		gen = twister{mersenne.New(uint32(seed)), uint32(seed)}
	}
	if o.Strategy == Uniform {
		return &uniform{generator: gen, options: o}
	}
	return newTimeAware(gen, past, o)
}

// generator is what random pickers have in common: a Mersenne Twister or a stream.
type generator interface {
	Resumable
	Reset()
	Float64() float64
}

// uniform draws positions, each as likely as any other.
type uniform struct {
	generator
	options PickerOptions
}

func (p *uniform) bind(past index.View, sampling protocol.Sampling, seed uint64) Picker {
	return p.options.bind(past, sampling, seed)
}

func (p *uniform) Pick(_ event.Node, h index.History, out []int32) int {
	if h.Len() == 0 {
		return 0
	}
	switch gen := p.generator.(type) {
	case twister:
		gen.Integers(h.Len(), out)
	case *rng.Source:
		for i := range out {
			out[i] = int32(gen.Below(h.Len()))
		}
	}
	byTime(h, out)
	return len(out)
}

// byTime orders picks by time in float32, as models see it; equal times stay as drawn.
func byTime(h index.History, picks []int32) {
	slices.SortStableFunc(picks, func(a, b int32) int {
		return cmp.Compare(float32(h.Time[a]), float32(h.Time[b]))
	})
}
