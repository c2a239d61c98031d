package model

import (
	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/internal/next"
	"github.com/dygmamba/dygmamba/tensor"
)

// Chooser is a model of the task "next": it says who is the next destination of a source. It does so in two steps. One
// network tells whether the source returns to someone, meets someone for the first time, or meets someone new; another
// one chooses within the group. Such a model embeds nothing: Embed and Head are not for use.
type Chooser interface {
	Model
	Feed() *next.Feed                                     // of training batches; the only extra of its plan
	Setup() next.Setup                                    // what it counts
	Who(tp *grad.Tape, x *tensor.Tensor) *tensor.Tensor   // [n, Feed().Width] → [n, 1], logits within a group
	Group(tp *grad.Tape, x *tensor.Tensor) *tensor.Tensor // [n, Feed().SourceWidth] → [n, next.Groups]
	Calibration() *tensor.Tensor                          // [calibrationLen], a parameter that no step moves
}

// CalibrationLen is the length of a chooser's calibration: see next.Calibration, field by field.
const CalibrationLen = 1 + next.Groups + 2

// Net answers for a chooser where its parameters lie. It belongs to one goroutine.
type Net struct {
	model       Chooser
	tape        *grad.Tape
	calibration next.Calibration
}

// NewNet makes a net with the calibration that the chooser's parameters hold.
func NewNet(m Chooser) *Net {
	n := &Net{model: m, tape: grad.NewTape(m.Params().Device(), false)}
	var x [CalibrationLen]float32
	n.tape.Device().Read(x[:], m.Calibration().Data)
	n.calibration = next.Calibration{Scale: x[0], Bias: [next.Groups]float32(x[1:4]), Within: [2]float32(x[4:6])}
	return n
}

// Calibrate puts another calibration into the chooser's parameters.
func (n *Net) Calibrate(c next.Calibration) error {
	n.calibration = c
	return tensor.Guard(func() {
		x := append(append([]float32{c.Scale}, c.Bias[:]...), c.Within[:]...)
		n.tape.Device().Write(n.model.Calibration().Data, x)
	})
}

// Setup is that of the chooser.
func (n *Net) Setup() next.Setup { return n.model.Setup() }

// Groups are the logits of the groups for a source.
func (n *Net) Groups(source []float32) (out [next.Groups]float32, err error) {
	err = tensor.Guard(func() {
		n.tape.Reset(0)
		x := n.tape.Floats(source, 1, n.model.Feed().SourceWidth)
		device.ReadLater(n.tape.Device(), out[:], n.model.Group(n.tape, x).Data).Wait()
	})
	return n.calibration.Apply(out), err
}

// Scores writes the logits of candidates of a group.
func (n *Net) Scores(group next.Group, x, out []float32) error {
	return tensor.Guard(func() {
		n.tape.Reset(0)
		logits := n.model.Who(n.tape, n.tape.Floats(x, len(out), n.model.Feed().Width)) // [n, 1]
		device.ReadLater(n.tape.Device(), out, logits.Data).Wait()
		for i := range out {
			out[i] *= n.calibration.Within[group]
		}
	})
}

// Bytes is the device memory that the net has needed so far.
func (n *Net) Bytes() int64 { return n.tape.Bytes() }

// Close gives the net's memory back, not the chooser's.
func (n *Net) Close() { n.tape.Close() }
