package walkmamba

import (
	"fmt"
	"strings"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/internal/walk"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/models/internal/sequence"
	"github.com/dygmamba/dygmamba/sample"
)

// How walks, roles and next items go on: with every instant, or batch by batch, which is what other models of walks do
// and what exactness is compared with.
const (
	Exact   = "exact"
	ByBatch = "batch"
)

// Config says everything about the model but its weights. Its JSON names are the ones --set takes, and about says what
// they are.
type Config struct {
	sequence.Reach
	sequence.Sizes

	WalkDim  int `json:"walk_dim" in:"[1,65536]" about:"width of a walk vector"`
	WalkSeed int `json:"walk_seed" about:"seed of the initial walk vectors"`
	// Span comes from the data.
	Span float64 `json:"time_span" in:"[0,1e38]" about:"length of the training period, unit of time scales"`

	// Memory is chosen once, when training begins, and left out where it is 0: older configurations keep their bytes.
	Memory int `json:"walk_memory,omitempty" in:"[0,16777216]" about:"memory limit of walk states in MiB; 0: none"`

	Update string `json:"walk_update" about:"walk states as of each query (exact) or batch (batch)"`

	LogTime   bool `json:"log_time" about:"encode log(time) instead of time"`
	Direction bool `json:"direction" about:"mark neighbours as sources or destinations"`
	Neighbors bool `json:"walk_neighbors" about:"walk features between neighbours and the two nodes"`
	Pair      bool `json:"walk_pair" about:"walk features of the pair"`
	Roles     bool `json:"roles" about:"number and age of the two nodes' earlier events"`
	NodeBlock bool `json:"node_block" about:"use state space layers over histories"`
	TimeBlock bool `json:"time_block" about:"use state space layers over time gaps, with selection"`
	// NextItem and Periodicity are left out of configurations where they are off: older ones keep their bytes.
	NextItem    bool `json:"next_item,omitempty" was:"sequels" about:"what usually follows the latest partners"`
	Periodicity bool `json:"periodicity,omitempty" was:"returns" about:"whether the pair is due by its periodicity"`

	// Kinds come from the data, and are left out where events have none: older configurations keep their bytes.
	Kinds int `json:"kinds,omitempty" in:"[0,1000]" about:"number of kinds of events"`
	// KindCounts is on for data with kinds; older configurations do without.
	KindCounts bool `json:"kind_counts,omitempty" about:"show how often the query's kind occurred before"`
}

// Default is DyGMamba's widths with all that the model adds.
var Default = Config{
	Reach: sequence.DefaultReach, Sizes: sequence.DefaultSizes, WalkDim: 128, Update: Exact,
	LogTime: true, Direction: true, Neighbors: true, Pair: true, Roles: true, NodeBlock: true, TimeBlock: true,
}

// TellsKinds is how many kinds of events there are.
func (c Config) TellsKinds() model.Kinds { return model.Kinds(c.Kinds) }

// RowLen is the number of positions of a row.
func (c Config) RowLen() int { return (c.Length + c.Patch - 1) / c.Patch * c.Patch }

// walks says whether any walk vectors are looked at.
func (c Config) walks() bool { return c.Neighbors || c.Pair }

// asksWalks says whether anything at all is asked of package walk.
func (c Config) asksWalks() bool { return c.walks() || c.Direction || c.Roles || c.NextItem }

// plan is what the model wants to know of each query beside walks.
func (c Config) plan() sample.Plan {
	row := sample.Draw{Neighbors: c.Length - 1, RowLen: c.RowLen(), Target: sample.TargetLast}
	p := sample.Plan{Draws: sample.Both(row), Counts: sample.PairCounts, ExactTimes: true}
	if c.TimeBlock || c.Periodicity {
		p.PairGaps = c.Meetings
	}
	if c.LogTime {
		p.LogTimes = c.logUnit()
	}
	return p
}

// logUnit is what times are multiplied by before their logarithm is taken: in millionths of the time that training
// lasts they do not depend on the unit of time.
func (c Config) logUnit() float64 {
	if !(c.Span > 0) {
		return 1e6
	}
	return 1e6 / c.Span
}

// Check says what is wrong with c.
func (c Config) Check() error {
	if c.Update != Exact && c.Update != ByBatch {
		return fmt.Errorf("walk_update is %q, must be %q or %q", c.Update, Exact, ByBatch)
	}
	return c.Sizes.Check()
}

// Brief is the settings in a few letters.
func (c Config) Brief() string {
	s := fmt.Sprintf("ρ & p %d & %d, k %d, dropout %v, γ %v, f %d, walks %d wide", c.Length, c.Patch, c.Meetings,
		c.Dropout, c.Gamma, c.Divisor, c.WalkDim)
	for _, what := range c.without() {
		s += ", without " + what
	}
	if c.NextItem {
		s += ", with next item"
	}
	if c.Periodicity {
		s += ", with periodicity"
	}
	if c.Update == ByBatch {
		s += ", walks updated by batches"
	}
	return s
}

// without names the parts that are switched off.
func (c Config) without() (parts []string) {
	for _, part := range []struct {
		what string
		has  bool
	}{
		{"log time", c.LogTime}, {"direction", c.Direction}, {"walks of neighbours", c.Neighbors},
		{"walks of the pair", c.Pair}, {"roles", c.Roles}, {"node-level block", c.NodeBlock},
		{"time-level block", c.TimeBlock},
	} {
		if !part.has {
			parts = append(parts, part.what)
		}
	}
	return parts
}

// Mark tells models that lack a part of their presets from whole ones, and those that have one more.
func (c Config) Mark(preset string) string {
	parts := c.without()
	if !c.NextItem {
		parts = append(parts, "next item")
	}
	if c.Update == ByBatch {
		parts = append(parts, "exactness: states as of the batch")
	}
	switch {
	case len(parts) > 0:
		return "without " + strings.Join(parts, ", ")
	case c.Periodicity && preset != when:
		return "with periodicity"
	}
	return ""
}

// Conditions are what scores depend on beside their own past.
func (c Config) Conditions() []string {
	if c.Update != ByBatch || !c.asksWalks() {
		return nil
	}
	return []string{"walk_update=batch: walks, roles and next items are those of the batch's first query, so a score " +
		"depends on who else is asked about, and nothing that happened within the batch is seen in them"}
}

// options are those of the walks. A node is known by what it is called, whatever number it has.
func (c Config) options(env model.Env) walk.Options {
	names := env.Names
	if names == nil {
		names = (*dataset.Names)(nil)
	}
	return walk.Options{Dim: c.WalkDim, Seed: uint64(c.WalkSeed), Span: c.Span, Follow: c.NextItem,
		Budget: int64(c.Memory) << 20,
		Key:    func(n event.Node) uint64 { return walk.Named(names.Name(n), names.Side(n)) }}
}
