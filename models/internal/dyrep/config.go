package dyrep

import (
	"cmp"

	"github.com/dygmamba/dygmamba/models/internal/attention"
	"github.com/dygmamba/dygmamba/models/internal/messages"
)

// Config says everything about the model but its weights. Its JSON names are the ones --set takes, and about says what
// they are.
type Config struct {
	attention.Config

	LastMessage string `json:"last_message" about:"order in a batch: role (destination last) or time"`
	ExactTimes  bool   `json:"exact_times" about:"time differences from exact, not rounded, times"`
}

// Default is the released program's configuration for a data set it has no better one for.
var Default = Config{Config: attention.Default, LastMessage: messages.ByRole}

func (c Config) messages() messages.Config {
	return messages.Config{
		Node: c.NodeDim, Edge: c.EdgeDim, Time: c.TimeDim, Last: c.LastMessage, ExactTimes: c.ExactTimes,
	}
}

// Check says what is wrong with c.
func (c Config) Check() error {
	return cmp.Or(c.Config.Check(), c.messages().Check())
}

// Notes are what a user should know before training.
func (c Config) Notes() []string {
	return []string{
		"attention and time encoder stay as they began: messages are not learned through, as in the released program",
	}
}

// Conditions are what scores depend on beside what happened before their own time.
func (c Config) Conditions() []string { return c.Config.Conditions(c.ExactTimes) }
