package dyrep

import (
	"strings"

	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/models/internal/attention"
	"github.com/dygmamba/dygmamba/models/internal/messages"
	"github.com/dygmamba/dygmamba/tensor"
)

// configFromTensors is base changed to what the shapes of a checkpoint's tensors tell: widths and layers. They tell
// neither heads nor neighbours.
func configFromTensors(base Config, shapes map[string][]int) (Config, error) {
	d := model.NewDims("DyRep", shapes)
	found := attention.FromTensors(d, "0.embedding_module")
	if d.Err() != nil {
		return base, d.Err()
	}
	base.NodeDim, base.EdgeDim, base.TimeDim, base.Layers = found.Node, found.Edge, found.Time, found.Layers
	return base, nil
}

// table lists the model's parameters under the names and in the order of the released program's checkpoints.
func table(c Config) []model.Shape { return model.Table(declare(c, 0).params) }

// released is what ignored tells of: the time encoder again, and memories.
func released(params, state []tensor.Named) []tensor.Named {
	again := model.Again(params, "0.time_encoder.", "0.embedding_module.time_encoder.")
	return append(again, messages.Released(state)...)
}

// ignored tells what a released checkpoint holds beside learned tensors: memories, which are observed again, and a
// second name of the time encoder.
func ignored(name string) bool {
	return messages.Ignored(name) || strings.HasPrefix(name, "0.embedding_module.time_encoder.")
}
