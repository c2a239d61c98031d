package bench

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/eval"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/optim"
	"github.com/dygmamba/dygmamba/replay"
	"github.com/dygmamba/dygmamba/sample"
	"github.com/dygmamba/dygmamba/tensor"
)

// warmUp is how many steps come before the measured ones: memory is allocated in the first, and joined in the second.
const warmUp = 3

// meter is what all measurements of training steps share: a model, data and a device, and the batches to take.
type meter struct {
	factory model.Factory
	spec    model.Spec
	set     *dataset.Set
	dev     device.Device
	threads int
	batches int // at most; open lowers it to what there is

	rule   device.Rule
	pass   replay.Pass
	train  *event.Log
	size   int        // of a batch
	whole  int        // batches among the training events
	events event.Span // whole batches that are measured; chosen by whoever embeds the meter
}

// open splits the data.
func (m *meter) open() (err error) {
	m.size = m.spec.Training.BatchSize
	protocol, err := eval.Open(m.set, eval.Options{BatchSize: m.size, Threads: m.threads})
	if err != nil {
		return err
	}
	if m.rule, err = optim.Rule(strings.ToLower(m.spec.Training.Optimizer)); err != nil {
		return err
	}
	if m.pass, err = protocol.Train(0); err != nil {
		return err
	}
	m.train = protocol.Split().Train
	m.whole = m.train.Len() / m.size
	m.batches = min(m.batches, m.whole)
	if m.batches < 2 {
		return fmt.Errorf("%s has %d training events, must have at least two batches of %d",
			m.set.Name, m.train.Len(), m.size)
	}
	return nil
}

// learner is a model under training.
type learner struct {
	dev   device.Device
	model model.Model
	opt   *optim.Optimizer
	tape  *grad.Tape
	step  uint64
	loss  *tensor.Tensor
	body  func()
	batch *sample.Batch

	host    [2]float32     // the losses of two steps
	reading device.Reading // of the last one
}

func (m *meter) learner(dev device.Device) (l *learner, err error) {
	guarded := tensor.Guard(func() {
		env := model.Env{Device: dev, Node: m.set.Node, Edge: m.set.Edge, NumNodes: m.set.NumNodes()}
		l = &learner{dev: dev}
		if l.model, err = m.factory.Build(env, m.spec); err != nil {
			return
		}
		l.opt = optim.New(l.model.Params(), optim.Config{Rule: m.rule, Rate: float32(m.spec.Training.LearningRate)})
		l.tape = grad.NewTape(dev, true)
		l.body = func() { l.forward(); l.backward(); l.opt.Step() }
	})
	if guarded != nil {
		err = guarded
	}
	return l, err
}

func (l *learner) close() {
	l.tape.Close()
	l.opt.Close()
	if c, ok := l.model.(interface{ Close() }); ok {
		c.Close()
	}
}

func (l *learner) reset(b *sample.Batch) {
	l.batch = b
	l.tape.Reset(grad.Key(0, l.step))
	l.step++
}

func (l *learner) forward() {
	labels := l.tape.Floats(l.batch.Labels, len(l.batch.Labels)) // [n]
	l.loss = grad.BCE(l.tape, l.model.Score(l.tape, l.batch), labels)
}

func (l *learner) backward() {
	l.model.Params().ZeroGrad()
	l.tape.Backward(l.loss)
}

// whole takes a step as training does: it launches one and waits for the one before.
func (l *learner) whole(b *sample.Batch) {
	l.launch(b)
	before, at := l.reading, l.step%2
	l.reading = device.ReadLater(l.dev, l.host[at:at+1], l.loss.Data)
	before.Wait()
}

func (l *learner) launch(b *sample.Batch) {
	l.reset(b)
	l.tape.Replay(model.Sizes(b), l.body)
}

// walk hands batches to body: first some to warm up, as step −1, then the measured ones from 0 on.
func (m *meter) walk(ctx context.Context, l *learner, measured int, body func(number int, s *replay.Step)) error {
	walk := func(events event.Span, warm bool) error {
		for s, err := range m.pass.Batches(ctx, l.model, events) {
			if err != nil {
				return err
			}
			number := s.Number
			if warm {
				number = -1
			}
			if err := tensor.Guard(func() { body(number, s) }); err != nil {
				return err
			}
		}
		return nil
	}
	size := m.size
	for range (warmUp + m.batches - 1) / m.batches {
		if err := walk(m.events.Slice(0, min(warmUp, m.batches)*size), true); err != nil {
			return err
		}
	}
	return walk(m.events.Slice(0, min(measured, m.batches)*size), false)
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// median sorts x.
func median(x []float64) float64 {
	if len(x) == 0 {
		return 0
	}
	slices.Sort(x)
	return (x[(len(x)-1)/2] + x[len(x)/2]) / 2
}
