// Package countnet is CountNet, a model of the task "next": who is the next destination of a source?
//
// It looks at counts alone: how often and how lately the source, the candidate and the pair acted, what usually
// follows, whom both know. Two small networks read them. One says which group the destination belongs to: someone the
// source has met, someone it has not met, or someone who has never been a destination. The other one says who it is
// within the group. First meetings are held against first meetings and returns against returns, so that neither drowns
// the other.
package countnet

import (
	"cmp"
	"fmt"

	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/internal/next"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/nn"
	"github.com/dygmamba/dygmamba/protocol"
	"github.com/dygmamba/dygmamba/sample"
)

// Factory builds CountNet.
var Factory = model.Make(model.Kind[Config]{
	Title:   "CountNet",
	Summary: "two small networks on counts of earlier events, for the task next (CountNet)",
	Default: Default, Presets: presets, Task: protocol.Next, Lighter: "a smaller hidden_dim or fewer num_candidates",
	Fit: func(c *Config, d model.Data) {
		c.Span, c.Day, c.Window = d.Span, d.Day, cmp.Or(c.Window, model.CountWindow(d.Events))
	},
	Declare: declare,
})

// presets are one: nothing was published.
var presets = []model.Preset[Config]{{
	Name:    "standard",
	Summary: "the same for all data",
	Apply: func(_ string, c *Config, t *model.Training) {
		c.RateTrees, c.Together, c.Profiles, c.Steps = rateTrees, true, true, true
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
	Window     int     `json:"count_window" in:"[0,inf)" about:"latest events that count, up to twice as many; 0: all"`
	Together   bool    `json:"together" about:"also count what happened at one instant"`
	Profiles   bool    `json:"profiles" about:"also compare nodes by what they are chosen with, and by whom"`
	Steps      bool    `json:"steps" about:"also count events of all since a candidate was a destination"`
	RateTrees  int     `json:"rate_trees" in:"[0,4096]" about:"most trees that learn a rate; 0: none"`
	OldRates   int     `json:"rate_dim" in:"[0,65536]" about:"of earlier checkpoints; not used"`
	Day        float64 `json:"day_length" in:"[0,inf)" about:"of a day in the unit of times; 0: not known"`
}

// rateTrees is the number of trees for rates in all presets. Checkpoints that do not name one have none, and neither
// groups nor profiles nor steps.
const rateTrees = 120

// Default is the configuration for all data.
var Default = Config{Hidden: 64, Candidates: 31}

// Check has nothing to add to the bounds of the settings.
func (c Config) Check() error { return nil }

func (c Config) setup() next.Setup {
	return next.Setup{Span: c.Span, Together: c.Together, Profiles: c.Profiles, Steps: c.Steps, Window: c.Window}
}

// Brief is the settings in a few words.
func (c Config) Brief() string {
	return fmt.Sprintf("width %d, %d candidates, dropout %v", c.Hidden, c.Candidates, c.Dropout)
}

// Model is CountNet on a device. One goroutine at a time may use it.
type Model struct {
	model.Base
	model.Counter
}

// declare names the parameters.
func declare(c Config, seed uint64) model.Declared {
	m := &Model{Base: model.NewBase(seed)}
	m.Counter = model.NewCounter(m.Params(), "0", model.CounterSetup{Counts: c.setup(), Hidden: c.Hidden,
		Candidates: c.Candidates, Dropout: c.Dropout, RateTrees: c.RateTrees, Day: c.Day}, seed)
	if c.OldRates > 0 {
		declareOldRates(m.Params().In("0").In("rate"), c.OldRates)
	}
	m.DeclareRates(m.Params(), "0")
	return m
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
	return sample.Plan{Extras: []sample.Extra{m.Feed()}}
}

// Embed is not for use: see model.Chooser.
func (m *Model) Embed(*grad.Tape, *sample.Batch) model.Embedding {
	panic("countnet: a model of the task next embeds nothing")
}
