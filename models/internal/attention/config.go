// Package attention answers: what is a node like, seen from those that it met?
//
// It is temporal graph attention (Xu et al., Inductive Representation Learning on Temporal Graphs, ICLR 2020) over what
// a plan has drawn: TGAT itself, and the embeddings of TGN and DyRep, which begin from memories.
package attention

import (
	"cmp"
	"fmt"

	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/sample"
)

// Config are the sizes of the layers.
type Config struct {
	Node, Edge, Time         int // widths of what describes a node, an event, a time
	Layers, Heads, Neighbors int
	Dropout                  float64
	Strategy                 string  // of sample.PickerOptions
	Scale                    float64 // the same
}

// Query is the width of a query: a node and the time since it is asked about, which is none.
func (c Config) Query() int { return c.Node + c.Time }

// Key is the width of a key: a neighbour, the event and the time since.
func (c Config) Key() int { return c.Node + c.Edge + c.Time }

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

// Picker chooses neighbours in the way that Strategy says.
func (c Config) Picker() (sample.Picker, error) {
	return sample.NewPicker(sample.PickerOptions{Strategy: c.Strategy, Scale: c.Scale})
}

// Check says what is wrong with c, under the names of settings.
func (c Config) Check() error {
	const deep = 8 // there are about 2 to the number of layers draws
	err := model.CheckSizes(
		model.Size{Key: "node_feat_dim", Value: c.Node, Most: model.Wide},
		model.Size{Key: "edge_feat_dim", Value: c.Edge, Most: model.Wide},
		model.Size{Key: "time_feat_dim", Value: c.Time, Most: model.Wide},
		model.Size{Key: "num_layers", Value: c.Layers, Most: deep},
		model.Size{Key: "num_heads", Value: c.Heads, Most: model.Wide},
		model.Size{Key: "num_neighbors", Value: c.Neighbors, Most: model.Wide},
	)
	if err != nil {
		return err
	}
	if err := model.CheckTimeDim(c.Time); err != nil {
		return err
	}
	if c.Query()%c.Heads != 0 {
		return fmt.Errorf("num_heads is %d, must divide node_feat_dim + time_feat_dim = %d", c.Heads, c.Query())
	}
	if err := cmp.Or(model.CheckScale(c.Scale), model.CheckDropout(c.Dropout)); err != nil {
		return err
	}
	if _, err := c.Picker(); err != nil {
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
