package ctan

import (
	"math"
	"os"
	"testing"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/model/modeltest"
	"github.com/dygmamba/dygmamba/protocol"
	"github.com/dygmamba/dygmamba/sample"
	"github.com/dygmamba/dygmamba/train"
)

// onlyCPU skips what holds on the CPU alone.
func onlyCPU(t testing.TB) {
	if name := os.Getenv("DYGMAMBA_TEST_DEVICE"); name != "" && name != "cpu" {
		t.Skip("holds on the CPU alone")
	}
}

// learner trains a model of the factory on the toy graph.
func learner(t testing.TB, threads int, settings ...string) (*train.Learner, *bench) {
	t.Helper()
	spec, err := Factory.Spec("", model.Data{EdgeDim: 8}, settings...)
	if err != nil {
		t.Fatal(err)
	}
	dev, log := modeltest.Device(t, threads), toyLog(t)
	l, err := train.NewLearner(Factory, environment(t, dev, log), spec, protocol.LinkPrediction)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	return l, &bench{Model: l.Model.(*Model), dev: dev, log: log}
}

// all is every weight, and the memory.
func (b *bench) all() []float32 {
	var list []float32
	for _, p := range b.Params().All() {
		list = append(list, b.Params().Read(p)...)
	}
	return append(list, b.Snapshot()[0].Data...)
}

func TestTrainingDoesNotDependOnThreads(t *testing.T) {
	var want []float32
	for _, threads := range []int{1, 2, 3} {
		l, b := learner(t, threads)
		for i := range 5 {
			l.Step(b.ask(t, each*i, each*(i+1)), uint64(i))
		}
		got := b.all()
		if want == nil {
			want = got
		}
		for i := range want {
			if math.Float32bits(want[i]) != math.Float32bits(got[i]) {
				t.Fatalf("number %d after five steps is %v with 1 thread, %v with %d", i, want[i], got[i], threads)
			}
		}
	}
}

// TestLearning: whoever is met again and again is told from whom nobody meets. Epochs begin with an empty memory.
func TestLearning(t *testing.T) {
	l, b := learner(t, 2, "memory_dim=16", "learning_rate=0.01")
	log := event.NewLog(0)
	var queries []sample.Query // all positives, then all negatives
	for i := range int32(8) {
		e := event.Event{Src: 1 + i%4, Dst: 5 + i%2, Time: float64(i)}
		if _, err := log.Append(e); err != nil {
			t.Fatal(err)
		}
		queries = append(queries, sample.Query{Src: e.Src, Dst: e.Dst, Time: e.Time})
	}
	for _, q := range queries[:8] {
		queries = append(queries, sample.Query{Src: q.Src, Dst: 7 + q.Src%2, Time: q.Time})
	}
	batch := &sample.Batch{Positives: 8, Events: log.All()}
	sample.Gather(nil, b.Plan(), queries, batch)
	var losses []float64
	for range 30 {
		if err := b.Restore(nil); err != nil {
			t.Fatal(err)
		}
		for range 4 {
			l.Step(batch, 0)
		}
		losses = append(losses, b.read(l.Loss.Data)[0])
	}
	if last := losses[len(losses)-1]; !(last < 0.1) {
		t.Errorf("losses %v do not fall to 0", losses)
	}
}

func TestStepDoesNotAllocate(t *testing.T) {
	onlyCPU(t)
	l, b := learner(t, 2, "memory_dim=16")
	for i := range 16 { // the graph has all nodes by then
		l.Step(b.ask(t, each*i, each*(i+1)), uint64(i))
	}
	batch := b.ask(t, 40, 45)
	l.Step(batch, 0)
	if n := testing.AllocsPerRun(5, func() { l.Step(batch, 1) }); n != 0 {
		t.Errorf("a training step allocates %v times", n)
	}
	scorer := model.NewScorer(b.Model)
	defer scorer.Close()
	answerer, out := scorer.Scorer().(model.StatefulScorer), make([]float32, len(batch.Queries))
	both := func() {
		if err := answerer.Score(batch, out); err != nil {
			t.Fatal(err)
		}
		if err := answerer.Commit(batch); err != nil {
			t.Fatal(err)
		}
	}
	both()
	both()
	if n := testing.AllocsPerRun(5, both); n != 0 {
		t.Errorf("scoring and remembering allocates %v times", n)
	}
}

// TestWeightDecay: it draws weights to 0, and leaves those alone that no gradient reaches.
func TestWeightDecay(t *testing.T) {
	weights := func(decay string) (value, skip []float32) {
		l, b := learner(t, 2, "memory_dim=16", "optimizer=SGD", "learning_rate=0.1", "weight_decay="+decay)
		l.Step(b.ask(t, 0, each), 0)
		read := func(name string) []float32 { return b.Params().Read(b.Params().Get("gnn.aconv.phi." + name)) }
		return read("lin_value.weight"), read("lin_skip.weight")
	}
	value, skip := weights("0")
	decayed, same := weights("0.5")
	if text(skip) != text(same) {
		t.Error("weights that are never used have moved")
	}
	for i, x := range value { // nobody has neighbours yet, so there is no other gradient
		if want := 0.95 * float64(x); math.Abs(float64(decayed[i])-want) > 1e-6 {
			t.Fatalf("weight %d is %v after a step, want %v", i, decayed[i], want)
		}
	}
}
