package jodie

import (
	"fmt"
	"math"
	"slices"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/tensor"
)

// shift is how long nodes of one role wait between two events: mean and standard deviation over the training events.
type shift struct{ mean, deviation float64 }

// shiftsName is that of the shifts among what is remembered: they are measured once, and stay with the model when it is
// shown other events.
const shiftsName = "time_shifts"

// saved is the shifts of sources and destinations.
func (m *Model) saved() tensor.Named {
	return tensor.Named{Name: shiftsName, Shape: []int{2, 2}, Data: slices.Clone(m.shifts[:])}
}

// take takes shifts that were saved.
func (m *Model) take(list []tensor.Named) error {
	x, ok := tensor.Find(list, shiftsName)
	if !ok || !slices.Equal(x.Shape, []int{2, 2}) || len(x.Data) != len(m.shifts) {
		return fmt.Errorf("memory %s has shape %v, must be [2 2]", shiftsName, x.Shape)
	}
	if i := slices.IndexFunc(x.Data, func(v float32) bool { return v-v != 0 }); i >= 0 {
		return fmt.Errorf("memory %s, number %d is %v, must be finite", shiftsName, i, x.Data[i])
	}
	copy(m.shifts[:], x.Data)
	return nil
}

// shifts measures those of sources and of destinations. A node's first wait is counted from time 0, as in the reference
// programs. Without data, and where all waits are the same, times are left as they are.
func shifts(env model.Env) (src, dst shift, err error) {
	src, dst = shift{0, 1}, shift{0, 1}
	if env.Train == nil {
		return src, dst, nil
	}
	events, err := env.Train()
	if err != nil || events.Len() == 0 {
		return src, dst, err
	}
	return measure(events.Src, events.Time), measure(events.Dst, events.Time), nil
}

func measure(nodes []event.Node, times []event.Time) shift {
	last := map[event.Node]event.Time{}
	waits := make([]float64, len(nodes))
	s := shift{}
	for i, n := range nodes {
		waits[i] = times[i] - last[n]
		last[n] = times[i]
		s.mean += waits[i] / float64(len(nodes))
	}
	for _, w := range waits {
		s.deviation += (w - s.mean) * (w - s.mean) / float64(len(nodes))
	}
	if s.deviation = math.Sqrt(s.deviation); s.deviation == 0 {
		s.deviation = 1
	}
	return s
}
