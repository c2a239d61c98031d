package dygmamba

import (
	"fmt"
	"strings"

	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/models/internal/sequence"
	"github.com/dygmamba/dygmamba/sample"
)

// Architectures: what the released program computes, or the equations the paper prints. They differ in many places (see
// paper.go); every published number was made by the former.
const (
	Released = "released"
	Paper    = "paper"
)

// Config says everything about the model but its weights. Its JSON names are the ones --set takes, and about says what
// they are.
type Config struct {
	Arch    string `json:"arch" about:"released, or the equations of the paper"`
	Variant string `json:"variant" about:"ablation a to f; empty: the full model"` // of the paper's section 4.2

	sequence.Reach
	Padding model.Padding `json:"padding" about:"pad rows to ρ (fixed) or to the call's longest (call)"`
	sequence.Sizes

	FreezeTime bool `json:"freeze_time_encoder" about:"do not train the frequencies of the time encoding"`
	// ExactTimes matter where times are large: float32 near Unix time is minutes apart.
	ExactTimes bool `json:"exact_times" about:"time differences from exact, not rounded, times"`

	// Kinds come from the data, and are left out where events have none: older configurations keep their bytes.
	Kinds int `json:"kinds,omitempty" in:"[0,1000]" about:"number of kinds of events"`
	// KindCounts is on for data with kinds; older configurations do without.
	KindCounts bool `json:"kind_counts,omitempty" about:"show how often the query's kind occurred before"`
}

// Default is the released program's configuration for a data set it has no better one for.
var Default = Config{
	Arch: Released, Reach: sequence.DefaultReach, Padding: model.PadFixed, Sizes: sequence.DefaultSizes,
}

// TellsKinds is how many kinds of events there are.
func (c Config) TellsKinds() model.Kinds { return model.Kinds(c.Kinds) }

// Width is that of the node-level block, in the paper always 4d.
func (c Config) Width() int {
	if c.Arch == Paper {
		return 4 * c.Channel
	}
	return c.Sizes.Width()
}

// RowLen is the number of positions of a row of fixed length: at least one is padding in the released program, none
// need be in the paper's equations.
func (c Config) RowLen() int {
	n := c.Length + 1
	if c.Arch == Paper {
		n = c.Length
	}
	return (n + c.Patch - 1) / c.Patch * c.Patch
}

// Patches is the number of steps of such a row.
func (c Config) Patches() int { return c.RowLen() / c.Patch }

// Plan is what the model wants to know of each query.
func (c Config) Plan() sample.Plan {
	row := sample.Draw{Neighbors: c.Length - 1, Target: sample.TargetLast}
	p := c.Padding.Plan(row, c.RowLen(), c.Patch)
	p.Counts, p.PairGaps, p.ExactTimes = sample.PairCounts, c.Meetings, c.ExactTimes
	if c.Arch == Paper {
		p.Counts = sample.PaperCounts
	}
	if !c.counts() {
		p.Counts = sample.NoCounts
	}
	if !c.pattern() {
		p.PairGaps = 0
	}
	return p
}

// Check says what is wrong with c.
func (c Config) Check() error {
	if err := c.Sizes.Check(); err != nil {
		return err
	}
	switch {
	case c.Arch != Released && c.Arch != Paper:
		return fmt.Errorf("arch is %q, must be %q or %q", c.Arch, Released, Paper)
	case len(c.Variant) > 1 || !strings.Contains("abcdef", c.Variant):
		return fmt.Errorf("variant is %q, must be one of a to f, or empty for the whole model", c.Variant)
	case c.Arch == Paper && c.Variant != "":
		return fmt.Errorf("variant %q exists for arch=%s only", c.Variant, Released)
	case c.Variant == "d" && c.Padding == model.PadCall:
		return fmt.Errorf("padding is %q, must be %q for variant d: it holds one node's patches against the other's",
			c.Padding, model.PadFixed)
	}
	return c.Padding.Check()
}

// Notes are what a user should know before training.
func (c Config) Notes() []string {
	if c.Arch == Paper {
		return []string{"arch=paper computes the paper's equations as printed; " +
			"every published number was made by the released program (arch=released)"}
	}
	return c.Padding.Notes()
}

// Conditions are what scores depend on beside their own past: in the paper's equations no padding is seen.
func (c Config) Conditions() []string {
	if c.Arch == Paper {
		return nil
	}
	return c.Padding.Conditions()
}

// Brief is the settings in the paper's letters.
func (c Config) Brief() string {
	s := fmt.Sprintf("ρ & p %d & %d, k %d, dropout %v, γ %v, f %d",
		c.Length, c.Patch, c.Meetings, c.Dropout, c.Gamma, c.Divisor)
	if c.Arch != Released {
		s += ", arch " + c.Arch
	}
	if c.Padding != model.PadFixed {
		s += ", padding " + string(c.Padding)
	}
	if c.FreezeTime {
		s += ", time encoder frozen"
	}
	return s
}

// Mark says that frequencies are frozen where the name of the preset does not.
func (c Config) Mark(preset string) string {
	if c.FreezeTime && !strings.HasPrefix(preset, "steady") && preset != "quick" {
		return "frozen"
	}
	return ""
}

// The ablations, as questions: is there a time-level block, are there scans in the node-level block, time features of
// neighbours, interaction frequencies? Each takes one idea out of the whole model.

func (c Config) pattern() bool { return !strings.Contains("acd", c.Variant) || c.Variant == "" }
func (c Config) ssm() bool     { return c.Variant != "b" }
func (c Config) times() bool   { return c.Variant != "e" }
func (c Config) counts() bool  { return c.Variant != "f" }
