package model

import (
	"fmt"

	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/internal/next"
	"github.com/dygmamba/dygmamba/internal/rate"
	"github.com/dygmamba/dygmamba/nn"
	"github.com/dygmamba/dygmamba/tensor"
)

// Counter is the part of a Chooser that looks at counts alone: one network for groups, one for candidates, and rates.
type Counter struct {
	setup       CounterSetup
	feed        *next.Feed
	who         [3]nn.Linear
	group       [2]nn.Linear
	calibration *tensor.Tensor

	rates *RateParams // nil: it learns no rates
}

// CounterSetup says what a Counter is like.
type CounterSetup struct {
	Counts     next.Setup
	Hidden     int     // width of the network that chooses among candidates
	Candidates int     // that a destination is held against in training
	Dropout    float64 //
	RateTrees  int     // 0: no rates
	Day        float64 // how long a day lasts; 0: not known
	Short      int     // candidates that a model of pairs compares; 0: there is none
}

// CountWindow is the least number of latest events that are counted, for a data set with this many; 0: all. Counts of a
// million events of a shop take a gigabyte, and five seconds of one core.
func CountWindow(events int) int {
	const most, window = 4_000_000, 500_000
	if events <= most {
		return 0
	}
	return window
}

// groupWidth is that of the network that chooses a group, which has few numbers to learn from.
const groupWidth = 32

// NewCounter names its parameters in the scope of p with this name.
func NewCounter(p *nn.Params, name string, c CounterSetup, seed uint64) Counter {
	m := Counter{setup: c, feed: next.NewFeed(c.Counts, c.Candidates, seed)}
	if c.Short > 0 {
		m.feed.WithShort(c.Short)
	}
	s := p.In(name)
	for i, in := range []int{m.feed.Width, c.Hidden, c.Hidden} {
		m.who[i] = nn.NewLinear(s.In(fmt.Sprintf("who.%d", i)), in, []int{c.Hidden, c.Hidden, 1}[i])
	}
	m.group[0] = nn.NewLinear(s.In("group.0"), m.feed.SourceWidth, groupWidth)
	m.group[1] = nn.NewLinear(s.In("group.1"), groupWidth, next.Groups)
	size := CalibrationLen
	if c.Short > 0 {
		size += len(next.Plain.Pair)
	}
	m.calibration = s.Add("calibration", plainCalibration, size)
	p.Freeze(name + ".calibration")
	return m
}

// DeclareRates names the parameters of rates, where there are any. They are no business of the optimizer.
func (m *Counter) DeclareRates(p *nn.Params, name string) {
	if m.setup.RateTrees == 0 {
		return
	}
	s := p.In(name).In("rates")
	zero, size := func(*nn.Draws, []float32) {}, rate.ForestLen(m.setup.RateTrees)
	m.rates = &RateParams{Now: s.Add("now", zero, size), Ahead: s.Add("ahead", zero, size),
		Calibration: s.Add("calibration", zero, RateCalibrationLen)}
	p.Get(name + ".rates.calibration").Before = oldRateCalibrationLen
	p.Freeze(name+".rates.now", name+".rates.ahead", name+".rates.calibration")
}

// plainCalibration changes nothing: next.Plain.
func plainCalibration(_ *nn.Draws, x []float32) { copy(x, calibrationValues(next.Plain)) }

// Feed makes the examples.
func (m *Counter) Feed() *next.Feed { return m.feed }

// Setup says what is counted.
func (m *Counter) Setup() next.Setup { return m.setup.Counts }

// Calibration is the parameter that validation sets.
func (m *Counter) Calibration() *tensor.Tensor { return m.calibration }

// Who is w3·drop(relu(w2·drop(relu(w1·x)))).
func (m *Counter) Who(tp *grad.Tape, x *tensor.Tensor) *tensor.Tensor {
	for _, layer := range m.who[:2] {
		x = grad.Dropout(tp, layer.Act(tp, x, device.ReLU), float32(m.setup.Dropout)) // [n, hidden]
	}
	return m.who[2].Forward(tp, x) // [n, 1]
}

// Group is w2·drop(relu(w1·x)).
func (m *Counter) Group(tp *grad.Tape, x *tensor.Tensor) *tensor.Tensor {
	h := grad.Dropout(tp, m.group[0].Act(tp, x, device.ReLU), float32(m.setup.Dropout)) // [n, groupWidth]
	return m.group[1].Forward(tp, h)                                                    // [n, next.Groups]
}

// Rates are the parameters of rates.
func (m *Counter) Rates() *RateParams { return m.rates }

// RateClock says how long things last.
func (m *Counter) RateClock() rate.Clock {
	return rate.Clock{Span: m.setup.Counts.Span, Day: m.setup.Day}
}
