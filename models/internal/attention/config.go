// Package attention answers: what is a node like, seen from those that it met?
//
// It is temporal graph attention (Xu et al., Inductive Representation Learning on Temporal Graphs, ICLR 2020) over what
// a plan has drawn: TGAT itself, and the embeddings of TGN and DyRep, which begin from memories.
package attention

import (
	"fmt"

	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/models/internal/dyglib"
	"github.com/dygmamba/dygmamba/sample"
)

// Config are the sizes of the layers, which models have among their settings. Layers are few: there are about two to
// the number of them draws.
type Config struct {
	Layers    int `json:"num_layers" in:"[1,8]" about:"number of layers, which is also the number of hops"`
	Heads     int `json:"num_heads" in:"[1,65536]" about:"number of attention heads"`
	Neighbors int `json:"num_neighbors" in:"[1,65536]" about:"neighbours per node"`
	sample.PickerOptions
	Dropout float64 `json:"dropout" in:"[0,1)" about:"dropout rate in training"`
	TimeDim int     `json:"time_feat_dim" in:"[1,65536]" about:"width of the time encoding"`
	NodeDim int     `json:"node_feat_dim" in:"[1,65536]" about:"width of node features; narrower ones are padded"`
	EdgeDim int     `json:"edge_feat_dim" in:"[1,65536]" about:"width of event features; narrower ones are padded"`
}

// Default has the widths and the dropout of the released program.
var Default = Config{
	Layers: 1, Heads: 2, Neighbors: 10, PickerOptions: sample.PickerOptions{Strategy: sample.Recent, Scale: 1e-6},
	Dropout: 0.1, TimeDim: 100, NodeDim: 172, EdgeDim: 172,
}

// Tune takes over what was chosen for a data set.
func (c *Config) Tune(v dyglib.Tuned) { c.Dropout, c.Strategy = v.Dropout, v.Strategy }

// Query is the width of a query: a node and the time since it is asked about, which is none.
func (c Config) Query() int { return c.NodeDim + c.TimeDim }

// Key is the width of a key: a neighbour, the event and the time since.
func (c Config) Key() int { return c.NodeDim + c.EdgeDim + c.TimeDim }

// Draws lists what the layers look at: for the sources, and the same for the destinations. A node is first described
// by the layers below, then its neighbours are drawn, then these are described by the layers below; that is the order
// in which the reference draws neighbours at random.
func (c Config) Draws() []sample.Draw {
	return c.draws(c.draws(nil, sample.Src, c.Layers), sample.Dst, c.Layers)
}

func (c Config) draws(list []sample.Draw, of sample.Root, layers int) []sample.Draw {
	if layers == 0 {
		return list
	}
	list = c.draws(list, of, layers-1)
	list = append(list, sample.Draw{Of: of, Neighbors: c.Neighbors, RowLen: c.Neighbors})
	return c.draws(list, sample.Hop(len(list)-1), layers-1)
}

// count is the number of draws of one side.
func count(layers int) int { return 1<<layers - 1 }

// Plan asks for these draws.
func (c Config) Plan(exactTimes bool) (sample.Plan, error) {
	picker, err := sample.NewPicker(c.PickerOptions)
	return sample.Plan{Draws: c.Draws(), Picker: picker, ExactTimes: exactTimes}, err
}

// Check says what is wrong with c, under the names of settings.
func (c Config) Check() error {
	if err := model.CheckTimeDim(c.TimeDim); err != nil {
		return err
	}
	if c.Query()%c.Heads != 0 {
		return fmt.Errorf("num_heads is %d, must divide node_feat_dim + time_feat_dim = %d", c.Heads, c.Query())
	}
	if _, err := sample.NewPicker(c.PickerOptions); err != nil {
		return fmt.Errorf("sample_neighbor_strategy: %w", err)
	}
	return nil
}

// Brief is the settings in a few words.
func (c Config) Brief() string {
	layers := "1 layer"
	if c.Layers != 1 {
		layers = fmt.Sprintf("%d layers", c.Layers)
	}
	return fmt.Sprintf("%s, %d neighbours (%s), dropout %v", layers, c.Neighbors, c.Strategy, c.Dropout)
}

// Conditions are what an embedding depends on beside what happened before its own time.
func (c Config) Conditions(exactTimes bool) []string {
	var list []string
	if c.Strategy != sample.Recent {
		list = append(list, "neighbours are drawn at random: what a query is shown depends on how many came before it")
	}
	if c.Layers > 1 && !exactTimes {
		list = append(list, "neighbours of neighbours are looked up at times rounded to float32, which may be too late")
	}
	return list
}
