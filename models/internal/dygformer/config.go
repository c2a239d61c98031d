package dygformer

import (
	"cmp"
	"fmt"

	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/sample"
)

// Layers that read the sequence: DyGFormer's own, or Mamba blocks.
const (
	Transformer = "transformer"
	Mamba       = "mamba"
)

// Config says everything about the model but its weights. Its JSON names are the ones --set takes, and about says what
// they are.
type Config struct {
	Layer string `json:"layer" about:"layers over the sequence: transformer or mamba"`

	Patch   int           `json:"patch_size" in:"[1,1048576]" about:"p: events per step of the sequence"`
	Length  int           `json:"max_input_sequence_length" in:"[1,1048576]" about:"L: longest history, with itself"`
	Padding model.Padding `json:"padding" about:"pad rows to L (fixed) or to the call's longest (call)"`

	Channel int     `json:"channel_embedding_dim" in:"[1,65536]" about:"d: width of each of the four channels"`
	TimeDim int     `json:"time_feat_dim" in:"[1,65536]" about:"width of the time encoding"`
	Layers  int     `json:"num_layers" in:"[1,100]" about:"number of layers over the sequence"`
	Heads   int     `json:"num_heads" in:"[1,65536]" about:"attention heads of a Transformer layer"` // mamba has none
	Dropout float64 `json:"dropout" in:"[0,1)" about:"dropout rate in training"`                     // bare Mamba: none
	NodeDim int     `json:"node_feat_dim" in:"[1,65536]" about:"width of node features; narrower ones are padded"`
	EdgeDim int     `json:"edge_feat_dim" in:"[1,65536]" about:"width of event features; narrower ones are padded"`

	// The paper gives variant G no equations. Bare blocks with residuals pass sums of raw counts on as they are,
	// hundreds where histories repeat; DyGMamba's own node-level block has a norm and a feed-forward after each.
	FeedForward bool `json:"feed_forward,omitempty" about:"mamba: norm and feed-forward after blocks, as in DyGMamba"`

	FreezeTime bool `json:"freeze_time_encoder" about:"do not train the frequencies of the time encoding"`
	ExactTimes bool `json:"exact_times" about:"time differences from exact, not rounded, times"`
}

// Default is the released program's configuration for a data set it has no better one for.
var Default = Config{
	Layer: Transformer, Patch: 1, Length: 32, Padding: model.PadCall, Channel: 50, TimeDim: 100, Layers: 2,
	Heads: 2, Dropout: 0.1, NodeDim: 172, EdgeDim: 172,
}

// Width is that of a step: four channels side by side.
func (c Config) Width() int { return 4 * c.Channel }

// Plan is what the model wants to know of each query: a row for each of its nodes, itself first, then its latest
// neighbours, oldest first.
func (c Config) Plan() sample.Plan {
	row := sample.Draw{Neighbors: c.Length - 1, Target: sample.TargetFirst, PadRight: true}
	p := c.Padding.Plan(row, c.Length, c.Patch)
	p.Counts, p.ExactTimes = sample.PlainCounts, c.ExactTimes
	return p
}

// Check says what is wrong with c.
func (c Config) Check() error {
	switch {
	case c.Layer != Transformer && c.Layer != Mamba:
		return fmt.Errorf("layer is %q, must be %q or %q", c.Layer, Transformer, Mamba)
	case c.Layer == Transformer && c.Width()%c.Heads != 0:
		return fmt.Errorf("num_heads is %d, must divide 4·channel_embedding_dim = %d", c.Heads, c.Width())
	case c.Layer == Transformer && c.FeedForward:
		return fmt.Errorf("feed_forward is true, must be false for layer %q, which has its own", c.Layer)
	}
	return cmp.Or(model.CheckTimeDim(c.TimeDim), c.Padding.Check())
}

// Notes are what a user should know before training.
func (c Config) Notes() []string { return c.Padding.Notes() }

// Conditions are what scores depend on beside their own past.
func (c Config) Conditions() []string { return c.Padding.Conditions() }

// Mark tells bare state space blocks from those of the presets.
func (c Config) Mark(string) string {
	if c.Layer == Mamba && !c.FeedForward {
		return "bare blocks"
	}
	return ""
}

// Brief is the settings in a few words.
func (c Config) Brief() string {
	s := fmt.Sprintf("L & p %d & %d, dropout %v, padding %s", c.Length, c.Patch, c.Dropout, c.Padding)
	if c.Layer == Mamba {
		s = fmt.Sprintf("L & p %d & %d, padding %s", c.Length, c.Patch, c.Padding)
		if c.FeedForward {
			s += ", feed-forward, dropout " + fmt.Sprint(c.Dropout)
		}
	}
	if c.FreezeTime {
		s += ", time encoder frozen"
	}
	return s
}
