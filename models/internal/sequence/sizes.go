package sequence

import (
	"fmt"

	"github.com/dygmamba/dygmamba/model"
)

// Sizes are the settings that models of two histories and their gaps have in common, in the letters of DyGMamba's
// paper.
type Sizes struct {
	Patch, Length, Meetings int // p, ρ, k
	Channel, TimeDim        int // d, and the width of the time encoding
	Divisor                 int // f: a history is read at a width of 4d/f
	Gamma                   float64
	Layers                  int
	Dropout                 float64
	NodeDim, EdgeDim        int
}

// TimeWidth is that at which gaps are read: γ·d, rounded down.
func (s Sizes) TimeWidth() int { return int(s.Gamma * float64(s.Channel)) }

// Check says what is wrong with s, under the names of settings.
func (s Sizes) Check() error {
	if err := model.CheckSizes(
		model.Size{Key: "patch_size", Value: s.Patch, Most: model.Long},
		model.Size{Key: "max_input_sequence_length", Value: s.Length, Most: model.Long},
		model.Size{Key: "max_interaction_times", Value: s.Meetings, Most: model.Long},
		model.Size{Key: "channel_embedding_dim", Value: s.Channel, Most: model.Wide},
		model.Size{Key: "time_feat_dim", Value: s.TimeDim, Most: model.Wide},
		model.Size{Key: "num_layers", Value: s.Layers, Most: model.Deep},
		model.Size{Key: "node_feat_dim", Value: s.NodeDim, Most: model.Wide},
		model.Size{Key: "edge_feat_dim", Value: s.EdgeDim, Most: model.Wide},
		model.Size{Key: "width_divisor", Value: s.Divisor, Most: model.Wide},
	); err != nil {
		return err
	}
	const steep = 100
	switch {
	case 4*s.Channel%s.Divisor != 0:
		return fmt.Errorf("width_divisor is %d, must divide 4·channel_embedding_dim = %d", s.Divisor, 4*s.Channel)
	case !(s.Gamma > 0 && s.Gamma <= steep) || s.TimeWidth() < 1:
		return fmt.Errorf("gamma is %v, must make gamma·channel_embedding_dim at least 1 and be at most %d: "+
			"the paper searches 0.1 to 1", s.Gamma, steep)
	case s.TimeDim < 2:
		return fmt.Errorf("time_feat_dim is %d, must be at least 2: a highest and a lowest frequency", s.TimeDim)
	}
	return model.CheckDropout(s.Dropout)
}

// Tuned is what was chosen for one data set: ρ & p, k and dropout.
type Tuned struct {
	Length, Patch, Meetings int
	Dropout                 float64
}

// Paper is what DyGMamba's paper chose for a data set, false if it is not in there.
func Paper(data string) (Tuned, bool) { return paper.For(data) }

// paper has continuous-time sets and synthetic ones from the tables of the paper's implementation details,
// discrete-time ones from its appendix, which does not give their dropout.
var paper = model.Best[Tuned]{
	"lastfm":    {512, 16, 10, 0.1},
	"enron":     {256, 8, 30, 0},
	"mooc":      {128, 4, 10, 0.1},
	"reddit":    {64, 2, 5, 0.2},
	"wikipedia": {32, 1, 5, 0.1},
	"uci":       {32, 1, 5, 0.1},
	"socialevo": {32, 1, 5, 0.1},

	"flights":  {256, 8, 30, 0.1},
	"canparl":  {2048, 64, 100, 0.1},
	"uslegis":  {256, 8, 30, 0.1},
	"untrade":  {256, 8, 30, 0.1},
	"unvote":   {128, 4, 10, 0.1},
	"contacts": {32, 1, 5, 0.1},

	"s1": {256, 8, 10, 0.1},
	"s2": {512, 16, 30, 0.1},
	"s3": {512, 16, 10, 0.1},
}

// QuickAbove is how many imported events are too many to wait for the whole model at a first look on a CPU.
const QuickAbove = 2000

// QuickSummary describes the preset for that first look.
var QuickSummary = fmt.Sprintf("for a first look: narrower, shorter, a few epochs; "+
	"on a CPU the default above %d imported events", QuickAbove)

// Quick says whether data want it.
func Quick(d model.Data) bool {
	_, published := Paper(d.Name)
	return d.OnCPU && d.Imported && !published && d.Events > QuickAbove
}
