package tcl

import "github.com/dygmamba/dygmamba/model"

// fromTensors changes c to what the shapes of a checkpoint's tensors tell: all widths, the number of layers
// and that of neighbours. Shapes tell neither the number of heads nor how neighbours are picked.
func fromTensors(c *Config, d *model.Dims) {
	c.TimeDim, _ = d.Matrix("0.time_encoder.w.weight")                // [TimeDim, 1]
	c.NodeDim, c.EdgeDim = d.Matrix("0.projection_layer.edge.weight") // [NodeDim, EdgeDim]
	rows, _ := d.Matrix("0.depth_embedding.weight")                   // [neighbours + 1, NodeDim]
	c.Neighbors = d.Less("0.depth_embedding.weight", rows, 1, "the node itself,")
	c.Layers = d.Count("0.transformers.%d.norm_layers.0.bias")
}
