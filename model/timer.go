package model

import (
	"github.com/dygmamba/dygmamba/internal/rate"
	"github.com/dygmamba/dygmamba/tensor"
)

// Timer is a Chooser that may also know when sources act: at which rate, and at which rate some time ahead. What it has
// learned of that lies in parameters that no step moves.
type Timer interface {
	Chooser
	RateClock() rate.Clock
	Rates() *RateParams // nil: it learns none
}

// RateParams are the parameters of a timer.
type RateParams struct {
	Now, Ahead  *tensor.Tensor // [rate.ForestLen(trees)]
	Calibration *tensor.Tensor // [RateCalibrationLen]
}

// RateCalibrationLen is the length of a timer's calibration: 1 where rates were learned, the two of rate.Drift, and
// those of a rate.Correction for each window.
const RateCalibrationLen = oldRateCalibrationLen + 3*seenLen

// Lengths of a rate.Correction: of itself, and of the ranges that it was made for, which older checkpoints lack.
const (
	correctionLen         = 1 + 3 + 3
	seenLen               = 3 * 2
	oldRateCalibrationLen = 1 + 2 + 3*correctionLen
)

// TimerOf is the timer behind a model, nil where it learns no rates.
func TimerOf(m Model) Timer {
	if t, ok := m.(Timer); ok && t.Rates() != nil {
		return t
	}
	return nil
}

// ReadRates is what a timer has learned of rates, nil before it has.
func ReadRates(t Timer) *rate.Model {
	p, dev := t.Rates(), t.Params().Device()
	x := make([]float32, RateCalibrationLen)
	dev.Read(x, p.Calibration.Data)
	if x[0] != 1 {
		return nil
	}
	m := rate.Plain(t.RateClock())
	m.Drift = rate.Drift{Level: int(x[1]), Hours: int(x[2])}
	for k := range m.Windows {
		w := x[3+correctionLen*k:]
		m.Windows[k] = rate.Correction{Source: w[0], Probability: [3]float32(w[1:]), Expected: [3]float32(w[4:])}
		for i := range m.Windows[k].Seen {
			m.Windows[k].Seen[i] = [2]float32(x[oldRateCalibrationLen+seenLen*k+2*i:])
		}
		if m.Windows[k].Seen == [3][2]float32{} { // nobody knows
			m.Windows[k].Seen = rate.SeenAll
		}
	}
	read := func(from *tensor.Tensor) rate.Forest {
		f := make(rate.Forest, from.Len())
		dev.Read(f, from.Data)
		return f.Trim()
	}
	m.Now, m.Ahead = read(p.Now), read(p.Ahead)
	return m
}

// WriteRates puts what was learned into a timer's parameters.
func WriteRates(t Timer, m *rate.Model) error {
	p, dev := t.Rates(), t.Params().Device()
	return tensor.Guard(func() {
		x := []float32{1, float32(m.Drift.Level), float32(m.Drift.Hours)}
		for _, w := range m.Windows {
			x = append(append(append(x, w.Source), w.Probability[:]...), w.Expected[:]...)
		}
		for _, w := range m.Windows {
			for _, seen := range w.Seen {
				x = append(x, seen[:]...)
			}
		}
		dev.Write(p.Calibration.Data, x)
		for _, f := range []struct {
			to   *tensor.Tensor
			from rate.Forest
		}{{p.Now, m.Now}, {p.Ahead, m.Ahead}} {
			all := make([]float32, f.to.Len())
			copy(all, f.from)
			dev.Write(f.to.Data, all)
		}
	})
}
