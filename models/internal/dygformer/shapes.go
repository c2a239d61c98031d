package dygformer

import (
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/models/internal/sequence"
)

// fromTensors changes c to what the shapes of a checkpoint's tensors tell: widths, layers and patch size.
// Shapes tell neither the length of histories nor the number of heads.
func fromTensors(c *Config, d *model.Dims) {
	var s sequence.Sizes
	c.Patch = s.FromTensors(d)
	c.Channel, c.NodeDim, c.TimeDim, c.EdgeDim = s.Channel, s.NodeDim, s.TimeDim, s.EdgeDim
	layer := "0.transformers.%d.linear_layers.0.weight"
	if c.Layer == Mamba {
		layer = "0.mamba.%d.A_log"
		c.FeedForward = d.Has("0.channel_norm.weight")
	}
	c.Layers = d.Count(layer)
}
