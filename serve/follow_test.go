package serve

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/predict"
)

// TestVeryLateEvents: events that come very late are followed up beside the state that answers. Every answer is that of
// the state whose sequence it names, min_as_of gets a state that knows them, and soon all answers do.
func TestVeryLateEvents(t *testing.T) {
	w := newWorld(t, "walkmamba")
	s := w.server(t, nil)
	rng := rand.New(rand.NewPCG(5, 6))
	last := w.early.Log.At(w.early.Log.Len() - 1).Time
	end := last + 1e6
	var sent []event.Event
	post := func(n int, at func(i int) event.Time) uint64 {
		var list []string
		for i := range n {
			e := event.Event{Src: event.Node(1 + rng.IntN(6)), Dst: event.Node(1 + rng.IntN(6)), Time: at(i)}
			sent = append(sent, e)
			list = append(list, fmt.Sprintf(`{"src": %d, "dst": %d, "time": %v}`, e.Src, e.Dst, e.Time))
		}
		r := ask[receiptDoc](t, s, "POST", "/v1/events", `{"events": [`+strings.Join(list, ", ")+`]}`)
		return r.Last
	}
	for k := range 5 {
		post(1000, func(i int) event.Time { return last + 1 + float64(1000*k+i) })
	}
	type answer struct {
		asOf   uint64
		scores []scoreDoc
	}
	var answers []answer
	question := func(least uint64) answer {
		doc := ask[scoresDoc](t, s, "POST", "/v1/score", fmt.Sprintf(`{"queries": [{"src": 1, "dst": 3, "time": %v},
			{"src": 5, "dst": 2, "time": %v}], "min_as_of": %d}`, end, end, least))
		return answer{doc.AsOf, doc.Scores}
	}
	answers = append(answers, question(0))
	var mu sync.Mutex
	var group sync.WaitGroup
	stop := make(chan struct{})
	for range 2 {
		group.Go(func() {
			for {
				select {
				case <-stop:
					return
				case <-time.After(5 * time.Millisecond):
				}
				a := question(0)
				mu.Lock()
				answers = append(answers, a)
				mu.Unlock()
			}
		})
	}
	var ends uint64
	for k := range 4 { // later than what a question goes back for
		ends = post(3, func(i int) event.Time { return last + 1 + float64(200+100*k+i) })
		if a := question(ends); a.asOf < ends {
			t.Errorf("as of %d, want at least %d", a.asOf, ends)
		} else {
			mu.Lock()
			answers = append(answers, a)
			mu.Unlock()
		}
	}
	close(stop)
	group.Wait()
	for began := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		if a := question(0); a.asOf == ends {
			break
		} else if time.Since(began) > 20*time.Second {
			t.Fatalf("answers are as of %d still, want %d", a.asOf, ends)
		}
	}
	want := map[uint64][]float32{}
	for _, a := range answers {
		if want[a.asOf] == nil {
			want[a.asOf] = w.offline(t, sent[:a.asOf], end)
		}
		for i, score := range a.scores {
			if score.Logit != want[a.asOf][i] {
				t.Fatalf("as of %d: %v, offline %v", a.asOf, score.Logit, want[a.asOf][i])
			}
		}
	}
	if len(want) < 4 {
		t.Errorf("answers are of %d states only", len(want))
	}
}

// offline is what the library answers to the two questions, with events that came in that order.
func (w *world) offline(t *testing.T, came []event.Event, at event.Time) []float32 {
	t.Helper()
	past := predict.NewPast(w.early)
	if err := past.Add(came, nil); err != nil {
		t.Fatal(err)
	}
	p, err := predict.Load(w.run, predict.Options{Set: w.early, Live: past, Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if err := p.Look(past.Now()); err != nil {
		t.Fatal(err)
	}
	logits, err := p.Score(context.Background(), []predict.Query{{Src: 1, Dst: 3, Time: at},
		{Src: 5, Dst: 2, Time: at}})
	if err != nil {
		t.Fatal(err)
	}
	return logits
}
