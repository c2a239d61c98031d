package train

import (
	"fmt"
	"strings"

	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/internal/optim"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/nn"
	"github.com/dygmamba/dygmamba/protocol"
	"github.com/dygmamba/dygmamba/sample"
	"github.com/dygmamba/dygmamba/tensor"
)

// Learner is a model and what moves its weights. Training, the benchmarks and the plan of memory all take their steps
// with one.
type Learner struct {
	Model  model.Model
	Tape   *grad.Tape
	Optim  *optim.Optimizer
	Logits *tensor.Tensor // [n, outputs], of the last step; nil for the task "next"
	Loss   *tensor.Tensor // [1]
	task   Task
	asked  *grad.Tape   // where a model that does not learn itself computes; nil: on Tape
	memory model.Memory // remembers a batch in the step that asks about it; nil: elsewhere, or not at all
	batch  *sample.Batch
	labels []float32
	said   model.Embedding
	body   func() // bound once, so that a step allocates nothing

	// Stop ends a step where the device can: it then panics with *device.Stopped, see tensor.Guard, and leaves weights
	// and memory as they were. Nil: never.
	Stop    <-chan struct{}
	stopper device.Stopper // nil: the device cannot
}

// NewLearner builds a model that is ready to learn. Failures of the device come as panics, see tensor.Guard.
func NewLearner(f model.Factory, env model.Env, s model.Spec, kind protocol.Task) (*Learner, error) {
	return newLearner(f, env, s, kind, Truth{})
}

func newLearner(f model.Factory, env model.Env, s model.Spec, kind protocol.Task, a Truth) (*Learner, error) {
	m, err := f.Build(env, s)
	if err != nil {
		return nil, err
	}
	task, err := newTask(kind, m, s, env.Seed, a)
	var l *Learner
	if err == nil {
		l, err = learnerOf(m, s, task)
	}
	if err != nil {
		m.Close()
	}
	return l, err
}

// LearnerOf lets a model that is there already learn of links. Release it.
func LearnerOf(m model.Model, s model.Spec, seed uint64) (*Learner, error) {
	task, err := newTask(protocol.LinkPrediction, m, s, seed, Truth{})
	if err != nil {
		return nil, err
	}
	return learnerOf(m, s, task)
}

func learnerOf(m model.Model, s model.Spec, task Task) (*Learner, error) {
	rule, err := optim.Rule(strings.ToLower(s.Training.Optimizer))
	if err != nil {
		return nil, err
	}
	dev := m.Params().Device()
	l := &Learner{Model: m, task: task}
	if memory, ok := m.(model.Memory); ok && s.Order == protocol.Arrival {
		l.memory = memory
	}
	l.Optim = optim.New(l.Params(), optim.Config{
		Rule: rule, Rate: float32(s.Training.LearningRate), WeightDecay: float32(s.Training.WeightDecay),
	})
	l.Tape = grad.NewTape(dev, true)
	if l.Classifier() != nil {
		l.asked = grad.NewTape(dev, false)
	}
	l.stopper, _ = dev.(device.Stopper)
	l.body = func() { l.Gradients(); l.toTheEnd(); l.Optim.Step() }
	return l, nil
}

// Reset begins a step on a batch; the key feeds its dropouts.
func (l *Learner) Reset(b *sample.Batch, key uint64) {
	l.batch = b
	l.Tape.Reset(key)
}

// Step takes a whole step of the optimizer, which a device may have recorded.
func (l *Learner) Step(b *sample.Batch, key uint64) {
	if l.stopper != nil && l.Stop != nil {
		l.stopper.StopWhen(l.Stop)
		defer l.toTheEnd()
	}
	l.Reset(b, key)
	recorded := model.StepKey(l.Model, b)
	if l.asked != nil { // its memory is part of what is recorded
		recorded = grad.Key(recorded, uint64(l.asked.Moves()))
	}
	l.Tape.Replay(recorded, l.body)
}

// toTheEnd lets nothing stop the device from here on: something that lasts is about to change.
func (l *Learner) toTheEnd() {
	if l.stopper != nil {
		l.stopper.StopWhen(nil)
	}
}

// Params are what the optimizer moves.
func (l *Learner) Params() *nn.Params { return l.task.Params(l.Model) }

// Head asks the question of the task.
func (l *Learner) Head() model.Head { return l.task.Head(l.Model) }

// Classifier is what learns in the model's place, nil where the model itself does.
func (l *Learner) Classifier() *Classifier {
	if t, ok := l.task.(Labels); ok {
		return t.Classifier
	}
	return nil
}

// Links says whether links are learned.
func (l *Learner) Links() bool {
	_, ok := l.task.(Link)
	return ok
}

// Chooser is the model of the task "next", nil where another one is learned.
func (l *Learner) Chooser() model.Chooser {
	c, _ := l.Model.(model.Chooser)
	return c
}

// Gradients is the algorithm but for the optimizer's move: ask, compare, remember, and find how every parameter should
// move.
func (l *Learner) Gradients() {
	l.Forward()
	l.Backward()
}

// Forward asks and compares. What was asked about is remembered with the weights that answered.
func (l *Learner) Forward() {
	b, tp := l.batch, l.Tape
	if task, chooses := l.task.(Next); chooses {
		l.Loss = task.Loss(tp, l.Chooser(), b) // [1]
		return
	}
	var labels *tensor.Tensor // [n]
	losing, own := l.task.(Losing)
	if !own {
		l.labels = l.task.Labels(l.labels[:0], b)
		labels = tp.Floats(l.labels, len(l.labels))
	}
	if l.asked == nil {
		l.Logits, l.said = model.Logits(tp, l.Model, l.Head(), b) // [n, 1]
	} else {
		l.asked.Reset(0)
		l.said = model.Embedded(l.asked, l.Model, b)
		l.Logits = l.Head().Logit(tp, l.said) // [n, 1]
	}
	if own {
		l.Loss = losing.Loss(tp, l.Logits, b) // [1]
	} else {
		l.Loss = grad.BCE(tp, l.Logits, labels) // [1]
	}
	if l.memory != nil {
		on := tp
		if l.asked != nil {
			on = l.asked
		}
		l.toTheEnd()
		l.memory.Commit(on, b, &l.said)
	}
}

// Backward finds the gradients.
func (l *Learner) Backward() {
	l.Params().ZeroGrad()
	l.Tape.Backward(l.Loss)
}

// Close gives all memory back.
func (l *Learner) Close() {
	l.Release()
	l.Model.Close()
}

// Release gives all memory back but the model's.
func (l *Learner) Release() {
	l.Tape.Close()
	if l.asked != nil {
		l.asked.Close()
		l.Classifier().Close()
	}
	l.Optim.Close()
}

// Learner makes the run's, on a device that may be another than the run's own.
func (r *Run) Learner(dev device.Device) (*Learner, error) {
	l, err := newLearner(r.Factory, r.Environment(dev), r.Spec, r.Protocol.Task(),
		Truth{r.Protocol.Classes(), r.Protocol.Values()})
	if err != nil {
		return nil, fmt.Errorf("build %s: %w", r.Model, err)
	}
	return l, nil
}
