package serve

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

// A question about the past of a model with memory leaves the lanes of the present as they are, and is answered as
// before.
func TestPastBesidePresent(t *testing.T) {
	w := newWorld(t, "tgn", "strict")
	s := w.server(t, nil)
	half, n := w.early.Log.Len(), w.whole.Log.Len()
	ask[receiptDoc](t, s, "POST", "/v1/events", w.body(half, n))
	early := w.whole.Log.At(half / 2).Time
	g := s.models.current.Load()
	ask[map[string]any](t, s, "POST", "/v1/rank", `{"src": 1, "k": 2}`)
	ask[scoresDoc](t, s, "POST", "/v1/score", `{"queries": [{"src": 1, "dst": 2}]}`)
	quick, slow := g.quick.predictor.Reached(), g.slow.predictor.Reached()
	if quick <= early || slow <= early {
		t.Fatalf("the lanes are at %v and %v", quick, slow)
	}
	body := fmt.Sprintf(`{"queries": [{"src": 1, "dst": 2, "time": %v}]}`, early)
	past := ask[scoresDoc](t, s, "POST", "/v1/score", body)
	ask[map[string]any](t, s, "POST", "/v1/rank", fmt.Sprintf(`{"src": 1, "k": 2, "time": %v}`, early))
	ask[map[string]any](t, s, "POST", "/v1/explain", body)
	if g.quick.predictor.Reached() < quick || g.slow.predictor.Reached() < slow {
		t.Errorf("a lane of the present went back to %v, %v", g.quick.predictor.Reached(), g.slow.predictor.Reached())
	}
	if g.past.predictor.Reached() > early {
		t.Errorf("the past is at %v", g.past.predictor.Reached())
	}
	fresh := newWorld(t, "tgn", "strict").server(t, nil) // asked before the later events came
	if at := ask[scoresDoc](t, fresh, "POST", "/v1/score", body); at.Scores[0] != past.Scores[0] {
		t.Errorf("%v, before the later events %v", past.Scores[0], at.Scores[0])
	}
}

// What cannot be answered in time is refused at once, the replay goes on meanwhile, and then there is an answer.
func TestPastInTime(t *testing.T) {
	w := newWorld(t, "tgn", "strict")
	s := w.server(t, nil)
	ask[receiptDoc](t, s, "POST", "/v1/events", w.body(w.early.Log.Len(), w.whole.Log.Len()))
	ask[map[string]any](t, s, "POST", "/v1/rank", `{"src": 1, "k": 2}`)
	ask[scoresDoc](t, s, "POST", "/v1/score", `{"queries": [{"src": 1, "dst": 2}]}`)
	at := func(i int) string {
		return fmt.Sprintf(`{"queries": [{"src": 1, "dst": 2, "time": %v}]}`, w.whole.Log.At(i).Time)
	}
	h, err := s.models.historian(s.models.current.Load())
	if err != nil {
		t.Fatal(err)
	}
	h.rate = 0.5 // events a second, as if the machine were slow
	began := time.Now()
	r := call(s.Handler(), "POST", "/v1/score", at(w.early.Log.Len()))
	if r.Code != http.StatusServiceUnavailable || !strings.Contains(r.Body.String(), "replaying") ||
		r.Header().Get("Retry-After") == "1" || time.Since(began) > 5*time.Second {
		t.Errorf("%d %s after %v", r.Code, r.Body, time.Since(began))
	}
	for ; ; time.Sleep(time.Millisecond) {
		if r = call(s.Handler(), "POST", "/v1/score", at(w.early.Log.Len())); r.Code == 200 {
			break
		}
		if time.Since(began) > 20*time.Second {
			t.Fatalf("no answer: %d %s", r.Code, r.Body)
		}
		call(s.Handler(), "POST", "/v1/score", at(3)) // another, which would go back, does not stop it
		if r := call(s.Handler(), "POST", "/v1/rank", `{"src": 1, "k": 2}`); r.Code != 200 {
			t.Fatalf("a ranking meanwhile: %d %s", r.Code, r.Body)
		}
	}
}
