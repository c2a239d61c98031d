package predict

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/device/cpu"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/nn"
	"github.com/dygmamba/dygmamba/protocol"
	"github.com/dygmamba/dygmamba/sample"
	"github.com/dygmamba/dygmamba/tensor"
)

// counter is a model whose every answer is how many events it has observed.
type counter struct {
	params *nn.Params
	seen   uint64
	units  []int // that it was told of
	most   int   // nodes for which there is memory; 0: any
}

func (c *counter) Plan() sample.Plan     { return sample.Plan{} }
func (c *counter) UnitPlan() sample.Plan { return sample.Plan{} }
func (c *counter) Params() *nn.Params    { return c.params }
func (c *counter) Head() model.Head      { return c }
func (c *counter) Close()                { c.params.Close() }

func (c *counter) Grow(nodes int) {
	if c.most > 0 && nodes > c.most {
		panic(&device.OutOfMemory{Device: "small", Need: int64(nodes)})
	}
}

func (c *counter) Commit(_ *grad.Tape, b *sample.Batch, _ *model.Embedding) {
	c.seen += uint64(b.Events.Len())
	c.units = append(c.units, b.Events.Len())
}

func (c *counter) Snapshot() []tensor.Named {
	return []tensor.Named{{Name: "seen", Shape: []int{1}, Data: []float32{float32(c.seen)}}}
}

func (c *counter) Restore(state []tensor.Named) error {
	c.seen = 0
	if state != nil {
		c.seen = uint64(state[0].Data[0])
	}
	return nil
}

func (c *counter) Embed(tp *grad.Tape, b *sample.Batch) model.Embedding {
	return model.Embedding{Src: tp.Floats(slices.Repeat([]float32{float32(c.seen)}, len(b.Queries)), len(b.Queries), 1)}
}

func (c *counter) Logit(_ *grad.Tape, e model.Embedding) *tensor.Tensor { return e.Src }

// TestRelive: a model that remembers has observed exactly the whole batches before each query, whatever else is asked,
// and ends where it began.
func TestRelive(t *testing.T) {
	log := event.NewLog(25)
	for i := range 25 {
		if _, err := log.Append(event.Event{Src: 1, Dst: 2, Time: float64(i / 2)}); err != nil {
			t.Fatal(err)
		}
	}
	dev := cpu.New(cpu.Options{Threads: 1})
	defer dev.Close()
	c := &counter{params: nn.NewParams(0), seen: 7}
	c.params.Place(dev)
	p := &Predictor{name: "counter", log: log, spec: model.Spec{Training: model.Standard, Order: protocol.Strict},
		model: c, head: c, scorer: model.NewScorer(c)}
	p.spec.Training.BatchSize = 10
	p.stream = p.newStream(p.scorer.Scorer().(model.StatefulScorer))
	defer p.Close()
	at := func(times ...float64) (qs []Query) {
		for _, t := range times {
			qs = append(qs, Query{Src: 1, Dst: 2, Time: t})
		}
		return qs
	}
	// Batches of ten end at times 4, 9 and 12.
	got, err := p.Score(t.Context(), at(100, 4, 4.5, -1, 9, 9.1, 12, 12.5, 4.5, 0))
	want := []float32{25, 0, 10, 0, 10, 20, 20, 25, 10, 0}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("observed %v, want %v (%v)", got, want, err)
	}
	if want := []int{10, 10, 5}; !slices.Equal(c.units, want) {
		t.Errorf("it learned of units of %v, want each once: %v", c.units, want)
	}
	for range 2 { // also when nothing has changed since
		if got, err := p.Score(t.Context(), at(100)); err != nil || got[0] != 25 {
			t.Errorf("asked again it has observed %v, %v; want 25", got, err)
		}
	}
	if why, err := p.Explain(t.Context(), at(5)); err != nil || why[0].Logit != 10 {
		t.Errorf("explained %v, %v; want 10 events", why, err)
	}

	rows, width, err := p.Embed(t.Context(), at(9.1, 4.5, -1))
	if err != nil || width != 1 || !slices.Equal(rows, []float32{20, 10, 0}) {
		t.Errorf("embedded with %v events known, %v; want 20, 10 and 0", rows, err)
	}
	c.seen = 17 // somewhere in the middle of an evaluation
	if why, err := p.ExplainNow(t.Context(), at(-1, 500)); err != nil || why[0].Logit != 17 || why[1].Logit != 17 ||
		c.seen != 17 {
		t.Errorf("explained %v, %v; want what is remembered now", why, err)
	}
	c.seen = 20

	// New events lengthen the last unit, and the model goes on from where that began.
	for range 2 { // the second time it is there already
		if got, err = p.Score(t.Context(), at(100)); err != nil || got[0] != 25 {
			t.Fatal(got, err)
		}
	}
	c.units = nil
	if err := p.Ingest(slices.Repeat([]event.Event{{Src: 1, Dst: 2, Time: 200}}, 7)); err != nil {
		t.Fatal(err)
	}
	got, err = p.Score(t.Context(), at(100, 201, 200))
	if want := []float32{20, 32, 20}; err != nil || !slices.Equal(got, want) {
		t.Errorf("after new events %v, want %v (%v)", got, want, err)
	}
	if want := []int{10, 2}; !slices.Equal(c.units, want) || log.Len() != 25 {
		t.Errorf("it learned of units of %v, want %v; the set has %d events", c.units, want, log.Len())
	}
	if err := p.Ingest([]event.Event{{Src: 1, Dst: 2, Time: 300}, {Src: 0, Dst: 2, Time: 1}}); err == nil ||
		p.log.Len() != 32 {
		t.Errorf("took an event that is none, %v; there are %d", err, p.log.Len())
	}

	// Nodes for which there is no memory are refused, with all that came with them.
	c.most = 1000
	if err := p.Ingest([]event.Event{{Src: 1, Dst: 2, Time: 300}, {Src: 1, Dst: 1000, Time: 301}}); err == nil ||
		p.log.Len() != 32 {
		t.Errorf("took an event of a node without memory, %v; there are %d", err, p.log.Len())
	}

	// An evaluation goes on from what the checkpoint held, and queries from what they had lived through.
	for _, want := range []uint64{7, 9} {
		evaluation := p.Scorer().(model.StatefulScorer)
		if got, err := evaluation.Snapshot(); err != nil || got[0].Data[0] != float32(want) || c.seen != want {
			t.Errorf("an evaluation finds %v events in memory, want %d (%v)", got, want, err)
		}
		if err := evaluation.Commit(&sample.Batch{Events: log.Span(0, 2)}); err != nil {
			t.Fatal(err)
		}
		if got, err := p.Score(t.Context(), at(201)); err != nil || got[0] != 32 {
			t.Errorf("after an evaluation %v events are known, want 32 (%v)", got, err)
		}
	}

	p.spec.Order = protocol.Arrival
	p.stream = p.newStream(p.stream.memory)
	if got, err = p.Score(t.Context(), at(200.5, 300)); err != nil || got[0] != 32 || got[1] != 32 {
		t.Errorf("in the order of arrival: %v, %v; want all 32 events", got, err)
	}
	if _, err := p.Score(t.Context(), at(300, 200)); !errors.Is(err, ErrTooEarly) {
		t.Errorf("a query at the time of the last event: %v", err)
	}
	p.stream.log = nil
	if _, err := p.Score(t.Context(), at(500)); err == nil {
		t.Error("relived a past without events")
	}
}

// watcher is a counter that looks up, for each event that it is told of, whom the source had met last.
type watcher struct{ *counter }

func (w watcher) UnitPlan() sample.Plan {
	return sample.Plan{Draws: []sample.Draw{{Of: sample.Src, Neighbors: 1, RowLen: 1}}}
}

func (w watcher) Commit(_ *grad.Tape, b *sample.Batch, _ *model.Embedding) {
	for _, n := range b.Rows[0].Node {
		w.seen += uint64(n)
	}
}

// TestLateEvents: what a memory that looks events up knows does not depend on whether it was asked before late ones
// came.
func TestLateEvents(t *testing.T) {
	var answers [2][]float32
	for asked := range answers {
		log := event.NewLog(25)
		for i := range 25 {
			if _, err := log.Append(event.Event{Src: 1, Dst: 2, Time: float64(i)}); err != nil {
				t.Fatal(err)
			}
		}
		dev := cpu.New(cpu.Options{Threads: 1})
		defer dev.Close()
		w := watcher{&counter{params: nn.NewParams(0)}}
		w.params.Place(dev)
		spec := model.Spec{Training: model.Standard, Order: protocol.Strict}
		spec.Training.BatchSize = 10
		p := &Predictor{name: "watcher", log: log, spec: spec, model: w, scorer: model.NewScorer(w)}
		p.stream = p.newStream(p.scorer.Scorer().(model.StatefulScorer))
		defer p.Close()
		for _, late := range []event.Event{{Src: 1, Dst: 9, Time: 3.5}, {Src: 1, Dst: 7, Time: 4.5, Edge: 1}} {
			if asked > 0 {
				if _, err := p.Score(t.Context(), []Query{{Src: 1, Dst: 2, Time: 100}}); err != nil {
					t.Fatal(err)
				}
			}
			if err := p.Ingest([]event.Event{late}); err != nil {
				t.Fatal(err)
			}
		}
		got, err := p.Score(t.Context(), []Query{{Src: 1, Dst: 2, Time: 100}})
		if err != nil {
			t.Fatal(err)
		}
		answers[asked] = got
		if e := p.log.At(26); e.Edge != 27 {
			t.Errorf("a new event has edge %d, want its own, 27", e.Edge)
		}
	}
	if want := float32(24*2 + (9 - 2) + (7 - 2) + 2 + 2); answers[0][0] != want || answers[1][0] != want {
		t.Errorf("it knows %v, and %v when it was asked before late events came, want %v", answers[0], answers[1], want)
	}
}

// TestUnitsBefore: how many units end before a time, of a log that grows by late events too, is what looking at every
// unit says.
func TestUnitsBefore(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 6))
	for _, open := range []bool{false, true} {
		log := event.NewLog(0)
		s := stream{log: log, open: open}
		s.pass.BatchSize = 4
		for i := range 120 {
			e := event.Event{Src: 1, Dst: 2, Time: float64(i / 3)}
			if i > 30 && (i/4%3 == 0 || rng.IntN(3) == 0) { // whole units too
				e.Time -= float64(rng.IntN(30))
			}
			if _, err := log.Append(e); err != nil {
				t.Fatal(err)
			}
			at := float64(rng.IntN(i/3+3)) - 0.5*float64(rng.IntN(2))
			want, times := 0, log.All().Time
			for want < len(times) && slices.Max(times[want:min(want+4, len(times))]) < at {
				want = min(want+4, len(times))
			}
			if open {
				want -= want % 4
			}
			if got := s.unitsBefore(at); got != want {
				t.Fatalf("%d events before %v, want %d of %v", got, at, want, times)
			}
		}
	}
}

// A replay that runs out of time goes on where it was, and one with marks does not begin again for an earlier time.
func TestReplayKeepsProgress(t *testing.T) {
	log := event.NewLog(1000)
	for i := range 1000 {
		if _, err := log.Append(event.Event{Src: 1, Dst: 2, Time: float64(i)}); err != nil {
			t.Fatal(err)
		}
	}
	dev := cpu.New(cpu.Options{Threads: 1})
	defer dev.Close()
	c := &counter{params: nn.NewParams(0)}
	c.params.Place(dev)
	p := &Predictor{name: "counter", log: log, spec: model.Spec{Training: model.Standard, Order: protocol.Strict},
		model: c, head: c, scorer: model.NewScorer(c)}
	p.spec.Training.BatchSize = 1
	p.stream = p.newStream(p.scorer.Scorer().(model.StatefulScorer))
	defer p.Close()
	at := func(n int) Query { return Query{Src: 1, Dst: 2, Time: float64(n)} }
	ended, cancel := context.WithCancel(t.Context())
	told := 0
	for tries := 0; ; tries++ {
		if tries > 1000 {
			t.Fatal("no progress")
		}
		ctx := &limited{Context: ended, looks: 3} // ends soon
		got, err := p.Score(ctx, []Query{at(900)})
		if err == nil {
			if got[0] != 900 {
				t.Errorf("%v events, want 900", got[0])
			}
			break
		}
		told = len(c.units)
	}
	cancel()
	if told == 0 || len(c.units) != 900 {
		t.Errorf("it was told of %d events, want each once: 900", len(c.units))
	}
	p.KeepMarks(1 << 20)
	if events, back := p.Behind(100, 800); events != 800 || !back {
		t.Errorf("%d events, back %v", events, back)
	}
	for _, n := range []int{950, 500} {
		for left := 1; left > 0; {
			var err error
			if left, err = p.Replay(t.Context(), float64(n), 7); err != nil {
				t.Fatal(err)
			}
		}
	}
	c.units = nil
	for _, n := range []int{400, 320, 450, 499} {
		if got, err := p.Score(t.Context(), []Query{at(n)}); err != nil || got[0] != float32(n) {
			t.Errorf("%v events, want %d; %v", got, n, err)
		}
	}
	if len(c.units) > 300 {
		t.Errorf("it was told of %d events, want few: there are marks", len(c.units))
	}
}

// limited is a context that ends after it was looked at some times.
type limited struct {
	context.Context
	looks int
}

func (l *limited) Err() error {
	if l.looks--; l.looks < 0 {
		return context.DeadlineExceeded
	}
	return nil
}
