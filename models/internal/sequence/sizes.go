package sequence

import (
	"fmt"

	"github.com/dygmamba/dygmamba/model"
)

// Reach says how far histories and gaps go back, in the letters of DyGMamba's paper. Models have it among their
// settings.
type Reach struct {
	Patch    int `json:"patch_size" in:"[1,1048576]" about:"p: events per step of the sequence"`
	Length   int `json:"max_input_sequence_length" in:"[1,1048576]" about:"ρ: length of a history with the node itself"`
	Meetings int `json:"max_interaction_times" in:"[1,1048576]" about:"k: time gaps between earlier events of the pair"`
}

// Sizes are those of layers that read histories and gaps, which models have among their settings.
type Sizes struct {
	Channel int     `json:"channel_embedding_dim" in:"[1,65536]" about:"d: width of each channel"`
	TimeDim int     `json:"time_feat_dim" in:"[1,65536]" about:"width of the time encoding"`
	Divisor int     `json:"width_divisor" in:"[1,65536]" about:"f: the node-level block is 4d/f wide"`
	Gamma   float64 `json:"gamma" about:"γ: the time-level block is γ·d wide"` // rounded down
	Layers  int     `json:"num_layers" in:"[1,100]" about:"layers of each block"`
	Dropout float64 `json:"dropout" in:"[0,1)" about:"dropout rate in training"` // in feed-forward layers
	NodeDim int     `json:"node_feat_dim" in:"[1,65536]" about:"width of node features; narrower ones are padded"`
	EdgeDim int     `json:"edge_feat_dim" in:"[1,65536]" about:"width of event features; narrower ones are padded"`
}

// Defaults of DyGMamba's released program for a data set it has no better ones for.
var (
	DefaultReach = Reach{Patch: 1, Length: 32, Meetings: 10}
	DefaultSizes = Sizes{
		Channel: 50, TimeDim: 100, Divisor: 2, Gamma: 0.5, Layers: 2, Dropout: 0.1, NodeDim: 172, EdgeDim: 172,
	}
)

// Width is that at which histories are read.
func (s Sizes) Width() int { return 4 * s.Channel / s.Divisor }

// TimeWidth is that at which gaps are read: γ·d, rounded down.
func (s Sizes) TimeWidth() int { return int(s.Gamma * float64(s.Channel)) }

// Check says what is wrong with s, under the names of settings.
func (s Sizes) Check() error {
	const steep = 100
	switch {
	case 4*s.Channel%s.Divisor != 0:
		return fmt.Errorf("width_divisor is %d, must divide 4·channel_embedding_dim = %d", s.Divisor, 4*s.Channel)
	case !(s.Gamma > 0 && s.Gamma <= steep) || s.TimeWidth() < 1:
		return fmt.Errorf("gamma is %v, must make gamma·channel_embedding_dim at least 1 and be at most %d: "+
			"the paper searches 0.1 to 1", s.Gamma, steep)
	}
	return model.CheckTimeDim(s.TimeDim)
}

// FromTensors changes s to the widths that the shapes of a checkpoint's tensors tell, and is the patch size.
func (s *Sizes) FromTensors(d *model.Dims) (patch int) {
	const node, edge = "0.projection_layer.node.weight", "0.projection_layer.edge.weight"
	channel, nodes := d.Matrix(node) // [d, p·NodeDim]
	_, edges := d.Matrix(edge)       // [d, p·EdgeDim]
	s.Channel = channel
	s.NodeDim, _ = d.Matrix("0.output_layer.weight")   // [NodeDim, ·]
	s.TimeDim, _ = d.Matrix("0.time_encoder.w.weight") // [TimeDim, 1]
	patch = d.Divide(node, nodes, s.NodeDim, "the node feature width")
	s.EdgeDim = d.Divide(edge, edges, patch, "the patch size")
	return patch
}

// DivisorFromTensors changes s to the width at which histories are read.
func (s *Sizes) DivisorFromTensors(d *model.Dims) {
	_, width := d.Matrix("0.output_layer.weight") // [NodeDim, D]
	s.Divisor = d.Divide("0.projection_layer.node.weight", 4*s.Channel, width,
		"the width of 0.output_layer.weight, times 4,")
}

// GammaFromTensors changes s to the width at which gaps are read.
func (s *Sizes) GammaFromTensors(d *model.Dims) {
	g, _ := d.Matrix("0.projection_layer_t_diff.weight") // [g, TimeDim]
	if s.TimeWidth() != g {
		s.Gamma = ratio(g, s.Channel)
	}
}

// ratio is a γ that makes ⌊γ·d⌋ = g, whatever division rounds to.
func ratio(g, d int) float64 {
	gamma := float64(g) / float64(d)
	if int(gamma*float64(d)) < g {
		gamma = (float64(g) + 0.25) / float64(d)
	}
	return gamma
}

// Tuned is what was chosen for one data set: ρ & p, k and dropout.
type Tuned struct {
	Length, Patch, Meetings int
	Dropout                 float64
}

// Tune takes over what was chosen for a data set; one for which nothing was keeps the default.
func Tune(r *Reach, s *Sizes, v Tuned, chosen bool) {
	if chosen {
		r.Length, r.Patch, r.Meetings, s.Dropout = v.Length, v.Patch, v.Meetings, v.Dropout
	}
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
