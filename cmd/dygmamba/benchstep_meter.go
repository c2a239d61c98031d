package main

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/device/dry"
	"github.com/dygmamba/dygmamba/device/trace"
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

// stepMeter measures training steps.
type stepMeter struct {
	factory model.Factory
	spec    model.Spec
	set     *dataset.Set
	dev     device.Device
	threads int
	batches int
	phase   func(done, total int, name string) // progress

	rule   device.Rule
	pass   replay.Pass
	train  *event.Log
	events event.Span // whole batches, spread over the training events
	doc    stepDoc
}

// open splits the data and chooses the batches.
func (m *stepMeter) open() error {
	size := m.spec.Training.BatchSize
	split, err := dataset.NewSplit(m.set.Log, dataset.SplitOptions{Sampling: m.set.Sampling})
	if err != nil {
		return err
	}
	if m.rule, err = optim.Rule(strings.ToLower(m.spec.Training.Optimizer)); err != nil {
		return err
	}
	protocol := eval.NewProtocol(split, eval.Options{Sampling: m.set.Sampling, BatchSize: size, Threads: m.threads})
	if m.pass, err = protocol.Train(0); err != nil {
		return err
	}
	m.train = split.Train
	whole := split.Train.Len() / size
	m.batches = min(m.batches, whole)
	if m.batches < 2 {
		return fmt.Errorf("%s has %d training events, must have at least two batches of %d", m.set.Name, split.Train.Len(), size)
	}
	chosen := map[int]bool{}
	for i := range m.batches {
		chosen[(2*i+1)*whole/(2*m.batches)] = true
	}
	m.events = split.Train.Select(func(i int) bool { return chosen[i/size] }).All()
	m.doc = stepDoc{Data: m.set.Name, Device: m.dev.Name(), BatchSize: size, Batches: m.batches}
	return nil
}

func (m *stepMeter) run(ctx context.Context) (stepDoc, error) {
	phases := []struct {
		name string
		run  func(context.Context) error
	}{{"memory", m.memory}, {"kernels", m.kernels}, {"parts", m.parts}, {"compute", m.compute}, {"steps", m.steps}}
	for i, p := range phases {
		if m.phase != nil { // not within phases: showing progress allocates
			m.phase(i, len(phases), p.name)
		}
		if err := p.run(ctx); err != nil {
			return m.doc, err
		}
	}
	return m.doc, nil
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

func (m *stepMeter) learner(dev device.Device) (l *learner, err error) {
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
func (m *stepMeter) walk(ctx context.Context, l *learner, measured int, body func(number int, s *replay.Step)) error {
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
	size := m.doc.BatchSize
	for range (warmUp + m.batches - 1) / m.batches {
		if err := walk(m.events.Slice(0, min(warmUp, m.batches)*size), true); err != nil {
			return err
		}
	}
	return walk(m.events.Slice(0, min(measured, m.batches)*size), false)
}

// memory finds what training takes on the device, without computing.
func (m *stepMeter) memory(ctx context.Context) error {
	dev, taken, own := dry.Like(m.dev)
	l, err := m.learner(dev)
	if err != nil {
		return err
	}
	fixed := taken.Bytes() - l.tape.Bytes()
	err = m.walk(ctx, l, 1, func(_ int, s *replay.Step) { l.whole(s.Batch) })
	m.doc.Peak = fixed + l.tape.Bytes() + own()
	return err
}

// kernels takes a few steps with every kernel timed, then times their products alone.
func (m *stepMeter) kernels(ctx context.Context) error {
	tracer := trace.New(m.dev, true)
	l, err := m.learner(tracer)
	if err != nil {
		return err
	}
	const few = 5
	var transfer []float64
	sums := map[string]*kernelDoc{}
	err = m.walk(ctx, l, few, func(number int, s *replay.Step) {
		tracer.Reset()
		l.whole(s.Batch)
		if number < 0 {
			return
		}
		moved := 0.0
		for _, k := range tracer.Kernels() {
			if sums[k.Name] == nil {
				sums[k.Name] = &kernelDoc{Name: k.Name}
			}
			sums[k.Name].Calls += k.Calls
			sums[k.Name].Time += milliseconds(k.Time)
			if slices.Contains([]string{"Write", "WriteInts", "Read"}, k.Name) {
				moved += milliseconds(k.Time)
			}
		}
		transfer = append(transfer, moved)
	})
	l.close()
	if err != nil {
		return err
	}
	m.doc.Transfer = median(transfer)
	for _, k := range sums {
		m.doc.Kernels = append(m.doc.Kernels, kernelDoc{k.Name, k.Calls / len(transfer), k.Time / float64(len(transfer))})
	}
	slices.SortFunc(m.doc.Kernels, func(a, b kernelDoc) int { return int(1e6 * (b.Time - a.Time)) })
	m.doc.GFLOP, m.doc.Floor, err = timeProducts(ctx, m.dev, tracer.Products())
	return err
}

// parts times forward, backward and optimizer, each to its end.
func (m *stepMeter) parts(ctx context.Context) error {
	l, err := m.learner(m.dev)
	if err != nil {
		return err
	}
	defer l.close()
	var times [4][]float64
	timed := func(part int, keep bool, f func()) {
		m.dev.Sync()
		began := time.Now()
		f()
		m.dev.Sync()
		if keep {
			times[part] = append(times[part], milliseconds(time.Since(began)))
		}
	}
	err = m.walk(ctx, l, m.batches, func(number int, s *replay.Step) {
		l.reset(s.Batch)
		timed(0, number >= 0, l.forward)
		timed(1, number >= 0, l.backward)
		timed(2, number >= 0, l.opt.Step)
		if number >= 0 {
			times[3] = append(times[3], milliseconds(s.Gathered))
		}
	})
	m.doc.Forward, m.doc.Backward, m.doc.Optimizer, m.doc.Gather = median(times[0]), median(times[1]), median(times[2]), median(times[3])
	return err
}

// compute finds how long a step's kernels take when nothing else is to be done. A device that replays steps has them launched
// when Replay returns; elsewhere they are the parts.
func (m *stepMeter) compute(ctx context.Context) error {
	if _, ok := m.dev.(device.Replayer); !ok {
		m.doc.Compute = m.doc.Forward + m.doc.Backward + m.doc.Optimizer
		return nil
	}
	l, err := m.learner(m.dev)
	if err != nil {
		return err
	}
	defer l.close()
	var times []float64
	err = m.walk(ctx, l, m.batches, func(number int, s *replay.Step) {
		l.launch(s.Batch)
		launched := time.Now()
		m.dev.Sync()
		if number >= 0 {
			times = append(times, milliseconds(time.Since(launched)))
		}
	})
	m.doc.Compute = median(times)
	return err
}

// steps times what a training run sees: from one update to the next.
func (m *stepMeter) steps(ctx context.Context) error {
	l, err := m.learner(m.dev)
	if err != nil {
		return err
	}
	defer l.close()
	times := make([]float64, 0, m.batches)
	var last time.Time
	var before, after runtime.MemStats
	err = m.walk(ctx, l, m.batches, func(number int, s *replay.Step) {
		l.whole(s.Batch)
		switch {
		case number == 0: // the first interval would begin in the warm-up
			runtime.ReadMemStats(&before)
		case number > 0:
			times = append(times, milliseconds(time.Since(last)))
		}
		if number == m.batches-1 {
			runtime.ReadMemStats(&after)
		}
		last = time.Now()
	})
	if err != nil {
		return err
	}
	m.doc.Step = median(times)
	m.doc.Allocations = int64(after.Mallocs-before.Mallocs) / int64(len(times)) // whole ones: the runtime has a few of its own
	m.doc.Epoch = m.doc.Step / 1000 * float64((m.train.Len()+m.doc.BatchSize-1)/m.doc.BatchSize)
	return nil
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
