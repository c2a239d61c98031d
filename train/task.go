package train

import (
	"cmp"
	"fmt"

	"github.com/dygmamba/dygmamba/dataset"
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

// Losing is a task with a loss of its own. Others have the binary cross-entropy of logits against Labels.
type Losing interface {
	Task
	Loss(tp *grad.Tape, logits *tensor.Tensor, b *sample.Batch) *tensor.Tensor // [1]
}

// Labels is the task of telling the class of a query's source, from what a trained model says of it. Only the
// classifier learns: the model says what it says in evaluation.
type Labels struct {
	*Classifier
	// Class is the class of query i of a batch, −1 where nobody knows: then nothing is learned from it. Nil: the label
	// of event i, of which two are told apart.
	Class func(b *sample.Batch, i int) int
	// Gaps says that some queries have no class.
	Gaps bool
}

// OfEvents is Class for the labels of events.
func OfEvents(c *dataset.Classes) func(b *sample.Batch, i int) int {
	return func(b *sample.Batch, i int) int { return c.Of(b.Events.Label(i)) }
}

// Head is the classifier.
func (l Labels) Head(model.Model) model.Head { return l.Classifier }

// Params are the classifier's.
func (l Labels) Params(model.Model) *nn.Params { return l.Classifier.params }

// Labels are 1 for the second class.
func (l Labels) Labels(to []float32, b *sample.Batch) []float32 {
	for i := range b.Queries {
		to = append(to, truth(l.class(b, i) == 1))
	}
	return to
}

func (l Labels) class(b *sample.Batch, i int) int {
	if l.Class == nil {
		return int(truth(b.Events.Label(i) != 0))
	}
	return l.Class(b, i)
}

// Loss is the cross-entropy in nats per query: binary for two classes, of a softmax for more. A query without a class
// has none.
func (l Labels) Loss(tp *grad.Tape, logits *tensor.Tensor, b *sample.Batch) *tensor.Tensor {
	c := l.Classifier
	if c.Outputs() == 1 && !l.Gaps {
		c.truths = l.Labels(c.truths[:0], b)
		return grad.BCE(tp, logits, tp.Floats(c.truths, len(c.truths))) // [1]
	}
	c.targets = c.targets[:0]
	for i := range b.Queries {
		c.targets = append(c.targets, int32(l.class(b, i)))
	}
	if c.Outputs() == 1 { // the softmax of [0, x] is the sigmoid of x
		logits = grad.Concat(tp, tp.Zeros(len(c.targets), 1), logits) // [n, 2]
	}
	return grad.CE(tp, logits, tp.Ints(c.targets), device.Ints{}) // [1]
}

// Classifier is a network of three layers on a source's embedding and on what the model knows of the pair, where it
// does.
type Classifier struct {
	params *nn.Params
	layers [3]nn.Linear
	rate   float32

	truths  []float32 // of a batch
	targets []int32
}

// The widths of the reference program's classifier, for one embedding. Two make it twice as wide (DyGMamba's released
// module).
var classifierWidths = [...]int{80, 10}

// ClassifierPrefix is what the names of its parameters begin with in checkpoints, beside "0." of the model and "1." of
// its own head.
const ClassifierPrefix = "2."

// NewClassifier makes the classifier of a model, with dropout of the given rate between its layers. It says one logit
// of two classes, that of the second, and one for each of more.
func NewClassifier(m model.Model, width int, pair bool, outputs int, rate float64, seed uint64) *Classifier {
	c := &Classifier{params: nn.NewParams(seed), rate: float32(rate)}
	in, parts := width, 1
	if pair {
		in, parts = 2*width, 2
	}
	scope := c.params.In("2")
	for i, name := range []string{"fc1", "fc2", "fc3"} {
		out := outputs
		if i < len(classifierWidths) {
			out = classifierWidths[i] * parts
		}
		if i == 1 { // no narrower than what it has to tell apart
			out = max(out, min(outputs, in))
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
	return c.layers[2].Forward(tp, h) // [n, outputs]
}

// Outputs is how many logits it says of a query.
func (c *Classifier) Outputs() int { return c.layers[2].W.Rows() }

// Params are the classifier's parameters.
func (c *Classifier) Params() *nn.Params { return c.params }

// Close gives its memory back.
func (c *Classifier) Close() { c.params.Close() }

// Values is the task of telling the value of an event, in deviations from the mean. The whole model learns, its own
// head says the value.
type Values struct {
	Link
	*valued
}

type valued struct {
	of     func(b *sample.Batch, i int) float32
	labels []float32 // of a batch
}

// NewValues learns what of says of query i of a batch.
func NewValues(of func(b *sample.Batch, i int) float32) Values {
	return Values{valued: &valued{of: of}}
}

// Labels are the values.
func (v Values) Labels(to []float32, b *sample.Batch) []float32 {
	for i := range b.Queries {
		to = append(to, v.of(b, i))
	}
	return to
}

// Loss is the mean squared error.
func (v Values) Loss(tp *grad.Tape, said *tensor.Tensor, b *sample.Batch) *tensor.Tensor {
	v.labels = v.Labels(v.labels[:0], b)
	return SquaredError(tp, said, tp.Floats(v.labels, len(v.labels), 1)) // [1]
}

// SquaredError is the mean of (x − y)², of as many numbers on both sides.
func SquaredError(tp *grad.Tape, x, y *tensor.Tensor) *tensor.Tensor {
	off := grad.Sub(tp, x, y) // [n, 1]
	return grad.Scale(tp, grad.Sum(tp, grad.Mul(tp, off, off)), 1/float32(max(1, y.Len())))
}

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

// Truth is what the events of a data set say, where a task asks for more than whether they happen.
type Truth struct {
	Classes *dataset.Classes // of labels; nil: two, told by a label that is not 0
	Values  []float64        // of events, by edge
}

// newTask is the task of a protocol's kind.
func newTask(kind protocol.Task, m model.Model, s model.Spec, seed uint64, a Truth) (Task, error) {
	_, chooses := m.(model.Chooser)
	switch {
	case (kind == protocol.Next) != chooses:
		return nil, fmt.Errorf("the task %s is not for this model", cmp.Or(kind, protocol.LinkPrediction))
	case chooses:
		return Next{}, nil
	case kind == protocol.NodeClassification:
		l := Labels{Classifier: ClassifierOf(m, s, seed)}
		if a.Classes != nil && a.Classes.Names != nil {
			l.Class, l.Gaps = OfEvents(a.Classes), a.Classes.Gaps()
		}
		return l, nil
	case kind == protocol.Regression:
		return NewValues(func(b *sample.Batch, i int) float32 {
			return s.Target.Scaled(a.Values[b.Events.Edge(i)])
		}), nil
	}
	return Link{}, nil
}

// ClassifierOf makes the classifier that belongs to a model and its configuration.
func ClassifierOf(m model.Model, s model.Spec, seed uint64) *Classifier {
	width, pair := model.Widths(m)
	return NewClassifier(m, width, pair, s.Outputs(), model.Dropout(s), seed)
}
