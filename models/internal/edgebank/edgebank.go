// Package edgebank is EdgeBank (Poursafaei, Huang, Pelrine and Rabbany: Towards Better Evaluation for Dynamic Link
// Prediction, NeurIPS 2022): a pair that met before will meet again. It has no parameters, only a memory of ordered
// pairs, and four ideas of what to keep in it.
package edgebank

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/internal/pairs"
	"github.com/dygmamba/dygmamba/internal/suggest"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/sample"
)

// Factory makes EdgeBank. Published tables report the best of its four memories.
var Factory = model.Make(model.Kind[Config]{
	Summary: "remembers which pairs have met; no parameters", Default: Default,
	Remembers: true,
	Rule:      func(c Config) (model.Scorer, error) { return New(c) },
	Variants:  variants(),
})

// Values of Config.Memory.
const (
	Unlimited  = "unlimited_memory"        // every pair that ever met
	Repeats    = "repeat_threshold_memory" // those that met at least as often as pairs do on average
	TimeWindow = "time_window_memory"      // those that met lately
)

// Values of Config.Window.
const (
	FixedProportion = "fixed_proportion" // lately is the time of the last 15 % of the events
	// lately is the mean over all pairs of the mean time between their meetings, none counting as 0
	RepeatInterval = "repeat_interval"
)

// Config says what is kept in memory.
type Config struct {
	Memory string `json:"edge_bank_memory_mode" about:"unlimited_, time_window_ or repeat_threshold_memory"`
	Window string `json:"time_window_mode" about:"fixed_proportion or repeat_interval"` // for TimeWindow
}

// Default keeps every pair.
var Default = Config{Memory: Unlimited, Window: FixedProportion}

// Variants are the four memories of the published comparison.
func Variants() []Config {
	return []Config{{Unlimited, ""}, {TimeWindow, FixedProportion}, {TimeWindow, RepeatInterval}, {Repeats, ""}}
}

func variants() []model.Variant[Config] {
	var list []model.Variant[Config]
	for _, c := range Variants() {
		list = append(list, model.Variant[Config]{Name: c.String(), Config: c})
	}
	return list
}

// Check says what is wrong with c. Empty fields take their defaults.
func (c Config) Check() error {
	for _, f := range []struct {
		key, value string
		known      []string
	}{
		{"edge_bank_memory_mode", c.Memory, []string{Unlimited, Repeats, TimeWindow}},
		{"time_window_mode", c.Window, []string{FixedProportion, RepeatInterval}},
	} {
		if f.value != "" && !slices.Contains(f.known, f.value) {
			return fmt.Errorf("%s %q, must be one of %v%s", f.key, f.value, f.known, suggest.Hint(f.value, f.known))
		}
	}
	return nil
}

// String names the variant.
func (c Config) String() string {
	if c.Memory == TimeWindow {
		return c.Memory + "/" + c.Window
	}
	return c.Memory
}

// proportion of the events that a fixed window reaches back over: the share of the test period.
const proportion = 0.15

// Bank is EdgeBank at work: a model.StatefulScorer.
type Bank struct {
	config Config
	*ledger
	seen  int // the ledger's version that bounds are of
	bound bounds

	keys    []uint64 // of a batch
	numbers []int32
}

// New makes a bank that remembers nothing yet. Empty fields of the configuration take their defaults.
func New(c Config) (*Bank, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	c.Memory, c.Window = cmp.Or(c.Memory, Default.Memory), cmp.Or(c.Window, Default.Window)
	return &Bank{config: c, ledger: newLedger(c.keepsTimes())}, nil
}

// Plan asks for nothing: the bank has its own memory.
func (b *Bank) Plan() sample.Plan { return sample.Plan{} }

// UnitPlan asks for nothing either.
func (b *Bank) UnitPlan() sample.Plan { return sample.Plan{} }

// RankOnly marks scores that are no log-odds.
func (b *Bank) RankOnly() {}

// Score gives 1 to pairs in memory and 0 to others. (u, v) and (v, u) are two pairs.
func (b *Bank) Score(batch *sample.Batch, out []float32) error {
	b.refresh()
	b.keys = b.keys[:0]
	for _, q := range batch.Queries {
		b.keys = append(b.keys, pairs.Key(q.Src, q.Dst))
	}
	for i, n := range b.find(b.keys) {
		out[i] = 0
		if n != pairs.None && b.keeps(b.met.At(int(n))) {
			out[i] = 1
		}
	}
	return nil
}

// Commit remembers events.
func (b *Bank) Commit(batch *sample.Batch) error {
	s := batch.Events
	b.keys = b.keys[:0]
	for i, u := range s.Src {
		b.keys = append(b.keys, pairs.Key(u, s.Dst[i]))
	}
	b.numbers = resize(b.numbers, len(b.keys))
	b.remember(b.keys, b.numbers, s.Time)
	return nil
}

func resize(list []int32, n int) []int32 { return slices.Grow(list[:0], n)[:n] }

// ShareMemory makes both banks have one memory: what either commits or forgets, the other does too. It says whether it
// could: nothing may be remembered yet. One of them may be at work at a time.
func (b *Bank) ShareMemory(with model.StatefulScorer) bool {
	other, ok := with.(*Bank)
	if !ok || b.events > 0 || other.events > 0 {
		return false
	}
	other.keepsTimes = other.keepsTimes || b.keepsTimes
	b.ledger = other.ledger
	return true
}

// keeps says whether a pair is in memory.
func (b *Bank) keeps(m *meetings) bool {
	switch b.config.Memory {
	case Repeats:
		return float64(m.count) >= b.bound.least
	case TimeWindow:
		if m.last >= b.bound.least == (m.last >= b.bound.most) {
			return m.last >= b.bound.least
		}
		b.bound = exactly(b.latest - b.repeatInterval()) // too close to tell
		return m.last >= b.bound.least
	}
	return true
}

// bounds of a pair's count or last meeting, to be in memory: it is from most on, and it is not below least.
type bounds struct{ least, most float64 }

func exactly(x float64) bounds { return bounds{x, x} }

// refresh computes bounds after something was observed.
func (b *Bank) refresh() {
	if b.seen == b.version {
		return
	}
	b.seen = b.version
	switch {
	case b.config.Memory == Repeats:
		b.bound = exactly(float64(b.events) / float64(b.met.Len()))
	case b.config.keepsTimes():
		at := func(i int) float64 { return *b.times.At(i) }
		b.bound = exactly(dataset.QuantileOf(b.times.Len(), at, 1-proportion))
	case b.config.Memory == TimeWindow:
		b.bound = b.intervals.window(b.latest, b.met.Len())
	}
}

func (c Config) keepsTimes() bool { return c.Memory == TimeWindow && c.Window == FixedProportion }
