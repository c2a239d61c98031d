package model

import (
	"fmt"
	"strings"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/protocol"
)

// Spec is a complete configuration: it suffices to build the model again.
type Spec struct {
	Preset string         `json:"preset"`
	Order  protocol.Order `json:"order,omitempty"` // of a model that remembers
	Task   protocol.Task  `json:"task,omitempty"`  // "" is link prediction
	// Classes are the names of those that a classifier of labels tells apart; nil: two, told by a label that is not 0.
	Classes []string `json:"classes,omitempty"`
	// Alone says that labels were those of nodes at times of their own: a query asks about one node.
	Alone    bool     `json:"alone,omitempty"`
	Target   *Target  `json:"target,omitempty"` // what a model of regression tells; nil for other tasks
	Config   any      `json:"config"`           // a pointer to the factory's kind of configuration
	Training Training `json:"training"`
	// Pairing is how a model that embeds pairs learns the task "next"; nil for all else.
	Pairing *Pairing `json:"next,omitempty"`
}

// Target is the value that a model of regression tells. The model says how many deviations it is above the mean.
type Target struct {
	Column    string  `json:"column"`
	Mean      float64 `json:"mean"`      // of the training events
	Deviation float64 `json:"deviation"` // of them, never 0
}

// Value is what the model says, in the unit of the column.
func (t *Target) Value(said float32) float64 { return t.Mean + t.Deviation*float64(said) }

// Scaled is what the model should say of a value.
func (t *Target) Scaled(value float64) float32 { return float32((value - t.Mean) / t.Deviation) }

// Outputs is how many numbers a model of this configuration says of a query: a logit for each class where there are
// more than two, otherwise one.
func (s Spec) Outputs() int {
	if s.Task == protocol.NodeClassification && len(s.Classes) > 2 {
		return len(s.Classes)
	}
	return 1
}

// Notes are what a user should know about the configuration, one line each.
func (s Spec) Notes() []string {
	if n, ok := s.Config.(interface{ Notes() []string }); ok {
		return n.Notes()
	}
	return nil
}

// Check says what is wrong with the configuration: a number out of its bounds, or what does not go together.
func (s Spec) Check() error {
	list := []any{s.Config, s.Training}
	if s.Pairing != nil {
		list = append(list, *s.Pairing)
	}
	for _, c := range list {
		if err := checkBounds(c); err != nil {
			return err
		}
		if c, ok := c.(interface{ Check() error }); ok {
			if err := c.Check(); err != nil {
				return err
			}
		}
	}
	if t := s.Target; t != nil && !(t.Deviation > 0) {
		return fmt.Errorf("the target %q has deviation %v, must be more than 0", t.Column, t.Deviation)
	}
	return dataset.CheckClasses(s.Classes)
}

// Apply changes the configuration by settings "key=value".
func (s *Spec) Apply(settings []string) error {
	if s.Pairing == nil {
		return Apply(settings, s.Config, &s.Training)
	}
	return Apply(settings, s.Config, &s.Training, s.Pairing)
}

// Conditions are what scores depend on beside what happened before their own time, one line each. Results carry them.
func (s Spec) Conditions() []string {
	var list []string
	if c, ok := s.Config.(interface{ Conditions() []string }); ok {
		list = c.Conditions()
	}
	if s.Order == protocol.Arrival {
		list = append(list, "memory in the order of arrival: earlier batches of the same instant are seen")
	}
	return list
}

// Dropout is the rate that a configuration's models drop at, 0 where they have none.
func Dropout(s Spec) float64 {
	for _, x := range Settings(s.Config) {
		if rate, ok := x.Value.(float64); ok && x.Key == "dropout" {
			return rate
		}
	}
	return 0
}

// LinkSplit says whether a model of the task "next" learns on the split of links, in which nodes are hidden.
func (s Spec) LinkSplit() bool {
	if s.Pairing != nil {
		return s.Pairing.LinkSplit
	}
	for _, x := range Settings(s.Config) {
		if on, ok := x.Value.(bool); ok && x.Key == "link_split" {
			return on
		}
	}
	return false
}

// Brief is the settings in a few words.
func (s Spec) Brief() string {
	if c, ok := s.Config.(interface{ Brief() string }); ok {
		return c.Brief()
	}
	var words []string
	for _, x := range Settings(s.Config) {
		words = append(words, fmt.Sprintf("%s %v", x.Key, x.Value))
	}
	return strings.Join(words, ", ")
}

// Kinds is how many kinds of events models of the configuration tell apart.
func (s Spec) Kinds() Kinds {
	if t, ok := s.Config.(interface{ TellsKinds() Kinds }); ok {
		return t.TellsKinds()
	}
	return 0
}

// AsPublished says whether the configuration is of a preset that does what a published program or paper did.
func (s Spec) AsPublished() bool { return asPublished(s.Preset) }

// asPublished says whether a preset does what a published program or paper did, and no more.
func asPublished(preset string) bool {
	return preset == "released" || preset == "paper" || strings.HasPrefix(preset, "paper-")
}
