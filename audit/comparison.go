package audit

import "github.com/dygmamba/dygmamba/protocol"

// Comparison is runs that were asked the same, side by side.
type Comparison struct {
	Scenario    protocol.Scenario  `json:"setting"`
	Negatives   protocol.Negatives `json:"negatives"`
	Runs        []Compared         `json:"runs"`
	Differences []Difference       `json:"differences"` // to the first run
}
