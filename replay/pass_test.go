package replay_test

import (
	"context"
	"errors"
	"math"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/index"
	"github.com/dygmamba/dygmamba/internal/streamtest"
	"github.com/dygmamba/dygmamba/protocol"
	"github.com/dygmamba/dygmamba/replay"
	"github.com/dygmamba/dygmamba/sample"
)

var shape = streamtest.Shape{Events: 1050, Sources: 30, Dests: 20, Instants: 700, Repeat: 0.5}

// asks is a planner that keeps account of what it observed.
type asks struct {
	plan     sample.Plan
	observed int
}

func (a *asks) Plan() sample.Plan     { return a.plan }
func (a *asks) UnitPlan() sample.Plan { return sample.Plan{} }

func (a *asks) Commit(b *sample.Batch) error {
	a.observed += b.Events.Len()
	return nil
}

func newAsks(t testing.TB, strategy string) *asks {
	t.Helper()
	p, err := sample.NewPicker(sample.PickerOptions{Strategy: strategy})
	if err != nil {
		t.Fatal(err)
	}
	return &asks{plan: sample.Plan{Draws: sample.Both(sample.Draw{Neighbors: 4, RowLen: 5, Target: sample.TargetLast}),
		Picker: p, PairGaps: 3}}
}

func newPass(t testing.TB, log *event.Log) replay.Pass {
	t.Helper()
	n, err := sample.NewNegatives(log, sample.NegativeOptions{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	return replay.Pass{Past: index.Freeze(log), Negatives: n, BatchSize: 100, Order: protocol.Arrival}
}

// kept is a step after its memory went to another.
type kept struct {
	number   int
	queries  []sample.Query
	positive int
	src, dst []int32
	gaps     []float32
	state    []byte
}

func keep(s *replay.Step) kept {
	b := s.Batch
	return kept{s.Number, slices.Clone(b.Queries), b.Positives, slices.Clone(b.Rows[0].Edge),
		slices.Clone(b.Rows[1].Edge), slices.Clone(b.Gaps), s.State()}
}

func TestBatchesAskBeforeTheyTell(t *testing.T) {
	log := streamtest.Generate(shape, 1)
	by := newAsks(t, sample.Recent)
	pass := newPass(t, log)
	var progress []int
	pass.OnBatch = func(done, total int) { progress = append(progress, done, total) }
	number, at := 0, 0
	for step, err := range pass.Batches(t.Context(), by, log.All()) {
		if err != nil {
			t.Fatal(err)
		}
		if by.observed != at {
			t.Fatalf("batch %d: %d events were observed before it, want %d", number, by.observed, at)
		}
		n := step.Span.Len()
		if want := min(100, log.Len()-at); step.Number != number || n != want || len(step.Batch.Queries) != 2*n {
			t.Fatalf("step %d of %d events with %d queries, want step %d of %d",
				step.Number, n, len(step.Batch.Queries), number, want)
		}
		for i, q := range step.Batch.Queries {
			e := log.At(at + i%n)
			positive := i < n
			if q.Src != e.Src || q.Time != e.Time || positive && q.Dst != e.Dst ||
				(i < step.Batch.Positives) != positive {
				t.Fatalf("batch %d: query %d is %v for event %v", number, i, q, e)
			}
			last := step.Batch.Rows[0].Edge[5*i+3] // the place before the query's own node
			if want := newest(log, q.Src, q.Time); last != want {
				t.Fatalf("batch %d: the newest neighbour of query %v is edge %d, want %d", number, q, last, want)
			}
		}
		number, at = number+1, at+n
	}
	if at != log.Len() || by.observed != log.Len() {
		t.Errorf("%d events came, %d were observed, want %d", at, by.observed, log.Len())
	}
	want := []int{1000, 1050, 1050, 1050}
	if !slices.Equal(progress[len(progress)-4:], want) || len(progress) != 2*number {
		t.Errorf("progress %v", progress)
	}
}

// newest is the edge of the last event of a node strictly before t, found the long way.
func newest(log *event.Log, n event.Node, t event.Time) (edge event.Edge) {
	for i := range log.Len() {
		if e := log.At(i); e.Time < t && (e.Src == n || e.Dst == n) {
			edge = e.Edge
		}
	}
	return edge
}

func TestContinueAfterAnyStep(t *testing.T) {
	log := streamtest.Generate(shape, 1)
	for _, strategy := range []string{sample.Recent, sample.Uniform, sample.TimeAware} {
		by := newAsks(t, strategy)
		var whole []kept
		pass := newPass(t, log)
		for step, err := range pass.Batches(t.Context(), by, log.All()) {
			if err != nil {
				t.Fatal(err)
			}
			whole = append(whole, keep(step))
		}
		for stop := range whole {
			later := newPass(t, log)
			var rest []kept
			done := min(100*(stop+1), log.Len())
			for step, err := range later.Continue(t.Context(), by, log.Span(done, log.Len()), event.Span{},
				whole[stop].state) {
				if err != nil {
					t.Fatal(err)
				}
				k := keep(step)
				k.number += stop + 1
				rest = append(rest, k)
			}
			if want := whole[stop+1:]; len(want) != len(rest) || len(want) > 0 && !reflect.DeepEqual(want, rest) {
				t.Fatalf("%s, continued after step %d: other batches came", strategy, stop)
			}
		}
	}
}

// units is a planner that keeps the units it was told of: where each begins and how long it is.
type units struct {
	asks
	told [][2]int
}

func (u *units) UnitPlan() sample.Plan {
	return sample.Plan{Draws: sample.Both(sample.Draw{Neighbors: 2, RowLen: 2})}
}

func (u *units) Commit(b *sample.Batch) error {
	u.told = append(u.told, [2]int{b.Events.First(), b.Events.Len()})
	u.observed += b.Events.Len()
	return nil
}

// gathered is units that holds what was gathered for each against what is found by itself.
type gathered struct {
	units
	t    *testing.T
	pass replay.Pass
}

func (g *gathered) Commit(b *sample.Batch) error {
	qs := []sample.Query{}
	for i := range b.Events.Len() {
		e := b.Events.At(i)
		qs = append(qs, sample.Query{Src: e.Src, Dst: e.Dst, Time: e.Time})
	}
	want := new(sample.Batch)
	sample.Gather(g.pass.Past, g.UnitPlan(), qs, want)
	if b.Positives != len(qs) || !slices.Equal(b.Queries, qs) || !reflect.DeepEqual(b.Rows, want.Rows) {
		g.t.Errorf("unit of event %d: %d queries, or other histories than by itself", b.Events.First(), len(b.Queries))
	}
	return g.units.Commit(b)
}

// TestUnitsGatheredAhead: units find the same whether they wait for one batch or for many.
func TestUnitsGatheredAhead(t *testing.T) {
	for _, instants := range []int{1, 3, 500} {
		log := streamtest.Generate(streamtest.Shape{Events: 1050, Sources: 30, Dests: 20, Instants: instants}, 1)
		pass := newPass(t, log)
		pass.Order = protocol.Strict
		by := &gathered{units{asks: *newAsks(t, sample.Recent)}, t, pass}
		for _, err := range pass.Batches(t.Context(), by, log.All()) {
			if err != nil {
				t.Fatal(err)
			}
		}
		if by.observed != log.Len() {
			t.Errorf("%d of %d events were told", by.observed, log.Len())
		}
	}
}

// TestStrictOrder: a batch finds in memory the units that end before all of its events, and no others; stopped after
// any step, also after the last, and continued with what waited there, a pass tells the same units at the same
// batches.
func TestStrictOrder(t *testing.T) {
	// 42 events at a time
	log := streamtest.Generate(streamtest.Shape{Events: 1050, Sources: 30, Dests: 20, Instants: 25}, 1)
	times := log.All().Time
	strict := newPass(t, log)
	strict.Order = protocol.Strict
	mayKnow := func(done int) (known int) {
		for known < done && times[known+99] < times[done] {
			known += 100
		}
		return known
	}
	whole := &units{asks: *newAsks(t, sample.Recent)}
	var states [][]byte
	var known []int
	for step, err := range strict.Batches(t.Context(), whole, log.All()) {
		if err != nil {
			t.Fatal(err)
		}
		if want := mayKnow(100 * step.Number); whole.observed != want {
			t.Fatalf("batch %d finds %d events in memory, want %d", step.Number, whole.observed, want)
		}
		states, known = append(states, step.State()), append(known, whole.observed)
	}
	if len(whole.told) != 11 || whole.observed != log.Len() {
		t.Errorf("told of %v, want all units", whole.told)
	}
	waited := false
	for stop := range states {
		later := newPass(t, log)
		later.Order = protocol.Strict
		by := &units{asks: *newAsks(t, sample.Recent)}
		by.observed = known[stop]
		done := min(100*(stop+1), log.Len())
		waiting := log.Span(known[stop], done)
		waited = waited || waiting.Len() > 100
		for step, err := range later.Continue(t.Context(), by, log.Span(done, log.Len()), waiting, states[stop]) {
			if err != nil {
				t.Fatal(err)
			}
			if want := known[stop+1+step.Number]; by.observed != want {
				t.Fatalf("stopped after step %d, step %d finds %d events in memory, want %d",
					stop, step.Number, by.observed, want)
			}
		}
		if want := whole.told[known[stop]/100:]; !slices.Equal(by.told, want) {
			t.Errorf("stopped after step %d, it was told of %v, want %v", stop, by.told, want)
		}
	}
	if !waited {
		t.Error("never more than one unit waited")
	}
}

func TestNegativesGoOnAndNeighborsStartOver(t *testing.T) {
	log := streamtest.Generate(shape, 1)
	by := newAsks(t, sample.Uniform)
	pass := newPass(t, log)
	epoch := func() kept {
		for step, err := range pass.Batches(t.Context(), by, log.Span(0, 900)) {
			if err != nil {
				t.Fatal(err)
			}
			return keep(step)
		}
		panic("no step")
	}
	first, second := epoch(), epoch()
	if slices.Equal(first.queries, second.queries) {
		t.Error("the second epoch drew the negatives of the first")
	}
	if n := 100 * 5; !slices.Equal(first.src[:n], second.src[:n]) {
		t.Error("the second epoch picked other neighbours for the positives than the first")
	}
}

// TestSamplingPicksNeighbors: the pass, not the model, decides whose generator picks neighbours.
func TestSamplingPicksNeighbors(t *testing.T) {
	log := streamtest.Generate(shape, 1)
	for _, strategy := range []string{sample.Uniform, sample.TimeAware} {
		by := newAsks(t, strategy)
		first := func(sampling protocol.Sampling) []int32 {
			pass := newPass(t, log)
			pass.Sampling = sampling
			for step, err := range pass.Batches(t.Context(), by, log.Span(400, 500)) {
				if err != nil {
					t.Fatal(err)
				}
				return keep(step).src
			}
			panic("no step")
		}
		reference, native := first(protocol.Reference), first(protocol.Native)
		if slices.Equal(reference, native) {
			t.Errorf("%s: both generators pick the same", strategy)
		}
		if !slices.Equal(first(""), reference) || !slices.Equal(first(protocol.Native), native) {
			t.Errorf("%s: neighbours are not picked as before", strategy)
		}
	}
}

func TestSeveralNegatives(t *testing.T) {
	log := streamtest.Generate(shape, 1)
	pass := newPass(t, log)
	pass.PerPositive = 3
	for step, err := range pass.Batches(t.Context(), &asks{}, log.Span(0, 250)) {
		if err != nil {
			t.Fatal(err)
		}
		n := step.Span.Len()
		if len(step.Batch.Queries) != 4*n || slices.Equal(step.Batch.Queries[n:2*n], step.Batch.Queries[2*n:3*n]) {
			t.Errorf("step %d has %d queries for %d positives", step.Number, len(step.Batch.Queries), n)
		}
	}
}

func TestOnlyPositives(t *testing.T) {
	log := streamtest.Generate(shape, 1)
	for step, err := range (replay.Pass{}).Batches(t.Context(), &asks{}, log.All()) {
		if err != nil {
			t.Fatal(err)
		}
		if len(step.Batch.Queries) != step.Span.Len() || step.Span.Len() > replay.BatchSize {
			t.Fatalf("%d queries for %d events", len(step.Batch.Queries), step.Span.Len())
		}
	}
}

func TestBatchesRefuseNonsense(t *testing.T) {
	log := streamtest.Generate(shape, 1)
	by := newAsks(t, sample.Recent)
	good := newPass(t, log)
	state := make([]byte, 0)
	for step := range good.Batches(t.Context(), by, log.Span(0, 10)) {
		state = step.State()
	}
	for name, c := range map[string]struct {
		pass  replay.Pass
		state []byte
	}{
		"no past":          {pass: replay.Pass{Negatives: good.Negatives}},
		"batches of −1":    {pass: replay.Pass{Past: good.Past, BatchSize: -1}},
		"−1 negatives":     {pass: replay.Pass{Past: good.Past, PerPositive: -1}},
		"own sampling":     {pass: replay.Pass{Past: good.Past, Sampling: "own"}},
		"cut state":        {good, state[:len(state)-100]},
		"long state":       {good, append(slices.Clone(state), 1)},
		"state of another": {replay.Pass{Past: good.Past}, state},
		"no state":         {good, []byte{}},
	} {
		walk := c.pass.Batches(t.Context(), by, log.All())
		if c.state != nil {
			walk = c.pass.Continue(t.Context(), by, log.All(), event.Span{}, c.state)
		}
		for _, err := range walk {
			if err == nil {
				t.Errorf("%s: was accepted", name)
			}
			break
		}
	}
}

func TestCancelEndsTheLoop(t *testing.T) {
	log := streamtest.Generate(shape, 1)
	synctest.Test(t, func(t *testing.T) { // fails if the gathering goroutine outlives the loop
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		by, batches := newAsks(t, sample.Recent), 0
		var last error
		for _, err := range newPass(t, log).Batches(ctx, by, log.All()) {
			if last = err; err == nil {
				if batches++; batches == 3 {
					cancel()
				}
			}
		}
		if !errors.Is(last, context.Canceled) || batches != 3 || by.observed != 300 {
			t.Errorf("error %v after %d batches, %d events observed", last, batches, by.observed)
		}
	})
}

// endless is an extra that gathers until nobody wants the batch any more.
type endless struct{ begun chan struct{} }

func (e *endless) Name() string            { return "endless" }
func (e *endless) Check(index.View) error  { return nil }
func (e *endless) Bytes([]float64) float64 { return 0 }
func (e *endless) NewPart() sample.Part    { return e }
func (e *endless) Shape() uint64           { return 0 }

func (e *endless) Gather(g *sample.Gathering) {
	close(e.begun)
	for !g.Stopped() {
		time.Sleep(time.Millisecond)
	}
}

// What takes long to gather hears of the end, and the batch that it leaves unfinished is not handed out.
func TestCancelEndsTheGathering(t *testing.T) {
	log := streamtest.Generate(shape, 1)
	synctest.Test(t, func(t *testing.T) { // fails if the gathering goes on
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		e := &endless{make(chan struct{})}
		go func() {
			<-e.begun
			cancel()
		}()
		by, began := newAsks(t, sample.Recent), time.Now()
		by.plan.Extras = []sample.Extra{e}
		for step, err := range newPass(t, log).Batches(ctx, by, log.All()) {
			if step != nil || !errors.Is(err, context.Canceled) {
				t.Errorf("step %v and error %v, want none but that of the context", step, err)
			}
		}
		if took := time.Since(began); took > time.Second { // of the bubble's clock
			t.Errorf("it took %v to stop", took)
		}
	})
}

func TestLeavingTheLoopStopsEverything(t *testing.T) {
	log := streamtest.Generate(shape, 1)
	synctest.Test(t, func(t *testing.T) {
		by := newAsks(t, sample.Recent)
		for step, err := range newPass(t, log).Batches(t.Context(), by, log.All()) {
			if err != nil {
				t.Fatal(err)
			}
			if step.Number == 1 {
				break
			}
		}
		if by.observed != 100 {
			t.Errorf("%d events were observed, want 100: the batch that was left is not done", by.observed)
		}
	})
}

// broken draws fail.
type broken struct{ sample.Negatives }

func (broken) Draw(event.Span, []sample.Query) { panic("broken") }

func TestPanicsComeToTheLoop(t *testing.T) {
	log := streamtest.Generate(shape, 1)
	defer func() {
		if p := recover(); p != "broken" {
			t.Errorf("recovered %v", p)
		}
	}()
	for range (replay.Pass{Negatives: broken{}}).Batches(t.Context(), &asks{}, log.All()) {
		t.Error("a step came")
	}
}

func TestNothingToReplay(t *testing.T) {
	for range (replay.Pass{}).Batches(t.Context(), &asks{}, event.NewLog(0).All()) {
		t.Error("a step came")
	}
}

func BenchmarkBatches(b *testing.B) {
	log := streamtest.Generate(streamtest.MOOC, 1)
	pass := newPass(b, log)
	pass.BatchSize = 200
	by := &asks{plan: sample.Plan{Draws: sample.Both(sample.Draw{Neighbors: 31, RowLen: 33, Target: sample.TargetLast}),
		Counts: sample.PairCounts, PairGaps: 10}}
	lo := log.Len() - 20_000
	for b.Loop() {
		for _, err := range pass.Batches(context.Background(), by, log.Span(lo, log.Len())) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(20_000*float64(b.N)/b.Elapsed().Seconds(), "events/s")
}

// TestHugeHistories refuses rows that no machine can hold, instead of trying.
func TestHugeHistories(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells how much memory is left")
	}
	l := streamtest.Generate(shape, 1)
	for want, tt := range map[string]struct{ neighbors, length, negatives int }{
		"the histories of 400 queries, 1099511627776 positions each, take": {10, 1 << 40, 0},
		"queries, 12 positions each, take":                                 {10, 12, math.MaxInt},
		"queries, 0 positions each, take":                                  {0, 0, math.MaxInt},
	} {
		p := replay.Pass{Past: index.Freeze(l), PerPositive: tt.negatives}
		said := false
		for _, err := range p.Batches(t.Context(),
			&asks{plan: sample.Plan{Draws: sample.Both(sample.Draw{Neighbors: tt.neighbors, RowLen: tt.length})}},
			l.All()) {
			if said = true; err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %q", err, want)
			}
			break
		}
		if !said {
			t.Errorf("nothing was said, want %q", want)
		}
	}
}

// A batch is never larger than the stream: asking for more takes no more memory.
func TestHugeBatches(t *testing.T) {
	l := streamtest.Generate(shape, 1)
	p := replay.Pass{Past: index.Freeze(l), BatchSize: 1 << 40}
	steps := 0
	for step, err := range p.Batches(t.Context(),
		&asks{plan: sample.Plan{Draws: sample.Both(sample.Draw{Neighbors: 10, RowLen: 12})}}, l.All()) {
		if err != nil {
			t.Fatal(err)
		}
		if steps++; step.Span.Len() != l.Len() {
			t.Errorf("a batch has %d events, want all %d", step.Span.Len(), l.Len())
		}
	}
	if steps != 1 {
		t.Errorf("%d batches, want 1", steps)
	}
}
