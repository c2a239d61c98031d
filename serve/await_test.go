package serve

import (
	"strings"
	"testing"
	"time"

	"github.com/dygmamba/dygmamba"
)

// A question can wait for an event that another server of the log took.
func TestMinAsOf(t *testing.T) {
	w := newWorld(t, dygmamba.DefaultModel)
	half := w.early.Log.Len()
	s := w.server(t, func(o *Options) { o.Limits.Timeout = 300 * time.Millisecond })
	for path, body := range map[string]string{
		"/v1/score":   `{"queries": [{"src": 1, "dst": 2}], "min_as_of": 2}`,
		"/v1/explain": `{"queries": [{"src": 1, "dst": 2}], "min_as_of": 2}`,
		"/v1/rank":    `{"src": 1, "k": 2, "min_as_of": 2}`,
	} {
		if r := call(s.Handler(), "POST", path, body); r.Code != 504 || !strings.Contains(r.Body.String(), "not_yet") {
			t.Errorf("%s: %d %s", path, r.Code, r.Body)
		}
	}
	answered := make(chan uint64)
	go func() {
		body := `{"min_as_of": 2, "queries": [{"src": 1, "dst": 2}]}`
		answered <- ask[scoresDoc](t, s, "POST", "/v1/score", body).AsOf
	}()
	time.Sleep(10 * time.Millisecond)
	ask[receiptDoc](t, s, "POST", "/v1/events", w.body(half, half+2))
	if asOf := <-answered; asOf != 2 {
		t.Errorf("as of %d", asOf)
	}
	if r := call(s.Handler(), "POST", "/v1/score", `{"queries": [], "min_as_of": -1}`); r.Code != 400 {
		t.Errorf("%d %s", r.Code, r.Body)
	}
}
