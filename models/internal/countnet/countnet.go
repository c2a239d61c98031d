// Package countnet is CountNet, a model of the task "next": who is the next destination of a source?
//
// It looks at counts alone: how often and how lately the source, the candidate and the pair acted, what usually
// follows, whom both know. Two small networks read them. One says which group the destination belongs to: someone the
// source has met, someone it has not met, or someone who has never been a destination. The other one says who it is
// within the group. First meetings are held against first meetings and returns against returns, so that neither drowns
// the other.
package countnet

import (
	"fmt"

	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/internal/next"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/nn"
	"github.com/dygmamba/dygmamba/protocol"
	"github.com/dygmamba/dygmamba/sample"
	"github.com/dygmamba/dygmamba/tensor"
)

const lighter = "a smaller hidden_dim or fewer num_candidates"

// Factory builds CountNet.
var Factory = model.Make(model.Kind[Config]{
	Summary: "two small networks on counts of earlier events, for the task next (CountNet)",
	Default: Default, Presets: presets, Task: protocol.Next, Lighter: lighter,
	Fit:   func(c *Config, d model.Data) { c.Span = d.Span },
	Build: func(env model.Env, c Config) (model.Model, error) { return New(env, c) },
})

// presets are one: nothing was published.
var presets = []model.Preset[Config]{{
	Name:    "standard",
	Summary: "the same for all data",
	Apply: func(_ string, _ *Config, t *model.Training) {
		t.LearningRate, t.Epochs, t.Patience, t.Calibrate = 1e-3, 30, 4, false
	},
}}

// Config says everything about the model but its weights. Its JSON names are the ones --set takes, and about says what
// they are.
type Config struct {
	Hidden     int     `json:"hidden_dim" about:"width of the network that chooses among candidates"`
	Candidates int     `json:"num_candidates" about:"other candidates that a destination is held against in training"`
	Dropout    float64 `json:"dropout" about:"share left out at random in training"`
	Span       float64 `json:"time_span" about:"length of the training period, the measure of all time scales"`
}

// Default is the configuration for all data.
var Default = Config{Hidden: 64, Candidates: 31}

// Check says what is wrong with c.
func (c Config) Check() error {
	err := model.CheckSizes(
		model.Size{Key: "hidden_dim", Value: c.Hidden, Most: model.Wide},
		model.Size{Key: "num_candidates", Value: c.Candidates, Most: model.Long},
	)
	if err != nil {
		return err
	}
	if !(c.Span >= 0) || c.Span*0 != 0 {
		return fmt.Errorf("time_span is %v, must be a finite number, at least 0", c.Span)
	}
	return model.CheckDropout(c.Dropout)
}

// Brief is the settings in a few words.
func (c Config) Brief() string {
	return fmt.Sprintf("width %d, %d candidates, dropout %v", c.Hidden, c.Candidates, c.Dropout)
}

// Model is CountNet on a device. One goroutine at a time may use it.
type Model struct {
	cfg         Config
	params      *nn.Params
	feed        *next.Feed
	who         [3]nn.Linear
	group       [2]nn.Linear
	calibration *tensor.Tensor
}

// plain is a calibration that changes nothing: next.Plain.
func plain(_ *nn.Draws, x []float32) { copy(x, []float32{1, 0, 0, 0, 1, 1}) }

// groupWidth is that of the network that chooses a group, which has few numbers to learn from.
const groupWidth = 32

// New builds the model with initial weights.
func New(env model.Env, c Config) (*Model, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	m := &Model{cfg: c, params: nn.NewParams(env.Seed), feed: next.NewFeed(c.Span, c.Candidates, env.Seed)}
	s := m.params.In("0")
	for i, in := range []int{next.Width, c.Hidden, c.Hidden} {
		m.who[i] = nn.NewLinear(s.In(fmt.Sprintf("who.%d", i)), in, []int{c.Hidden, c.Hidden, 1}[i])
	}
	m.group[0] = nn.NewLinear(s.In("group.0"), next.SourceWidth, groupWidth)
	m.group[1] = nn.NewLinear(s.In("group.1"), groupWidth, next.Groups)
	m.calibration = s.Add("calibration", plain, model.CalibrationLen)
	if err := env.Place(m.params, lighter); err != nil {
		return nil, err
	}
	m.params.Freeze("0.calibration")
	return m, nil
}

// Params are the weights.
func (m *Model) Params() *nn.Params { return m.params }

// Close gives the weights' memory back.
func (m *Model) Close() { m.params.Close() }

// Plan asks for the examples of training batches.
func (m *Model) Plan() sample.Plan { return sample.Plan{Extras: []sample.Extra{m.feed}} }

// Feed makes the examples.
func (m *Model) Feed() *next.Feed { return m.feed }

// Span is how long the training period lasts.
func (m *Model) Span() float64 { return m.cfg.Span }

// Calibration is the parameter that validation sets.
func (m *Model) Calibration() *tensor.Tensor { return m.calibration }

// Who is w3·drop(relu(w2·drop(relu(w1·x)))).
func (m *Model) Who(tp *grad.Tape, x *tensor.Tensor) *tensor.Tensor {
	for _, layer := range m.who[:2] {
		x = grad.Dropout(tp, layer.Act(tp, x, device.ReLU), float32(m.cfg.Dropout)) // [n, hidden]
	}
	return m.who[2].Forward(tp, x) // [n, 1]
}

// Group is w2·drop(relu(w1·x)).
func (m *Model) Group(tp *grad.Tape, x *tensor.Tensor) *tensor.Tensor {
	h := grad.Dropout(tp, m.group[0].Act(tp, x, device.ReLU), float32(m.cfg.Dropout)) // [n, groupWidth]
	return m.group[1].Forward(tp, h)                                                  // [n, next.Groups]
}

// Embed is not for use: see model.Chooser.
func (m *Model) Embed(*grad.Tape, *sample.Batch) model.Embedding {
	panic("countnet: a model of the task next embeds nothing")
}

// Head is nil: see model.Chooser.
func (m *Model) Head() model.Head { return nil }
