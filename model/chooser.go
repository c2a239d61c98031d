package model

import (
	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/internal/next"
	"github.com/dygmamba/dygmamba/tensor"
)

// Chooser is a model of the task "next": it says who is the next destination of a source. It does so in two steps. One
// network tells whether the source returns to someone, meets someone for the first time, or meets someone new; another
// one chooses within the group. Both look at counts. CountNet has nothing else: it embeds nothing, and its Embed and
// Head are not for use. Others compare the pairs of a short list as well: see Paired.
type Chooser interface {
	Model
	Feed() *next.Feed                                     // of training batches; the last extra of its plan
	Setup() next.Setup                                    // what it counts
	Who(tp *grad.Tape, x *tensor.Tensor) *tensor.Tensor   // [n, Feed().Width] → [n, 1], logits within a group
	Group(tp *grad.Tape, x *tensor.Tensor) *tensor.Tensor // [n, Feed().SourceWidth] → [n, next.Groups]
	Calibration() *tensor.Tensor                          // a parameter that no step moves
}

// CalibrationLen is the length of a chooser's calibration: see next.Calibration, field by field. A model of pairs has
// weights behind them.
const CalibrationLen = 1 + next.Groups + 2

// Net answers for a chooser where its parameters lie. It belongs to one goroutine.
type Net struct {
	model       Chooser
	tape        *grad.Tape
	calibration next.Calibration
	pairs       next.Pairs // of a Paired model, once someone has said how it is asked
	scorer      Scorer
}

// NewNet makes a net with the calibration that the chooser's parameters hold.
func NewNet(m Chooser) *Net {
	n := &Net{model: m, tape: grad.NewTape(m.Params().Device(), false)}
	x := make([]float32, m.Calibration().Len())
	n.tape.Device().Read(x, m.Calibration().Data)
	n.calibration = next.Calibration{Scale: x[0], Bias: [next.Groups]float32(x[1:4]), Within: [2]float32(x[4:6])}
	if len(x) > CalibrationLen {
		n.calibration.Pair = [2]float32(x[CalibrationLen:])
	}
	return n
}

// calibrationValues are those of a calibration, as a Paired model keeps them.
func calibrationValues(c next.Calibration) []float32 {
	x := append(append([]float32{c.Scale}, c.Bias[:]...), c.Within[:]...)
	return append(x, c.Pair[:]...)
}

// Shortlist is how many candidates of a group the model itself compares, 0 where it looks at counts alone.
func (n *Net) Shortlist() int { return n.model.Feed().Short }

// PairScale is the weight of what the model says of pairs.
func (n *Net) PairScale(g next.Group) float32 { return n.calibration.Pair[g] }

// Pairs is how the model is asked about pairs.
func (n *Net) Pairs() (p next.Pairs, ready bool) { return n.pairs, n.pairs != nil }

// AskPairs says how the model is asked about pairs from now on.
func (n *Net) AskPairs(p next.Pairs) { n.pairs = p }

// Scorer is the model's answers about pairs for an evaluation, which knows what it remembers at which time. It is nil
// where nobody has set it, and for a model that looks at counts alone.
func (n *Net) Scorer() Scorer { return n.scorer }

// SetScorer sets it, for a model that compares pairs.
func (n *Net) SetScorer(s Scorer) {
	if n.Shortlist() > 0 {
		n.scorer = s
	}
}

// Calibrate puts another calibration into the chooser's parameters.
func (n *Net) Calibrate(c next.Calibration) error {
	n.calibration = c
	return tensor.Guard(func() {
		to := n.model.Calibration()
		n.tape.Device().Write(to.Data, calibrationValues(c)[:to.Len()])
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
