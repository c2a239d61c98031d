package serve

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/dygmamba/dygmamba"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/models"
	"github.com/dygmamba/dygmamba/predict"
	"github.com/dygmamba/dygmamba/protocol"
)

// A server with a model of the task next says what the model says offline, to the bit, whenever events came in: in the
// order of time, or the first ones late.
func TestNextOnlineIsOffline(t *testing.T) {
	for _, name := range append(model.MadeFor(protocol.Next), "dygmamba", "tgn", "walkmamba") {
		t.Run(name, func(t *testing.T) { testNextOnline(t, newNextWorld(t, name), name, 0) })
		if !models.Get(name).Remembers { // a memory learns of units in the order of arrival
			t.Run(name+"/late", func(t *testing.T) { testNextOnline(t, newNextWorld(t, name), name, 20) })
		}
	}
}

// testNextOnline leaves out some events at first, which then come late.
func testNextOnline(t *testing.T, w *world, name string, late int) {
	s := w.server(t, nil)
	first, n := w.early.Log.Len(), w.whole.Log.Len()
	for lo := first + late; lo < n-20; lo += 40 {
		if late > 0 && lo > first+late {
			ask[receiptDoc](t, s, "POST", "/v1/events", w.body(first, first+late))
			late = 0
		}
		ask[receiptDoc](t, s, "POST", "/v1/events", w.body(lo, min(lo+40, n-20)))
		e := w.whole.Log.At(lo) // asks, so that the next events come to a model that was asked before
		ask[any](t, s, "POST", "/v1/score", fmt.Sprintf(`{"queries": [{"src": %d, "dst": %d}]}`, e.Src, e.Dst))
	}
	if late > 0 {
		t.Fatal("the late events did not come: the world has too few events")
	}
	ask[receiptDoc](t, s, "POST", "/v1/events", w.body(n-20, n))
	// the past may go on: a model that remembers waits for whole units of events
	past := predict.NewPast(w.whole)
	offline, err := predict.LoadChooser(w.run, predict.Options{Set: w.whole, Live: past, Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer offline.Close()
	last := w.whole.Log.At(n - 1).Time
	for _, at := range []float64{last + 1, last + 1, w.whole.Log.At(first).Time, last + 1e7} {
		for i := n - 3; i < n; i++ {
			e := w.whole.Log.At(i)
			got := ask[struct {
				Scores []timingDoc
			}](t, s, "POST", "/v1/score",
				fmt.Sprintf(`{"queries": [{"src": %d, "dst": %d, "time": %v}], "within": 100}`, e.Src, e.Dst, at))
			want, err := timingOf(offline, e.Src, e.Dst, at, []float64{100})
			x, y := mustJSON(t, got.Scores[0]), mustJSON(t, want)
			if err != nil || x != y {
				t.Errorf("%s at %v: %s online, %s offline, %v", name, at, x, y, err)
			}
			if want.Rate != nil && (want.Within == nil || want.Within.Expected < want.Within.Probability) {
				t.Errorf("%s at %v: %s", name, at, y)
			}
		}
	}
}

// newNextWorld is a world with a model that learned the task next.
func newNextWorld(t *testing.T, name string) *world {
	if models.Get(name).Task == protocol.Next {
		return newWorld(t, name)
	}
	order := ""
	if models.Get(name).Remembers {
		order = string(protocol.Strict)
	}
	return newWorld(t, name, order, string(protocol.Next))
}

func mustJSON(t *testing.T, x any) string {
	t.Helper()
	b, err := json.Marshal(x)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// Shares of a ranking sum to 1 with those of the others, and surprising events are listed and posted.
func TestNextRankAndSurprises(t *testing.T) {
	posted := make(chan string, 1000)
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		posted <- string(body)
	}))
	defer hook.Close()
	name := model.MadeFor(protocol.Next)[0]
	w := newWorld(t, name)
	s := w.server(t, func(o *Options) { o.Surprises = Surprises{Bits: 0.01, Webhook: hook.URL} })
	e := w.early.Log.At(w.early.Log.Len() - 1)
	r := ask[struct {
		Items       []struct{ timingDoc }
		Others, New float64
	}](t, s, "POST", "/v1/rank", fmt.Sprintf(`{"src": %d, "k": 3, "within": 50}`, e.Src))
	sum := r.Others + r.New
	for _, x := range r.Items {
		sum += x.Share
		if x.Within == nil || x.Rate == nil {
			t.Errorf("an item without a rate or a window: %+v", x)
		}
	}
	if len(r.Items) != 3 || math.Abs(sum-1) > 1e-9 {
		t.Errorf("%d items, shares sum to %v", len(r.Items), sum)
	}
	n := w.early.Log.Len()
	ask[receiptDoc](t, s, "POST", "/v1/events", w.body(n, n+30))
	deadline := time.Now().Add(20 * time.Second)
	var list surprisesDoc
	for list.Judged < 30 && time.Now().Before(deadline) {
		time.Sleep(10 * time.Millisecond)
		list = s.surprises.last(500, 0)
	}
	offline, err := predict.LoadChooser(w.run, predict.Options{Set: w.whole, Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer offline.Close()
	want := 0
	for i := n; i < n+30; i++ {
		x := w.whole.Log.At(i)
		q := []predict.Query{{Src: x.Src, Dst: x.Dst, Time: x.Time}}
		found, err := offline.Surprises(context.Background(), q, nil)
		if err != nil {
			t.Fatal(err)
		}
		if found[0].Bits >= 0.01 {
			want++
		}
	}
	if len(list.Items) != want || list.Missed != 0 || list.Judged != 30 {
		t.Fatalf("%d surprising of %d events, %d missed; want %d", len(list.Items), list.Judged, list.Missed, want)
	}
	for range want {
		select {
		case body := <-posted:
			if !strings.Contains(body, `"reasons":[`) {
				t.Errorf("posted %s", body)
			}
		case <-time.After(10 * time.Second):
			t.Fatal("an event was not posted")
		}
	}
	if w := call(s.Handler(), "POST", "/v1/explain", `{"queries": [{"src": 1, "dst": 2}]}`); w.Code != 400 {
		t.Errorf("explain: %d %s", w.Code, w.Body)
	}
	got := ask[surprisesDoc](t, s, "GET", "/v1/surprises?bits=1000", "")
	if len(got.Items) != 0 || got.Threshold != 1000 {
		t.Errorf("above a thousand bits: %+v", got)
	}
	all := ask[struct {
		Threshold float64
		Items     []json.RawMessage
	}](t, s, "GET", "/v1/surprises?bits=0.001&limit=500", "")
	if len(all.Items) != want || all.Threshold != 0.01 {
		t.Errorf("%d events of at least %v bits, want %d of at least 0.01", len(all.Items), all.Threshold, want)
	}
	links := newWorld(t, dygmamba.DefaultModel).server(t, nil)
	for path, body := range map[string]string{
		"/v1/score": `{"queries": [{"src": 1, "dst": 2}], "within": "1h"}`, "/v1/rank": `{"src": 1, "within": 3}`} {
		w := call(links.Handler(), "POST", path, body)
		if w.Code != 400 || !strings.Contains(w.Body.String(), "task next") {
			t.Errorf("%s to a model of links: %d %s", path, w.Code, w.Body)
		}
	}
}
