package attention

import (
	"fmt"

	"github.com/dygmamba/dygmamba/model"
)

// FromTensors is what the shapes of a checkpoint's tensors tell of layers in a scope: their widths, and how many there are.
func FromTensors(shapes map[string][]int, scope string) (c Config, err error) {
	layer := func(l int) string { return fmt.Sprintf("%s.temporal_conv_layers.%d.key_projection.weight", scope, l) }
	d := model.NewDims("temporal graph attention", shapes)
	query, key := d.Matrix(layer(0))                          // [node+time, node+edge+time]
	node, _ := d.Matrix(scope + ".merge_layers.0.fc2.weight") // [node, node]
	if d.Err() != nil {
		return c, d.Err()
	}
	c.Node, c.Time, c.Edge = node, query-node, key-query
	for c.Layers = 1; shapes[layer(c.Layers)] != nil; {
		c.Layers++
	}
	return c, nil
}
