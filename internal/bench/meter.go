// Package bench answers: how fast does this machine train, and what does that take?
//
// It measures whole training steps and their growth with the length of histories; single kernels are measured by
// internal/kernelbench, which knows no models and no events.
package bench

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/eval"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/internal/dry"
	"github.com/dygmamba/dygmamba/protocol"
	"github.com/dygmamba/dygmamba/replay"
	"github.com/dygmamba/dygmamba/sample"
	"github.com/dygmamba/dygmamba/tensor"
	"github.com/dygmamba/dygmamba/train"
)

// warmUp is how many steps come before the measured ones: memory is allocated in the first, and joined in the second.
const warmUp = 3

// meter is what all measurements of training steps share: a model, data and a device, and the batches to take.
type meter struct {
	train.Run
	threads int
	batches int  // at most; open lowers it to what there is
	ordered bool // a memory learns in the order of the configuration, not in the step that asks

	pass   replay.Pass
	past   *event.Log // the training events
	size   int        // of a batch
	whole  int        // batches among the training events
	events event.Span // whole batches that are measured; chosen by whoever embeds the meter
}

// open splits the data. A memory learns of a batch in the step that asks about it, so that this is measured too, unless
// the order is to be the configuration's.
func (m *meter) open() (err error) {
	if m.Factory.Remembers && !m.ordered {
		m.Spec.Order = protocol.Arrival
	}
	m.size = m.Spec.Training.BatchSize
	o := eval.Options{BatchSize: m.size, Threads: m.threads, Order: m.Spec.Order, Shares: m.Spec.Training.Negatives}
	if m.Protocol, err = eval.Open(m.Set, o); err != nil {
		return err
	}
	if m.pass, err = m.Protocol.Train(0); err != nil {
		return err
	}
	m.past = m.Protocol.Split().Train
	m.whole = m.past.Len() / m.size
	m.batches = min(m.batches, m.whole)
	if m.batches < 2 {
		return fmt.Errorf("%s has %d training events, must have at least two batches of %d",
			m.Set.Name, m.past.Len(), m.size)
	}
	return nil
}

// learner takes the steps of a training, one after another.
type learner struct {
	*train.Learner
	dev     device.Device
	step    uint64
	host    [2]float32     // the losses of two steps
	reading device.Reading // of the last one
}

func (m *meter) learner(dev device.Device) (l *learner, err error) {
	guarded := tensor.Guard(func() {
		l = &learner{dev: dev}
		l.Learner, err = m.Run.Learner(dev)
	})
	if guarded != nil {
		err = guarded
	}
	return l, err
}

// plan finds what some steps need on the device, without computing.
func (m *meter) plan(steps func(l *learner) error) (l *learner, bytes int64, err error) {
	dev, taken, own := dry.Like(m.Device)
	if l, err = m.learner(dev); err != nil {
		return nil, 0, err
	}
	fixed := taken.Bytes() - l.Tape.Bytes()
	err = steps(l)
	return l, fixed + l.Tape.Bytes() + own(), err
}

// begin begins a step that is taken part by part.
func (l *learner) begin(b *sample.Batch) {
	l.Reset(b, grad.Key(0, l.step))
	l.step++
}

// whole takes a step as training does: it launches one and waits for the one before.
func (l *learner) whole(b *sample.Batch) {
	l.launch(b)
	before, at := l.reading, l.step%2
	l.reading = device.ReadLater(l.dev, l.host[at:at+1], l.Loss.Data)
	before.Wait()
}

func (l *learner) launch(b *sample.Batch) {
	l.Step(b, grad.Key(0, l.step))
	l.step++
}

// walk hands batches to body: first some to warm up, as step −1, then the measured ones from 0 on.
func (m *meter) walk(ctx context.Context, l *learner, measured int, body func(number int, s *replay.Step)) error {
	walk := func(events event.Span, warm bool) error {
		for s, err := range m.pass.Batches(ctx, l.Model, events) {
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
