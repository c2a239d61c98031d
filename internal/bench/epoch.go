package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/eval"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/index"
	"github.com/dygmamba/dygmamba/internal/dry"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/protocol"
	"github.com/dygmamba/dygmamba/replay"
	"github.com/dygmamba/dygmamba/sample"
	"github.com/dygmamba/dygmamba/tensor"
	"github.com/dygmamba/dygmamba/train"
)

// Epoch asks how long an epoch takes, measured over consecutive training events at the end of the training part, where
// all state is as large as it gets. It trains from random weights, and then asks about the events that follow.
type Epoch struct {
	Model   string // its name, for the report
	Factory model.Factory
	Spec    model.Spec
	Set     *dataset.Set
	Device  device.Device // not used where only gathering is measured
	Threads int           // that gather
	Events  int           // to measure, at most all but the first few batches; 0: a fifth of the training events
	Limit   time.Duration // ends the measured steps; 0: none
	Test    int           // events after the measured ones that the model is asked about; 0: none
	Gather  bool          // measure gathering alone: nothing is computed or learned

	OnStep func(done, total int, rate float64) // events, and events a second so far; may be nil
}

// EpochReport is what was measured.
type EpochReport struct {
	Model     string  `json:"model"`
	Preset    string  `json:"preset"`
	Data      string  `json:"data"`
	Device    string  `json:"device,omitempty"`
	Threads   int     `json:"threads"`
	BatchSize int     `json:"batch_size"`
	Order     string  `json:"order,omitempty"` // in which a memory learns
	All       int     `json:"training_events"` // of an epoch
	First     int     `json:"first_event"`     // of these, the first that was measured
	Events    int     `json:"events"`          // measured
	Start     float64 `json:"start_s"`         // until the first measured batch: split, index, state, warm-up
	Seconds   float64 `json:"seconds"`
	Rate      float64 `json:"events_per_second"`
	Epoch     float64 `json:"epoch_s"` // all training events at that rate
	// Of a batch, on average: from one update to the next, gathering on its own goroutine, waiting for it.
	Step   float64 `json:"step_ms"`
	Gather float64 `json:"gather_ms"`
	Wait   float64 `json:"wait_ms"`
	// Positions of rows that were filled with neighbours, per second of gathering.
	Edges float64 `json:"sampler_edges_per_second"`
	// Rates of tenths of the measured events, in order.
	Rates []float64 `json:"rates"`
	Loss  float64   `json:"loss,omitempty"` // mean of the measured steps
	// On the events that follow the measured ones.
	Tested *EpochTest `json:"test,omitempty"`
}

// EpochTest is how well the events after the measured ones are told from random negatives, in batches.
type EpochTest struct {
	Events   int     `json:"events"`
	AP       float64 `json:"ap"`
	AUC      float64 `json:"auc"`
	EdgeBank float64 `json:"edgebank_ap"` // of the rule that a pair comes again if it was there before
}

// epochWarmUp is the number of batches before the measured ones: shapes of rows are seen, and steps recorded.
const epochWarmUp = 12

type epochMeter struct {
	meter
	Epoch
	report   EpochReport
	learning *learner
	scorer   *model.DeviceScorer
	under    [2]underWay
	launched int // steps
	settled  int
	losses   float64
	scores   eval.Meter
}

// underWay is a step whose results are to come.
type underWay struct {
	results      []float32 // a logit for each query, then the loss
	positives    int
	logits, loss device.Reading
}

// Run measures.
func (e Epoch) Run(ctx context.Context) (EpochReport, error) {
	began := time.Now()
	m := &epochMeter{Epoch: e, meter: meter{
		Run:     train.Run{Model: e.Model, Factory: e.Factory, Spec: e.Spec, Set: e.Set, Device: e.Device},
		threads: e.Threads, batches: 2, ordered: true,
	}}
	if err := m.open(); err != nil {
		return EpochReport{}, err
	}
	first, last, err := m.block()
	if err != nil {
		return EpochReport{}, err
	}
	m.report = EpochReport{Model: e.Model, Preset: e.Spec.Preset, Data: e.Set.Name, Threads: e.Threads,
		BatchSize: m.size, All: m.past.Len(), First: first}
	if m.Factory.Remembers {
		m.report.Order = string(m.pass.Order)
	}
	dev := e.Device
	if m.report.Device = dev.Name(); e.Gather {
		dev, _, _ = dry.Like(dev)
		m.report.Device = "none"
	}
	if m.learning, err = m.learner(dev); err != nil {
		return m.report, err
	}
	defer m.learning.Close()
	m.scorer = model.NewScorer(m.learning.Model)
	defer m.scorer.Close()
	all := m.past.All()
	if err := m.walk(ctx, all.Slice(first-epochWarmUp*m.size, first), nil); err != nil {
		return m.report, err
	}
	m.report.Start = time.Since(began).Seconds()
	if err := m.measure(ctx, all.Slice(first, last)); err != nil {
		return m.report, err
	}
	if !e.Gather && e.Test > 0 {
		next := first + m.report.Events
		err = m.test(ctx, all.Slice(next, min(next+e.Test, all.Len())))
	}
	return m.report, err
}

// block is the training events to measure: whole batches, with room for some before and for the test behind.
func (m *epochMeter) block() (first, last int, err error) {
	all, size := m.past.Len(), m.size
	want := m.Events
	if want <= 0 {
		want = all / 5
	}
	last = (all - m.Test) / size * size
	first = max(last-max(1, want/size)*size, epochWarmUp*size)
	if first >= last {
		return 0, 0, fmt.Errorf("%s has %d training events, must have %d batches of %d and %d for the test", m.Set.Name,
			all, epochWarmUp+1, size, m.Test)
	}
	return first, last, nil
}

// walk takes training steps on events, or only gathers them, and tells of each when it was launched. As in training, it
// looks at the results of a step when the next one is under way.
func (m *epochMeter) walk(ctx context.Context, events event.Span, told func(s *replay.Step) error) error {
	for s, err := range m.pass.Batches(ctx, m.planner(), events) {
		if err != nil {
			return err
		}
		err := tensor.Guard(func() {
			if !m.Gather {
				m.step(s)
			}
		})
		if err == nil && told != nil {
			err = told(s)
		}
		if err != nil {
			return err
		}
	}
	return tensor.Guard(m.settle)
}

// planner is the model, or what lets its memory learn in strict order.
func (m *epochMeter) planner() replay.Planner {
	if s, ok := m.scorer.Scorer().(model.StatefulScorer); ok && !m.Gather && m.pass.Order == protocol.Strict {
		return s
	}
	return m.learning.Model
}

// step launches a step and then looks at the results of the one before.
func (m *epochMeter) step(s *replay.Step) {
	l, n := m.learning, len(s.Batch.Queries)
	next := &m.under[m.launched%2]
	next.results, next.positives = slices.Grow(next.results[:0], n+1)[:n+1], s.Span.Len()
	l.launch(s.Batch)
	next.logits = device.ReadLater(l.dev, next.results[:n], l.Logits.Data)
	next.loss = device.ReadLater(l.dev, next.results[n:], l.Loss.Data)
	m.settle()
	m.launched++
}

// settle waits for the results of the step under way, if there is one.
func (m *epochMeter) settle() {
	if m.settled == m.launched {
		return
	}
	u := &m.under[m.settled%2]
	m.settled++
	u.logits.Wait()
	u.loss.Wait()
	n := len(u.results) - 1
	m.losses += float64(u.results[n])
	m.scores.Score(u.results[:u.positives], u.results[u.positives:n]) // as training does
}

// errEnough ends the measured steps when the time is up.
var errEnough = errors.New("the time is up")

// measure takes the measured steps.
func (m *epochMeter) measure(ctx context.Context, events event.Span) error {
	r := &m.report
	var gather, wait time.Duration
	done, edges, tenths := 0, 0, 0
	m.losses, m.settled, m.launched = 0, 0, 0
	began := time.Now()
	last := began
	err := m.walk(ctx, events, func(s *replay.Step) error {
		gather, wait = gather+s.Gathered, wait+s.Waited
		edges += filled(s.Batch)
		done += s.Span.Len()
		now := time.Now()
		if done*10/events.Len() > tenths {
			tenths = done * 10 / events.Len()
			r.Rates = append(r.Rates, float64(done-r.Events)/now.Sub(last).Seconds())
			r.Events, last = done, now
		}
		if m.OnStep != nil {
			m.OnStep(done, events.Len(), float64(done)/now.Sub(began).Seconds())
		}
		if m.Limit > 0 && now.Sub(began) > m.Limit {
			return errEnough
		}
		return nil
	})
	if errors.Is(err, errEnough) {
		err = tensor.Guard(m.settle)
	}
	if err != nil {
		return err
	}
	batches := float64((done + m.size - 1) / m.size)
	r.Events, r.Seconds = done, time.Since(began).Seconds()
	r.Rate = float64(done) / r.Seconds
	r.Epoch = float64(r.All) / r.Rate
	r.Step, r.Gather, r.Wait = 1000*r.Seconds/batches, milliseconds(gather)/batches, milliseconds(wait)/batches
	r.Edges = float64(edges) / gather.Seconds()
	r.Loss = m.losses / batches
	return nil
}

// filled is the number of positions that hold a neighbour.
func filled(b *sample.Batch) (n int) {
	for _, c := range b.Calls {
		n += filled(c)
	}
	for i := range b.Rows {
		for _, e := range b.Rows[i].Edge {
			if e != 0 {
				n++
			}
		}
	}
	return n
}

// test asks about events with the weights as they are.
func (m *epochMeter) test(ctx context.Context, events event.Span) error {
	t := EpochTest{}
	scorer, out, seen := m.scorer.Scorer(), []float32(nil), []float32(nil)
	batches := 0.0
	for s, err := range m.pass.Batches(ctx, scorer, events) {
		if err != nil {
			return err
		}
		n := len(s.Batch.Queries)
		out, seen = slices.Grow(out[:0], n)[:n], slices.Grow(seen[:0], n)[:n]
		if err := scorer.Score(s.Batch, out); err != nil {
			return err
		}
		for i, q := range s.Batch.Queries {
			seen[i] = met(m.pass.Past, q)
		}
		ap, auc := m.scores.Score(out[:s.Span.Len()], out[s.Span.Len():])
		rule, _ := m.scores.Score(seen[:s.Span.Len()], seen[s.Span.Len():])
		t.AP, t.AUC, t.EdgeBank = t.AP+ap, t.AUC+auc, t.EdgeBank+rule
		t.Events += s.Span.Len()
		batches++
	}
	t.AP, t.AUC, t.EdgeBank = t.AP/batches, t.AUC/batches, t.EdgeBank/batches
	m.report.Tested = &t
	return nil
}

// met is 1 for a pair that is in the past, otherwise 0. Of the two histories the shorter is looked through.
func met(past index.View, q sample.Query) float32 {
	h, other := past.Before(q.Src, q.Time), q.Dst
	if of := past.Before(q.Dst, q.Time); of.Len() < h.Len() {
		h, other = of, q.Src
	}
	if slices.Contains(h.Node, other) {
		return 1
	}
	return 0
}
