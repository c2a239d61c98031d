package train

import (
	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/nn"
	"github.com/dygmamba/dygmamba/tensor"
)

// Classifier is a network of three layers on a source's embedding and on what the model knows of the pair, where it
// does.
type Classifier struct {
	params *nn.Params
	layers [3]nn.Linear
	rate   float32
}

// The widths of the reference program's classifier, for one embedding. Two make it twice as wide (DyGMamba's released
// module).
var classifierWidths = [...]int{80, 10, 1}

// ClassifierPrefix is what the names of its parameters begin with in checkpoints, beside "0." of the model and "1." of
// its own head.
const ClassifierPrefix = "2."

// ClassifierOf makes the classifier that belongs to a model and its configuration.
func ClassifierOf(m model.Model, s model.Spec, seed uint64) *Classifier {
	width, pair := model.Widths(m)
	c := &Classifier{params: nn.NewParams(seed), rate: float32(model.Dropout(s))}
	in, parts := width, 1
	if pair {
		in, parts = 2*width, 2
	}
	scope := c.params.In("2")
	for i, name := range []string{"fc1", "fc2", "fc3"} {
		out := classifierWidths[i]
		if i < 2 {
			out *= parts
		}
		c.layers[i] = nn.NewLinear(scope.In(name), in, out)
		in = out
	}
	c.params.Place(m.Params().Device())
	return c
}

// Logit is fc3·drop(relu(fc2·drop(relu(fc1·[source ‖ pair])))).
func (c *Classifier) Logit(tp *grad.Tape, e model.Embedding) *tensor.Tensor {
	var h *tensor.Tensor
	if e.Pair != nil {
		h = c.layers[0].Join(tp, device.ReLU, e.Src, e.Pair)
	} else {
		h = c.layers[0].Act(tp, e.Src, device.ReLU)
	}
	h = grad.Dropout(tp, h, c.rate)
	h = grad.Dropout(tp, c.layers[1].Act(tp, h, device.ReLU), c.rate)
	return c.layers[2].Forward(tp, h) // [n, 1]
}

// Params are the classifier's parameters.
func (c *Classifier) Params() *nn.Params { return c.params }

// Close gives its memory back.
func (c *Classifier) Close() { c.params.Close() }
