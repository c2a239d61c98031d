// Package edgebank is EdgeBank (Poursafaei, Huang, Pelrine and Rabbany: Towards Better Evaluation for Dynamic Link
// Prediction, NeurIPS 2022): a pair that met before will meet again. It has no parameters, only a memory of ordered
// pairs, and four ideas of what to keep in it.
package edgebank

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/event"
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
	number map[uint64]int32 // of a pair
	pairs  []meetings       // in order of first meeting
	events int
	latest event.Time   // of all meetings
	times  []event.Time // of all events, ascending, for a fixed window
	stale  bool         // least is that of an earlier memory
	least  float64      // of a pair's count or last meeting, to be in memory
}

// meetings is what is remembered of a pair.
type meetings struct {
	src, dst    event.Node
	first, last event.Time
	count       int
}

// New makes a bank that remembers nothing yet. Empty fields of the configuration take their defaults.
func New(c Config) (*Bank, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	c.Memory, c.Window = cmp.Or(c.Memory, Default.Memory), cmp.Or(c.Window, Default.Window)
	b := &Bank{config: c}
	b.forget()
	return b, nil
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
	for i, q := range batch.Queries {
		out[i] = 0
		if at, met := b.number[key(q.Src, q.Dst)]; met && b.keeps(b.pairs[at]) {
			out[i] = 1
		}
	}
	return nil
}

// Commit remembers events.
func (b *Bank) Commit(batch *sample.Batch) error {
	s := batch.Events
	for i, u := range s.Src {
		v, at := s.Dst[i], s.Time[i]
		n, met := b.number[key(u, v)]
		if !met {
			n = int32(len(b.pairs))
			b.number[key(u, v)] = n
			b.pairs = append(b.pairs, meetings{src: u, dst: v, first: at, last: at})
		}
		m := &b.pairs[n]
		m.first, m.last, m.count = min(m.first, at), max(m.last, at), m.count+1
		b.latest = max(b.latest, at)
	}
	b.events += s.Len()
	if b.keepsTimes() {
		known := len(b.times)
		b.times = append(b.times, s.Time...)
		if !slices.IsSorted(b.times[max(0, known-1):]) { // late events
			slices.Sort(b.times)
		}
	}
	b.stale = true
	return nil
}

// keeps says whether a pair is in memory.
func (b *Bank) keeps(m meetings) bool {
	switch b.config.Memory {
	case Repeats:
		return float64(m.count) >= b.least
	case TimeWindow:
		return m.last >= b.least
	}
	return true
}

// refresh computes least after something was observed.
func (b *Bank) refresh() {
	if !b.stale {
		return
	}
	b.stale = false
	switch {
	case b.config.Memory == Repeats:
		b.least = float64(b.events) / float64(len(b.pairs))
	case b.keepsTimes():
		b.least = dataset.Quantile(b.times, 1-proportion)
	case b.config.Memory == TimeWindow:
		b.least = b.latest - b.repeatInterval()
	}
}

// repeatInterval is the mean time between two meetings of a pair, averaged over pairs in order of first meeting; pairs
// that met once count as 0.
func (b *Bank) repeatInterval() float64 {
	sum := 0.0
	for i := range b.pairs {
		if m := &b.pairs[i]; m.count > 1 {
			sum += (m.last - m.first) / float64(m.count-1)
		}
	}
	return sum / float64(len(b.pairs))
}

func (b *Bank) keepsTimes() bool {
	return b.config.Memory == TimeWindow && b.config.Window == FixedProportion
}

func key(u, v event.Node) uint64 { return uint64(uint32(u))<<32 | uint64(uint32(v)) }
