package jodie

import (
	"fmt"

	"github.com/dygmamba/dygmamba/models/internal/messages"
)

// Config says everything about the model but its weights. Its JSON names are the ones --set takes, and about says what
// they are.
type Config struct {
	Dropout float64 `json:"dropout" in:"[0,1)" about:"dropout rate in training"`
	TimeDim int     `json:"time_feat_dim" in:"[1,65536]" about:"width of the time encoding"`
	NodeDim int     `json:"node_feat_dim" in:"[1,65536]" about:"width of memories"` // node features are not used
	EdgeDim int     `json:"edge_feat_dim" in:"[1,65536]" about:"width of event features; narrower ones are padded"`

	LastMessage string `json:"last_message" about:"order in a batch: role (destination last) or time"`
	ExactTimes  bool   `json:"exact_times" about:"time differences from exact, not rounded, times"`
}

// Default is the released program's configuration for a data set it has no better one for.
var Default = Config{Dropout: 0.1, TimeDim: 100, NodeDim: 172, EdgeDim: 172, LastMessage: messages.ByRole}

func (c Config) messages() messages.Config {
	return messages.Config{
		Node: c.NodeDim, Edge: c.EdgeDim, Time: c.TimeDim, Last: c.LastMessage, ExactTimes: c.ExactTimes,
	}
}

// Check says what is wrong with c.
func (c Config) Check() error { return c.messages().Check() }

// Notes are what a user should know before training.
func (c Config) Notes() []string {
	return []string{"the time encoder stays as it began: messages are not learned through, as in the released program"}
}

// Brief is the settings in a few words.
func (c Config) Brief() string { return fmt.Sprintf("dropout %v", c.Dropout) }
