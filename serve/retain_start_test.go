package serve

import (
	"strings"
	"testing"
	"time"

	"github.com/dygmamba/dygmamba"
	"github.com/dygmamba/dygmamba/eventlog"
	"github.com/dygmamba/dygmamba/eventlog/embedded"
)

// A server that reads a log of many periods at its start keeps the events of about one of them on the way, and begins
// with the cut that belongs to the latest event: a start fits where the server had room before.
func TestRetentionAtTheStart(t *testing.T) {
	const periods, each = 30, 10_000 // events of a period
	w := newWorld(t, dygmamba.DefaultModel)
	log, err := embedded.Open(t.TempDir(), embedded.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { log.Close() })
	first, period := w.latest(w.early.Log.Len()), 1e6
	var batches []eventlog.Batch
	for n := 0; n < periods*each; {
		b := eventlog.Batch{}
		for range 1000 {
			n++
			e := w.event(w.early.Log.Len() + n%(w.whole.Log.Len()-w.early.Log.Len()))
			e.Time = first + float64(n)*period/each
			b.Events = append(b.Events, e)
		}
		b.Last = uint64(n)
		batches = append(batches, b)
		if _, err := log.Append(t.Context(), "", b.Events); err != nil {
			t.Fatal(err)
		}
	}

	e := newEngine(w.early, log)
	k := newRetainer(&Server{options: Options{Set: w.early}, engine: e}, Retention{Period: period})
	e.due = k.catchUp()
	most := 0
	for _, b := range batches {
		if err := e.apply(b); err != nil {
			t.Fatal(err)
		}
		most = max(most, e.now().Len())
	}
	k.caughtUp()
	want := k.target(first + periods*period)
	if limit := 1<<16 + 1000; most > limit || e.now().epoch.cut != want || e.now().Len() > each*12/10 {
		t.Errorf("%d events were known at a time, want at most %d; the cut is %v, want %v; %d events remain", most,
			limit, e.now().epoch.cut, want, e.now().Len())
	}

	start := func(o *Options) { o.Log, o.Retain = log, Retention{Period: period, manual: true} }
	s := w.server(t, start)
	if got := s.engine.now(); got.epoch.cut != want || got.Last != periods*each || got.Len() != e.now().Len() {
		t.Errorf("the server begins with the cut %v and %d of %d events, want %v",
			got.epoch.cut, got.Len(), got.Last, want)
	}
	ask[scoresDoc](t, s, "POST", "/v1/score", `{"queries": [{"src": 1, "dst": 2}]}`)
}

// A server that drops old events refuses new ones while there is still room for a second state beside the present one,
// and prepares no later cut for which there is none.
func TestRetentionFitsInMemory(t *testing.T) {
	w := newWorld(t, dygmamba.DefaultModel)
	half, n := w.early.Log.Len(), w.whole.Log.Len()
	used := usage{live: 36, limit: 100}
	for _, retain := range []float64{0, 1e12} {
		s := w.server(t, func(o *Options) { o.Retain = Retention{Period: retain, manual: true} })
		s.room.look = func() usage { return used }
		used.live = 36
		s.room.at = time.Time{}
		want := map[bool]int{true: 507, false: 200}
		if r := call(s.Handler(), "POST", "/v1/events", w.body(half, half+1)); r.Code != want[retain > 0] {
			t.Errorf("--retain %v: %d %s", retain, r.Code, r.Body)
		}
		refusal := map[bool]string{true: "_bytes 35", false: "_bytes 70"}[retain > 0]
		if text := call(s.Handler(), "GET", "/metrics", "").Body.String(); !strings.Contains(text, "_refusal"+refusal) {
			t.Errorf("--retain %v: no gauge %s", retain, refusal)
		}
		s.retainer.note(func() { s.retainer.moving = true })
		if r := call(s.Handler(), "POST", "/v1/events", w.body(half, half+1)); r.Code != 200 {
			t.Errorf("while old events are dropped: %d %s", r.Code, r.Body)
		}
		s.retainer.note(func() { s.retainer.moving = false })
		for live, fits := range map[int64]bool{40: true, 48: false} {
			if used.live = live; (s.retainer.fits() == nil) != fits {
				t.Errorf("%d of 100 in use: %v", live, s.retainer.fits())
			}
		}
	}
	used = usage{live: 48, limit: 100}
	s := w.server(t, func(o *Options) {
		o.Retain.Period = (w.latest(n) - w.whole.Log.At(0).Time) / 3
		o.Log = eventlog.NewMemory()
	})
	s.room.look = func() usage { return used }
	before := s.engine.now().epoch
	for i := half; i < n; i++ { // not by a request: it would be refused
		if _, err := s.engine.ingest(t.Context(), "", []eventlog.Event{w.event(i)}); err != nil {
			t.Fatal(err)
		}
	}
	time.Sleep(1500 * time.Millisecond)
	if s.engine.now().epoch != before {
		t.Error("the cut moved though there is no room")
	}
}
