package predict

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/index"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/model/modeltest"
	"github.com/dygmamba/dygmamba/models"
	"github.com/dygmamba/dygmamba/protocol"
	"github.com/dygmamba/dygmamba/replay"
	"github.com/dygmamba/dygmamba/sample"
)

// TestOnlineIsOffline: every model answers a predictor's queries, in whatever order they come and whether events were
// there from the beginning or came in later, as a replay of the whole stream does that asks each of them at its time.
func TestOnlineIsOffline(t *testing.T) {
	for _, name := range models.Names(true) {
		factory := models.Get(name)
		orders := protocol.Orders()
		if !factory.Remembers {
			orders = []protocol.Order{""}
		}
		for _, order := range orders {
			t.Run(name+"/"+string(order), func(t *testing.T) {
				spec, set := modeltest.Small(t, name, factory)
				spec.Order, spec.Training.Epochs = order, 1
				log := set.Log
				dir := trainSmall(t, name, spec, set)
				online := func() *Predictor {
					p, err := Load(dir, Options{Set: set, Threads: 2})
					if err != nil {
						t.Fatal(err)
					}
					t.Cleanup(func() { p.Close() })
					return p
				}
				whole := online()
				qs, want := offline(t, whole, log, order)
				check(t, "at once", whole, qs, want)

				var late []event.Event
				for i := log.Len() * 2 / 3; i < log.Len(); i++ {
					late = append(late, log.At(i))
				}
				set.Log = log.Select(func(i int) bool { return i < log.Len()-len(late) })
				step := online()
				for part := range slices.Chunk(late, 13) {
					if err := step.Ingest(part); err != nil {
						t.Fatal(err)
					}
					after := []Query{{Src: 1, Dst: 2, Time: part[len(part)-1].Time + 0.5}}
					if _, err := step.Score(t.Context(), after); err != nil {
						t.Fatal(err)
					}
				}
				check(t, "event by event", step, qs, want)
			})
		}
	}
}

func check(t *testing.T, how string, p *Predictor, qs []Query, want []float32) {
	t.Helper()
	got, err := p.Score(t.Context(), qs)
	if err != nil {
		t.Fatal(err)
	}
	why, err := p.Explain(t.Context(), qs[:3])
	if err != nil {
		t.Fatal(err)
	}
	for i := range qs {
		if math.Float32bits(got[i]) != math.Float32bits(want[i]) {
			t.Fatalf("%s: query %v is answered with %v, offline with %v", how, qs[i], got[i], want[i])
		}
		if i < len(why) && why[i].Logit != want[i] {
			t.Fatalf("%s: query %v is explained with %v, answered with %v", how, qs[i], why[i].Logit, want[i])
		}
	}
}

// offline replays a log and asks queries at the beginning of each batch, in strict order, or after the last. They come
// back shuffled.
func offline(t *testing.T, p *Predictor, log *event.Log, order protocol.Order) (qs []Query, answers []float32) {
	t.Helper()
	past := index.Freeze(log)
	rng := rand.New(rand.NewPCG(1, 1))
	scorer := p.Scorer()
	ask := func(at event.Time) {
		var some []Query
		for range 5 {
			node := func() event.Node { return 1 + event.Node(rng.IntN(log.NumNodes()+3)) }
			some = append(some, Query{Src: node(), Dst: node(), Time: at})
		}
		var b sample.Batch
		b.Positives = len(some)
		sample.Gather(past, scorer.Plan(), some, &b)
		out := make([]float32, len(some))
		if err := scorer.Score(&b, out); err != nil {
			t.Fatal(err)
		}
		qs, answers = append(qs, some...), append(answers, out...)
	}
	if m, remembers := scorer.(model.StatefulScorer); remembers {
		if err := m.Restore(nil); err != nil {
			t.Fatal(err)
		}
	}
	pass := replay.Pass{Past: past, BatchSize: p.spec.Training.BatchSize, Order: order}
	for step, err := range pass.Batches(t.Context(), scorer, log.All()) {
		if err != nil {
			t.Fatal(err)
		}
		if order != protocol.Arrival {
			ask(slices.Min(step.Span.Time))
		}
	}
	ask(log.At(log.Len()-1).Time + 1)
	rng.Shuffle(len(qs), func(i, j int) {
		qs[i], qs[j] = qs[j], qs[i]
		answers[i], answers[j] = answers[j], answers[i]
	})
	return qs, answers
}
