package tgat

import (
	"github.com/dygmamba/dygmamba/models/internal/attention"
)

// Config says everything about the model but its weights. Its JSON names are the ones --set takes, and about says what
// they are.
type Config struct {
	attention.Config

	FreezeTime bool `json:"freeze_time_encoder" about:"do not train the frequencies of the time encoding"`
	ExactTimes bool `json:"exact_times" about:"time differences from exact, not rounded, times"`
}

// Default is the released program's configuration for a data set it has no better one for.
var Default = func() (c Config) {
	c.Config = attention.Default
	c.Layers, c.Neighbors = 2, 20
	return c
}()

// Conditions are what scores depend on beside what happened before their own time.
func (c Config) Conditions() []string { return c.Config.Conditions(c.ExactTimes) }
