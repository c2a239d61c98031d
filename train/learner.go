package train

import (
	"fmt"
	"strings"

	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/nn"
	"github.com/dygmamba/dygmamba/optim"
	"github.com/dygmamba/dygmamba/sample"
	"github.com/dygmamba/dygmamba/tensor"
)

// Task is what is learned: whose parameters move, what is asked, and what the answers should have been.
type Task interface {
	Params(m model.Model) *nn.Params
	// Logits asks about every query of b, [n, 1]. What the model said comes along for its memory.
	Logits(tp *grad.Tape, m model.Model, b *sample.Batch) (*tensor.Tensor, model.Embedding)
	// Labels appends the right answer, 0 or 1, to every query of b.
	Labels(to []float32, b *sample.Batch) []float32
}

// Link is the task of telling events that happen from others that do not.
type Link struct{}

// Params are all of the model's.
func (Link) Params(m model.Model) *nn.Params { return m.Params() }

// Logits asks the model's own head.
func (Link) Logits(tp *grad.Tape, m model.Model, b *sample.Batch) (*tensor.Tensor, model.Embedding) {
	return model.Logits(tp, m, m.Head(), b)
}

// Labels are 1 for the positives.
func (Link) Labels(to []float32, b *sample.Batch) []float32 {
	for i := range b.Queries {
		label := float32(0)
		if i < b.Positives {
			label = 1
		}
		to = append(to, label)
	}
	return to
}

// Learner is a model and what moves its weights. Training, the benchmarks and the plan of memory all take their steps with one.
type Learner struct {
	Model  model.Model
	Tape   *grad.Tape
	Optim  *optim.Optimizer
	Logits *tensor.Tensor // [n, 1], of the last step
	Loss   *tensor.Tensor // [1]
	task   Task
	memory model.Memory // remembers a batch in the step that asks about it; nil: elsewhere, or not at all
	batch  *sample.Batch
	labels []float32
	said   model.Embedding
	body   func() // bound once, so that a step allocates nothing
}

// NewLearner builds a model that is ready to learn. Failures of the device come as panics, see tensor.Guard.
func NewLearner(f model.Factory, env model.Env, s model.Spec, task Task) (*Learner, error) {
	m, err := f.Build(env, s)
	if err != nil {
		return nil, err
	}
	rule, err := optim.Rule(strings.ToLower(s.Training.Optimizer))
	if err != nil {
		m.Close()
		return nil, err
	}
	l := &Learner{Model: m, task: task}
	if memory, ok := m.(model.Memory); ok && s.Order == model.Arrival {
		l.memory = memory
	}
	l.Optim = optim.New(task.Params(m), optim.Config{Rule: rule, Rate: float32(s.Training.LearningRate)})
	l.Tape = grad.NewTape(env.Device, true)
	l.body = func() { l.Gradients(); l.Optim.Step() }
	return l, nil
}

// Reset begins a step on a batch; the key feeds its dropouts.
func (l *Learner) Reset(b *sample.Batch, key uint64) {
	l.batch = b
	l.Tape.Reset(key)
}

// Step takes a whole step of the optimizer, which a device may have recorded.
func (l *Learner) Step(b *sample.Batch, key uint64) {
	l.Reset(b, key)
	l.Tape.Replay(model.StepKey(l.Model, b), l.body)
}

// Gradients is the algorithm but for the optimizer's move: ask, compare, remember, and find how every parameter should move.
func (l *Learner) Gradients() {
	l.Forward()
	l.Backward()
}

// Forward asks and compares. What was asked about is remembered with the weights that answered.
func (l *Learner) Forward() {
	b, tp := l.batch, l.Tape
	l.labels = l.task.Labels(l.labels[:0], b)
	labels := tp.Floats(l.labels, len(l.labels))     // [n]
	l.Logits, l.said = l.task.Logits(tp, l.Model, b) // [n, 1]
	l.Loss = grad.BCE(tp, l.Logits, labels)          // [1]
	if l.memory != nil {
		l.memory.Commit(tp, b, &l.said)
	}
}

// Backward finds the gradients.
func (l *Learner) Backward() {
	l.task.Params(l.Model).ZeroGrad()
	l.Tape.Backward(l.Loss)
}

// Close gives all memory back.
func (l *Learner) Close() {
	l.Tape.Close()
	l.Optim.Close()
	l.Model.Close()
}

// Learner makes the run's, on a device that may be another than the run's own.
func (r *Run) Learner(dev device.Device) (*Learner, error) {
	l, err := NewLearner(r.Factory, r.Environment(dev), r.Spec, Link{})
	if err != nil {
		return nil, fmt.Errorf("build %s: %w", r.Model, err)
	}
	return l, nil
}
