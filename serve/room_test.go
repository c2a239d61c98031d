package serve

import (
	"strings"
	"testing"
	"time"

	"github.com/dygmamba/dygmamba"
)

// Events for which there is no room are refused with a reason before memory runs out; questions are still answered.
func TestRoom(t *testing.T) {
	w := newWorld(t, dygmamba.DefaultModel)
	half := w.early.Log.Len()
	s := w.server(t, func(o *Options) { o.Limits.Events = half + 5 })
	refused := func(body, reason string) {
		t.Helper()
		r := call(s.Handler(), "POST", "/v1/events", body)
		if r.Code != 507 || !strings.Contains(r.Body.String(), reason) {
			t.Errorf("%d %s, want 507 %s", r.Code, r.Body, reason)
		}
	}
	first := ask[receiptDoc](t, s, "POST", "/v1/events", w.body(half, half+4), "Idempotency-Key", "first")
	refused(w.body(half+4, half+6), "--max-events")
	ask[receiptDoc](t, s, "POST", "/v1/events", w.body(half+4, half+5))
	refused(w.body(half+5, half+6), "--max-events")
	again := func() { // a key that is known answers as it did then, also where nothing more is taken
		t.Helper()
		r := ask[receiptDoc](t, s, "POST", "/v1/events", w.body(half, half+4), "Idempotency-Key", "first")
		if r != first {
			t.Errorf("the key answers %+v, before %+v", r, first)
		}
		other := call(s.Handler(), "POST", "/v1/events", w.body(half, half+3), "Idempotency-Key", "first")
		if other.Code != 422 {
			t.Errorf("another body with the same key: %d %s", other.Code, other.Body)
		}
	}
	again()

	s.Configure(Settings{})
	for _, used := range []usage{{live: 71, limit: 100}, {live: 1, limit: 100, free: 1}} {
		s.room.look = func() usage { return used }
		s.room.at = time.Time{}
		refused(w.body(half+5, half+6), "memory_full")
		again()
		ask[scoresDoc](t, s, "POST", "/v1/score", `{"queries": [{"src": 1, "dst": 2}]}`)
		text := call(s.Handler(), "GET", "/metrics", "").Body.String()
		if !strings.Contains(text, "dygmamba_memory_limit_bytes 100") {
			t.Error("no gauge of the memory limit")
		}
	}
	s.room.look, s.room.at = func() usage { return usage{live: 70, limit: 100} }, time.Time{}
	ask[receiptDoc](t, s, "POST", "/v1/events", w.body(half+5, half+6))
	if u := lookAtMemory(); u.live <= 0 {
		t.Errorf("%+v", u)
	}
}
