package ctan

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/tensor"
)

// shift is what the model takes from the training data before it learns: when they begin, and how long nodes wait
// from one event to the next, mean and deviation over both nodes of all events.
type shift struct {
	Start, Mean, Deviation float64
	whole                  bool // times are cut to whole numbers
}

// newShift measures the training data. Where there are none, times count as they are.
func newShift(env model.Env, whole bool) (shift, error) {
	s := shift{Deviation: 1, whole: whole}
	if env.Train == nil {
		return s, nil
	}
	events, err := env.Train()
	if err != nil {
		return s, fmt.Errorf("time shifts of the training data: %w", err)
	}
	if events.Len() == 0 {
		return s, nil
	}
	s.Start = s.cut(events.Time[0])
	before := map[int32]float64{}
	waits := make([]float64, 0, 2*events.Len())
	for i, t := range events.Time {
		t = s.cut(t)
		for _, n := range [2]int32{events.Src[i], events.Dst[i]} {
			last, met := before[n]
			if !met {
				last = s.Start
			}
			waits = append(waits, t-last)
			before[n] = t
		}
	}
	s.Mean = mean(waits, func(x float64) float64 { return x })
	if d := math.Sqrt(mean(waits, func(x float64) float64 { return (x - s.Mean) * (x - s.Mean) })); d > 0 {
		s.Deviation = d
	}
	return s, nil
}

func mean(list []float64, f func(float64) float64) float64 {
	sum := 0.0
	for _, x := range list {
		sum += f(x)
	}
	return sum / float64(len(list))
}

// cut is a time as the model keeps it.
func (s *shift) cut(t float64) float64 {
	if s.whole {
		return math.Trunc(t)
	}
	return t
}

// normal is how long one event was before another, as the time encoder wants it.
func (s *shift) normal(wait float64) float32 { return float32((math.Abs(wait) - s.Mean) / s.Deviation) }

// shiftName is its name in a snapshot: weights that have learned with these numbers go with them, whatever data they
// meet later.
const shiftName = "time_shift"

func (s *shift) snapshot() tensor.Named {
	b := make([]byte, 0, 3*timeBytes)
	for _, x := range []float64{s.Start, s.Mean, s.Deviation} {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(x))
	}
	return tensor.Named{Name: shiftName, Shape: []int{1, len(b)}, Bytes: b}
}

// restored is the shift of a snapshot.
func (s *shift) restored(list []tensor.Named) (shift, error) {
	b, err := table(list, shiftName, 3*timeBytes)
	if err != nil {
		return shift{}, err
	}
	if len(b) != 3*timeBytes {
		return shift{}, fmt.Errorf("memory %s has %d rows, must have 1", shiftName, len(b)/(3*timeBytes))
	}
	back := shift{whole: s.whole}
	for i, x := range []*float64{&back.Start, &back.Mean, &back.Deviation} {
		*x = number(b[i*timeBytes:])
	}
	if !finite(back.Start) || !finite(back.Mean) || !(back.Deviation > 0) || !finite(back.Deviation) {
		return shift{}, fmt.Errorf("memory %s is %v, %v, %v, must be a time, a mean and a deviation above 0",
			shiftName, back.Start, back.Mean, back.Deviation)
	}
	return back, nil
}
