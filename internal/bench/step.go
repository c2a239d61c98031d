package bench

import (
	"cmp"
	"context"
	"runtime"
	"slices"
	"time"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/internal/trace"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/replay"
	"github.com/dygmamba/dygmamba/train"
)

// Step asks how long training steps take, what their parts take, and how far the whole is from its matrix products
// alone.
type Step struct {
	Model   string // its name, for the report
	Factory model.Factory
	Spec    model.Spec
	Set     *dataset.Set
	Device  device.Device
	Threads int  // that gather
	Batches int  // to measure, spread over the training events; fewer where there are fewer
	Brief   bool // only whole steps and memory, not what steps are made of

	OnPhase func(done, total int, name string) // told before each phase; may be nil
}

type stepMeter struct {
	meter
	report StepReport
}

// Run measures. The batches are spread over the training events.
func (s Step) Run(ctx context.Context) (StepReport, error) {
	m := stepMeter{meter: meter{
		Run:     train.Run{Model: s.Model, Factory: s.Factory, Spec: s.Spec, Set: s.Set, Device: s.Device},
		threads: s.Threads, batches: s.Batches,
	}}
	if err := m.open(); err != nil {
		return StepReport{}, err
	}
	chosen := spread(m.batches, m.whole)
	m.events = m.past.Select(func(i int) bool { return chosen[i/m.size] }).All()
	m.report = StepReport{
		Model: s.Model, Preset: s.Spec.Preset, Data: s.Set.Name, Device: s.Device.Name(), Threads: s.Threads,
		BatchSize: m.size, Batches: m.batches,
	}
	phases := []struct {
		name string
		run  func(context.Context) error
	}{{"memory", m.memory}, {"kernels", m.kernels}, {"parts", m.parts}, {"compute", m.compute}, {"steps", m.steps}}
	if s.Brief {
		phases = slices.Delete(phases, 1, len(phases)-1)
	}
	for i, p := range phases {
		if s.OnPhase != nil { // not within phases: showing progress allocates
			s.OnPhase(i, len(phases), p.name)
		}
		if err := p.run(ctx); err != nil {
			return m.report, err
		}
	}
	return m.report, nil
}

// together is how many batches follow each other where many are chosen.
const together = 5

// spread chooses n of this many batches, all over them. Where there are enough, most follow another one, as in
// training: whoever goes through the past with the batches then has few events between them, and medians are of that.
func spread(n, of int) map[int]bool {
	runs := n
	if n >= 2*together {
		runs = (n + together - 1) / together
	}
	chosen := map[int]bool{}
	next := 0
	for i := range runs {
		size := (i+1)*n/runs - i*n/runs
		middle := (2*i + 1) * of / (2 * runs)
		next = min(max(next, middle-size/2), of-(n-len(chosen)))
		for range size {
			chosen[next] = true
			next++
		}
	}
	return chosen
}

func (m *stepMeter) memory(ctx context.Context) error {
	l, peak, err := m.plan(func(l *learner) error {
		return m.walk(ctx, l, 1, func(_ int, s *replay.Step) { l.whole(s.Batch) })
	})
	if err == nil {
		m.report.Params, m.report.Peak = l.Model.Params().Count(), peak
	}
	return err
}

// kernels takes a few steps with every kernel timed, then times their products alone.
func (m *stepMeter) kernels(ctx context.Context) error {
	tracer := trace.New(m.Device)
	l, err := m.learner(tracer)
	if err != nil {
		return err
	}
	const few = 5
	var transfer []float64
	sums := map[string]trace.Kernel{}
	err = m.walk(ctx, l, few, func(number int, s *replay.Step) {
		tracer.Reset()
		l.whole(s.Batch)
		if number < 0 {
			return
		}
		moved := 0.0
		for _, k := range tracer.Kernels() {
			sum := sums[k.Name]
			sums[k.Name] = trace.Kernel{Name: k.Name, Calls: sum.Calls + k.Calls, Time: sum.Time + k.Time}
			if slices.Contains([]string{"Write", "WriteInts", "Read"}, k.Name) {
				moved += k.Time
			}
		}
		transfer = append(transfer, moved)
	})
	l.Close()
	if err != nil {
		return err
	}
	m.report.Transfer = median(transfer)
	for _, k := range sums {
		k.Calls /= len(transfer)
		k.Time /= float64(len(transfer))
		m.report.Kernels = append(m.report.Kernels, k)
	}
	slices.SortFunc(m.report.Kernels, func(a, b trace.Kernel) int { return cmp.Compare(b.Time, a.Time) })
	m.report.GFLOP, m.report.Floor, err = timeProducts(ctx, m.Device, tracer.Products())
	return err
}

// parts times forward, backward and optimizer, each to its end.
func (m *stepMeter) parts(ctx context.Context) error {
	l, err := m.learner(m.Device)
	if err != nil {
		return err
	}
	defer l.Close()
	var times [4][]float64
	timed := func(part int, keep bool, f func()) {
		m.Device.Sync()
		began := time.Now()
		f()
		m.Device.Sync()
		if keep {
			times[part] = append(times[part], milliseconds(time.Since(began)))
		}
	}
	err = m.walk(ctx, l, m.batches, func(number int, s *replay.Step) {
		l.begin(s.Batch)
		timed(0, number >= 0, l.Forward)
		timed(1, number >= 0, l.Backward)
		timed(2, number >= 0, l.Optim.Step)
		if number >= 0 {
			times[3] = append(times[3], milliseconds(s.Gathered))
		}
	})
	r := &m.report
	r.Forward, r.Backward, r.Optimizer = median(times[0]), median(times[1]), median(times[2])
	r.Gather = median(times[3])
	return err
}

// compute finds how long a step's kernels take when nothing else is to be done. A device that replays steps has them
// launched when Replay returns; elsewhere they are the parts.
func (m *stepMeter) compute(ctx context.Context) error {
	if _, ok := m.Device.(device.Replayer); !ok {
		m.report.Compute = m.report.Forward + m.report.Backward + m.report.Optimizer
		return nil
	}
	l, err := m.learner(m.Device)
	if err != nil {
		return err
	}
	defer l.Close()
	var times []float64
	err = m.walk(ctx, l, m.batches, func(number int, s *replay.Step) {
		l.launch(s.Batch)
		launched := time.Now()
		m.Device.Sync()
		if number >= 0 {
			times = append(times, milliseconds(time.Since(launched)))
		}
	})
	m.report.Compute = median(times)
	return err
}

// steps times what a training run sees: from one update to the next.
func (m *stepMeter) steps(ctx context.Context) error {
	l, err := m.learner(m.Device)
	if err != nil {
		return err
	}
	defer l.Close()
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
	m.report.Step = median(times)
	// Whole ones: the runtime has a few of its own.
	m.report.Allocations = int64(after.Mallocs-before.Mallocs) / int64(len(times))
	m.report.Epoch = m.report.Step / 1000 * float64((m.past.Len()+m.report.BatchSize-1)/m.report.BatchSize)
	return nil
}
