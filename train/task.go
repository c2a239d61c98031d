package train

import (
	"cmp"
	"fmt"

	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/internal/next"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/nn"
	"github.com/dygmamba/dygmamba/protocol"
	"github.com/dygmamba/dygmamba/sample"
	"github.com/dygmamba/dygmamba/tensor"
)

// Task is what is learned: which question is asked of what the model says, whose parameters move, and what the answers
// should have been. Which events are asked about, and how answers are measured, is the protocol's part.
type Task interface {
	Head(m model.Model) model.Head
	Params(m model.Model) *nn.Params
	// Labels appends the right answer, 0 or 1, to every query of b.
	Labels(to []float32, b *sample.Batch) []float32
}

// Link is the task of telling events that happen from others that do not. The whole model learns.
type Link struct{}

// Head is the model's own.
func (Link) Head(m model.Model) model.Head { return m.Head() }

// Params are all of the model's.
func (Link) Params(m model.Model) *nn.Params { return m.Params() }

// Labels are 1 for the positives.
func (Link) Labels(to []float32, b *sample.Batch) []float32 {
	for i := range b.Queries {
		to = append(to, truth(i < b.Positives))
	}
	return to
}

func truth(x bool) float32 {
	if x {
		return 1
	}
	return 0
}

// Labels is the task of telling the label of an event's source, from what a trained model says of it. Only the
// classifier learns: the model says what it says in evaluation.
type Labels struct{ *Classifier }

// Head is the classifier.
func (l Labels) Head(model.Model) model.Head { return l.Classifier }

// Params are the classifier's.
func (l Labels) Params(model.Model) *nn.Params { return l.Classifier.params }

// Labels are those of the events.
func (l Labels) Labels(to []float32, b *sample.Batch) []float32 {
	for i := range b.Queries {
		to = append(to, truth(b.Events.Label(i) != 0))
	}
	return to
}

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

// NewClassifier makes the classifier of a model, with dropout of the given rate between its layers.
func NewClassifier(m model.Model, width int, pair bool, rate float64, seed uint64) *Classifier {
	c := &Classifier{params: nn.NewParams(seed), rate: float32(rate)}
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

// Next is the task of telling who is the next destination of a source, among all. The whole model learns, which is a
// model.Chooser.
type Next struct{ Link }

// Loss is what the group of a batch's destinations costs, and the destination within its group: two cross-entropies in
// nats per event. A model of pairs has a third one, of the destination within the short list of its group: what it says
// is added to what counts say, which learn nothing from it.
func (t Next) Loss(tp *grad.Tape, m model.Chooser, b *sample.Batch) *tensor.Tensor {
	x := examples(b)
	loss := t.countLoss(tp, m, x, b.Positives) // [1]
	if m.Feed().Short == 0 {
		return loss
	}
	n, columns := b.Positives, m.Feed().Short
	candidates := tp.Floats(x.Short, n*columns, m.Feed().Width)
	target, mask := tp.Ints(x.ShortTarget), tp.Ints(x.ShortMask)
	said := t.said(tp, m, b) // [n, columns]
	var counts *tensor.Tensor
	tp.Aside(func() { counts = grad.Reshape(tp, m.Who(tp, candidates), n, columns) }) // [n, columns]
	return grad.Add(tp, loss, grad.CE(tp, grad.Add(tp, said, counts), target, mask))  // [1]
}

// said is what a model of pairs says of the lists of a batch. One that describes each node alone describes each source
// once.
func (Next) said(tp *grad.Tape, m model.Chooser, b *sample.Batch) *tensor.Tensor {
	n, columns := b.Positives, m.Feed().Short
	sources, others := m.Feed().Lists().Rows(n)
	if sources == nil {
		logits, _ := model.Logits(tp, m, m.Head(), b)                   // [columns·n, 1]: destinations, then all others
		return grad.Transpose(tp, grad.Reshape(tp, logits, columns, n)) // [n, columns]
	}
	ofSources, ofOthers := tp.Ints(sources), tp.Ints(others)
	e := m.Embed(tp, b)
	all := grad.Stack(tp, e.Src, e.Dst) // [2·queries, ·]
	logits := m.Head().Logit(tp, model.Embedding{
		Src: grad.Gather(tp, all, ofSources, 1), Dst: grad.Gather(tp, all, ofOthers, 1)}) // [n·columns, 1]
	return grad.Reshape(tp, logits, n, columns)
}

// examples are what the feed has found for a batch, or for the events of it where it was gathered in several calls.
func examples(b *sample.Batch) *next.Examples {
	if len(b.Calls) > 0 {
		b = b.Calls[0]
	}
	return b.Extras[len(b.Extras)-1].(*next.Examples)
}

// countLoss is the loss of what counts alone say.
func (Next) countLoss(tp *grad.Tape, m model.Chooser, x *next.Examples, n int) *tensor.Tensor {
	columns := m.Feed().Columns
	sources := tp.Floats(x.Source, n, m.Feed().SourceWidth)
	candidates := tp.Floats(x.X, n*columns, m.Feed().Width)
	minusLogQ := tp.Floats(x.MinusLogQ, n, columns)
	group, possible, target, mask := tp.Ints(x.Group), tp.Ints(x.Possible), tp.Ints(x.Target), tp.Ints(x.Mask)

	loss := grad.CE(tp, m.Group(tp, sources), group, possible)    // [1], of [n, next.Groups]
	logits := grad.Reshape(tp, m.Who(tp, candidates), n, columns) // [n, columns]
	// a candidate that is drawn often stands for few: its logit is corrected by how likely it was to be drawn
	logits = grad.Add(tp, logits, minusLogQ)                     // [n, columns]
	return grad.Add(tp, loss, grad.CE(tp, logits, target, mask)) // [1]
}

// newTask is the task of a protocol's kind.
func newTask(kind protocol.Task, m model.Model, s model.Spec, seed uint64) (Task, error) {
	_, chooses := m.(model.Chooser)
	switch {
	case (kind == protocol.Next) != chooses:
		return nil, fmt.Errorf("the task %s is not for this model", cmp.Or(kind, protocol.LinkPrediction))
	case chooses:
		return Next{}, nil
	case kind == protocol.NodeClassification:
		return Labels{ClassifierOf(m, s, seed)}, nil
	}
	return Link{}, nil
}

// ClassifierOf makes the classifier that belongs to a model and its configuration.
func ClassifierOf(m model.Model, s model.Spec, seed uint64) *Classifier {
	width, pair := model.Widths(m)
	return NewClassifier(m, width, pair, model.Dropout(s), seed)
}
