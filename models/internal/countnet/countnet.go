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
	"github.com/dygmamba/dygmamba/internal/rate"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/nn"
	"github.com/dygmamba/dygmamba/protocol"
	"github.com/dygmamba/dygmamba/sample"
	"github.com/dygmamba/dygmamba/tensor"
)

// Factory builds CountNet.
var Factory = model.Make(model.Kind[Config]{
	Title:   "CountNet",
	Summary: "two small networks on counts of earlier events, for the task next (CountNet)",
	Default: Default, Presets: presets, Task: protocol.Next, Lighter: "a smaller hidden_dim or fewer num_candidates",
	Fit:     func(c *Config, d model.Data) { c.Span, c.Day = d.Span, d.Day },
	Declare: declare,
})

// presets are one: nothing was published.
var presets = []model.Preset[Config]{{
	Name:    "standard",
	Summary: "the same for all data",
	Apply: func(_ string, c *Config, t *model.Training) {
		c.RateTrees, c.Together, c.Profiles = rateTrees, true, true
		t.LearningRate, t.Epochs, t.Patience, t.Calibrate = 1e-3, 30, 4, false
	},
}}

// Config says everything about the model but its weights. Its JSON names are the ones --set takes, and about says what
// they are.
type Config struct {
	Hidden     int     `json:"hidden_dim" in:"[1,65536]" about:"width of the network that chooses among candidates"`
	Candidates int     `json:"num_candidates" in:"[1,65536]" about:"that a destination is held against in training"`
	Dropout    float64 `json:"dropout" in:"[0,1)" about:"share left out at random in training"`
	LinkSplit  bool    `json:"link_split" about:"train on the split of links, for eval --protocol dyglib"`
	Span       float64 `json:"time_span" in:"[0,inf)" about:"length of the training period; decays are parts of it"`
	Together   bool    `json:"together" about:"also count what happened at one instant"`
	Profiles   bool    `json:"profiles" about:"also compare nodes by what they are chosen with, and by whom"`
	RateTrees  int     `json:"rate_trees" in:"[0,4096]" about:"most trees that learn a rate; 0: none"`
	OldRates   int     `json:"rate_dim" in:"[0,65536]" about:"of earlier checkpoints; not used"`
	Day        float64 `json:"day_length" in:"[0,inf)" about:"of a day in the unit of times; 0: not known"`
}

// rateTrees is the number of trees for rates in all presets. Checkpoints that do not name one have none, and neither
// groups nor profiles.
const rateTrees = 120

// Default is the configuration for all data.
var Default = Config{Hidden: 64, Candidates: 31}

// Check has nothing to add to the bounds of the settings.
func (c Config) Check() error { return nil }

func (c Config) setup() next.Setup {
	return next.Setup{Span: c.Span, Together: c.Together, Profiles: c.Profiles}
}

// Brief is the settings in a few words.
func (c Config) Brief() string {
	return fmt.Sprintf("width %d, %d candidates, dropout %v", c.Hidden, c.Candidates, c.Dropout)
}

// Model is CountNet on a device. One goroutine at a time may use it.
type Model struct {
	model.Base
	cfg         Config
	feed        *next.Feed
	who         [3]nn.Linear
	group       [2]nn.Linear
	calibration *tensor.Tensor

	rates *model.RateParams // nil: it learns no rates
}

// plain is a calibration that changes nothing: next.Plain.
func plain(_ *nn.Draws, x []float32) { copy(x, []float32{1, 0, 0, 0, 1, 1}) }

// groupWidth is that of the network that chooses a group, which has few numbers to learn from.
const groupWidth = 32

// declare names the parameters.
func declare(c Config, seed uint64) model.Declared {
	m := &Model{Base: model.NewBase(seed), cfg: c, feed: next.NewFeed(c.setup(), c.Candidates, seed)}
	s := m.Params().In("0")
	for i, in := range []int{m.feed.Width, c.Hidden, c.Hidden} {
		m.who[i] = nn.NewLinear(s.In(fmt.Sprintf("who.%d", i)), in, []int{c.Hidden, c.Hidden, 1}[i])
	}
	m.group[0] = nn.NewLinear(s.In("group.0"), m.feed.SourceWidth, groupWidth)
	m.group[1] = nn.NewLinear(s.In("group.1"), groupWidth, next.Groups)
	m.calibration = s.Add("calibration", plain, model.CalibrationLen)
	m.Params().Freeze("0.calibration")
	if c.OldRates > 0 {
		declareOldRates(s.In("rate"), c.OldRates)
	}
	if c.RateTrees > 0 {
		m.declareRates(s.In("rates"))
	}
	return m
}

// declareRates names the parameters of rates, which are no business of the optimizer.
func (m *Model) declareRates(s nn.Scope) {
	zero, size := func(*nn.Draws, []float32) {}, rate.ForestLen(m.cfg.RateTrees)
	m.rates = &model.RateParams{Now: s.Add("now", zero, size), Ahead: s.Add("ahead", zero, size),
		Calibration: s.Add("calibration", zero, model.RateCalibrationLen)}
	m.Params().Freeze("0.rates.now", "0.rates.ahead", "0.rates.calibration")
}

// declareOldRates names the parameters of two networks that earlier versions learned rates with, so that their
// checkpoints can be opened for shares.
func declareOldRates(s nn.Scope, width int) {
	const features, calibration = 58, 28
	for i, in := range []int{features, width, width} {
		for _, name := range []string{"now", "ahead"} {
			nn.NewLinear(s.In(fmt.Sprintf("%s.%d", name, i)), in, []int{width, width, 1}[i])
		}
	}
	s.Add("calibration", func(*nn.Draws, []float32) {}, calibration)
}

// Open has nothing to make.
func (m *Model) Open(model.Env) error { return nil }

// Plan asks for the examples of training batches.
func (m *Model) Plan() sample.Plan {
	return sample.Plan{Extras: []sample.Extra{m.feed}}
}

// Feed makes the examples.
func (m *Model) Feed() *next.Feed { return m.feed }

// Setup says what is counted.
func (m *Model) Setup() next.Setup { return m.cfg.setup() }

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

// Rates are the parameters of rates.
func (m *Model) Rates() *model.RateParams { return m.rates }

// RateClock says how long things last.
func (m *Model) RateClock() rate.Clock { return rate.Clock{Span: m.cfg.Span, Day: m.cfg.Day} }

// Embed is not for use: see model.Chooser.
func (m *Model) Embed(*grad.Tape, *sample.Batch) model.Embedding {
	panic("countnet: a model of the task next embeds nothing")
}
