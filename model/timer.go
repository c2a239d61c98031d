package model

import (
	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/internal/rate"
	"github.com/dygmamba/dygmamba/tensor"
)

// Timer is a Chooser that may also know when sources act: at which rate, and at which rate some time ahead.
type Timer interface {
	Chooser
	Rates() *rate.Feed                                    // of training batches, the last extra of its plan; nil: none
	Rate(tp *grad.Tape, x *tensor.Tensor) *tensor.Tensor  // [n, rate.Width] → [n, 1], see rate.Rows
	Ahead(tp *grad.Tape, x *tensor.Tensor) *tensor.Tensor // the same, some time ahead
	RateCalibration() *tensor.Tensor                      // [RateCalibrationLen], a parameter that no step moves
}

// RateCalibrationLen is the length of a timer's calibration: see rate.Calibration, field by field.
const RateCalibrationLen = 4 + 24

// TimerOf is the timer behind a model, nil where it knows no rates.
func TimerOf(m Model) Timer {
	if t, ok := m.(Timer); ok && t.Rates() != nil {
		return t
	}
	return nil
}

// RateNet answers for a timer where its parameters lie. It belongs to one goroutine.
type RateNet struct {
	model Timer
	tape  *grad.Tape
}

// NewRateNet makes a net.
func NewRateNet(m Timer) *RateNet { return &RateNet{m, grad.NewTape(m.Params().Device(), false)} }

// Clock is that of the training.
func (n *RateNet) Clock() rate.Clock { return n.model.Rates().Clock() }

// Outputs asks one of the two networks.
func (n *RateNet) Outputs(ahead bool, x, out []float32) error {
	return tensor.Guard(func() {
		n.tape.Reset(0)
		rows := n.tape.Floats(x, len(out), rate.Width)
		y := n.model.Rate
		if ahead {
			y = n.model.Ahead
		}
		device.ReadLater(n.tape.Device(), out, y(n.tape, rows).Data).Wait() // [n, 1]
	})
}

// Calibration is what the timer's parameters hold.
func (n *RateNet) Calibration() (c rate.Calibration) {
	var x [RateCalibrationLen]float32
	n.tape.Device().Read(x[:], n.model.RateCalibration().Data)
	return rate.Calibration{Now: x[0], Ahead: x[1], Shift: x[2], Slope: x[3], Hours: [24]float32(x[4:])}
}

// Calibrate puts another calibration into the timer's parameters.
func (n *RateNet) Calibrate(c rate.Calibration) error {
	return tensor.Guard(func() {
		x := append([]float32{c.Now, c.Ahead, c.Shift, c.Slope}, c.Hours[:]...)
		n.tape.Device().Write(n.model.RateCalibration().Data, x)
	})
}

// Close gives the net's memory back, not the timer's.
func (n *RateNet) Close() { n.tape.Close() }
