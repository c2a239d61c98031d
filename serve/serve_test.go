package serve

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dygmamba/dygmamba"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/eventlog"
	"github.com/dygmamba/dygmamba/predict"
)

// What is answered after events came in is what a predictor answers that knows them from the beginning.
func TestIngestThenAsk(t *testing.T) {
	w := newWorld(t, dygmamba.DefaultModel)
	s := w.server(t, nil)
	n, all := w.early.Log.Len(), w.whole.Log.Len()
	r := ask[receiptDoc](t, s, "POST", "/v1/events", w.body(n, all))
	if r.Accepted != all-n || r.Last != uint64(all-n) {
		t.Fatalf("accepted %+v, want %d", r, all-n)
	}
	p, err := predict.Load(w.run, predict.Options{Set: w.whole, Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	last := w.whole.Log.At(all - 1)
	now := math.Nextafter(last.Time, math.Inf(1))
	qs := []predict.Query{{Src: 1, Dst: 2, Time: now}, {Src: last.Src, Dst: last.Dst, Time: last.Time},
		{Src: 3, Dst: event.Node(w.whole.NumNodes() + 1), Time: now}}
	want, err := p.Score(t.Context(), qs)
	if err != nil {
		t.Fatal(err)
	}
	got := ask[scoresDoc](t, s, "POST", "/v1/score", fmt.Sprintf(`{"queries": [{"src": 1, "dst": "2"},
		{"src": %d, "dst": %d, "time": %s}, {"dst": 999999, "src": 3, "time": null}]}`,
		last.Src, last.Dst, strconv.FormatFloat(last.Time, 'g', -1, 64)))
	if got.AsOf != uint64(all-n) || len(got.Scores) != 3 {
		t.Fatalf("%+v", got)
	}
	for i, score := range got.Scores {
		if score.Logit != want[i] || score.Probability != p.Probability(want[i]) {
			t.Errorf("query %d: %v, want %v", i, score, want[i])
		}
	}

	ranked := ask[struct {
		Items []struct {
			Dst      int
			Logit    float32
			Meetings int
		}
		AsOf uint64 `json:"as_of"`
	}](t, s, "POST", "/v1/rank", `{"src": 1, "k": 4}`)
	best, err := p.Rank(t.Context(), 1, now, nil, 4)
	if err != nil || len(ranked.Items) != len(best) {
		t.Fatal(ranked, best, err)
	}
	for i, b := range best {
		if r := ranked.Items[i]; r.Dst != int(b.Node) || r.Logit != b.Logit || r.Meetings != b.Meetings {
			t.Errorf("rank %d: %+v, want %+v", i, r, b)
		}
	}
	chosen := ask[struct{ Items []struct{ Dst int } }](t, s, "POST", "/v1/rank",
		`{"src": 1, "k": 4, "candidates": ["7", 8, 7, 123456]}`)
	if len(chosen.Items) != 3 {
		t.Errorf("candidates are ranked as %+v", chosen)
	}

	why := ask[struct {
		Explanations []struct {
			Src, Dst int
			Time     float64
			Logit    float32
			Source   predict.Side
		}
	}](t, s, "POST", "/v1/explain", `{"queries": [{"src": 1, "dst": 2}], "top": 1}`)
	if len(why.Explanations) != 1 || why.Explanations[0].Logit != want[0] || why.Explanations[0].Dst != 2 ||
		why.Explanations[0].Time != now || why.Explanations[0].Source.Name != "1" {
		t.Errorf("explained %+v, want %v", why, want[0])
	}

	history := ask[struct {
		Node, Events int
		Latest       []struct {
			Node int
			Time float64
		}
	}](t, s, "GET", fmt.Sprintf("/v1/nodes/%d/history?limit=1", last.Src), "")
	if history.Node != int(last.Src) || history.Events != p.Events(last.Src, math.Inf(1)) || len(history.Latest) != 1 ||
		history.Latest[0].Time != last.Time {
		t.Errorf("history %+v of %+v", history, last)
	}

	status := ask[statusDoc](t, s, "GET", "/v1/status", "")
	if status.Events != all || *status.LastTime != last.Time || status.Last != uint64(all-n) ||
		status.Model != dygmamba.DefaultModel || !strings.Contains(status.Checkpoint, w.run) ||
		status.Names != "numbers" {
		t.Errorf("status %+v", status)
	}
	for _, path := range []string{"/healthz", "/readyz", "/metrics", "/v1/openapi.json", "/", "/v1/live"} {
		if r := call(s.Handler(), "GET", path, ""); r.Code != 200 || r.Body.Len() == 0 {
			t.Errorf("GET %s: %d", path, r.Code)
		}
	}
}

// One event a line is the same; a key is taken once; late events take their place.
func TestEventsAgainAndLate(t *testing.T) {
	w := newWorld(t, dygmamba.DefaultModel)
	s := w.server(t, nil)
	end := w.early.Log.At(w.early.Log.Len() - 1).Time
	lines := fmt.Sprintf("{\"src\":1,\"dst\":2,\"time\":%v}\n\n{\"src\":\"new\\u0031\",\"dst\":2,\"time\":%v}\n",
		end+10, end+11)
	if r := call(s.Handler(), "POST", "/v1/events", lines, "Content-Type", "application/x-ndjson"); r.Code != 400 {
		t.Errorf("took a name where there are none: %d %s", r.Code, r.Body)
	}
	lines = strings.ReplaceAll(lines, `"new\u0031"`, "4000000")
	for range 2 {
		r := ask[receiptDoc](t, s, "POST", "/v1/events", lines,
			"Content-Type", "application/x-ndjson", "Idempotency-Key", "k1")
		if r.Accepted != 2 || r.Last != 2 {
			t.Fatalf("%+v", r)
		}
	}
	if n := s.engine.now().Len() - w.early.Log.Len(); n != 2 {
		t.Errorf("%d events were taken, want 2", n)
	}
	if id, ok := s.engine.names().find("4000000", true); !ok || int(id) != w.early.NumNodes() {
		t.Errorf("a large number is node %d, want the next one", id)
	}
	before := ask[scoresDoc](t, s, "POST", "/v1/score",
		fmt.Sprintf(`{"queries": [{"src": 1, "dst": 2, "time": %v}, {"src": 1, "dst": 2, "time": %v}]}`, end+5, end+20))
	ask[receiptDoc](t, s, "POST", "/v1/events", fmt.Sprintf(`{"events": [{"src": 1, "dst": 3, "time": %v}]}`, end+6))
	after := ask[scoresDoc](t, s, "POST", "/v1/score",
		fmt.Sprintf(`{"queries": [{"src": 1, "dst": 2, "time": %v}, {"src": 1, "dst": 2, "time": %v}]}`, end+5, end+20))
	if before.Scores[0] != after.Scores[0] || before.Scores[1] == after.Scores[1] {
		t.Errorf("a late event changed %v to %v, want the second alone", before, after)
	}
}

// Every badRequest says where, what was found and what would have been right, and nothing is taken.
func TestRefusals(t *testing.T) {
	w := newWorld(t, dygmamba.DefaultModel)
	s := w.server(t, func(o *Options) {
		o.Limits = Limits{Body: 5000, Batch: 3, Queries: 2, Candidates: 2, Targets: 2, ID: 10}
	})
	long := strings.Repeat("9", 200)
	for _, c := range []struct {
		method, path, body string
		status             int
		part               string
	}{
		{"POST", "/v1/events", `{"events": [{"src": 1, "dst": 2}]}`, 400, "events[0].time: found nothing"},
		{"POST", "/v1/events", `{"events": [{"src": 1, "dst": 2, "time": 1e999}]}`, 400, "finite"},
		{"POST", "/v1/events", `{"events": [{"src": 1, "dst": 2, "time": 1e300}]}`, 400, "events[0].time"},
		{"POST", "/v1/events", `{"events": [{"src": 1, "dst": 2, "time": NaN}]}`, 400, "a time"},
		{"POST", "/v1/events", `{"events": [{"src": 1, "dst": 2, "time": 01}]}`, 400, "a time"},
		{"POST", "/v1/events", `{"events": [{"src": 1, "dst": 2, "tme": 1}]}`, 400, "did you mean time?"},
		{"POST", "/v1/events", `{"events": [{"src": 1, "src": 2, "time": 1}]}`, 400, "each field once"},
		{"POST", "/v1/events", `{"events": [{"src": 1.5, "dst": 2, "time": 1}]}`, 400, "whole number"},
		{"POST", "/v1/events", `{"events": [{"src": "Ada", "dst": 0, "time": 1}]}`, 400, "1 more problem"},
		{"POST", "/v1/events", `{"events": [{"src": 1, "dst": 2, "time": 1, "features": [1]}]}`, 400, "features"},
		{"POST", "/v1/events", `{"events": [{"src": 1, "dst": 2, "time": 1, "label": 1e39}]}`, 400, "label"},
		{"POST", "/v1/events", `{"events": []}`, 400, "at least one"},
		{"POST", "/v1/events", `{}`, 400, "no events"},
		{"POST", "/v1/events", `{"events": [{"src": 1, "dst": 2, "time": 1}]} x`, 400, "the end of the document"},
		{"POST", "/v1/events", ``, 400, "the end"},
		{"POST", "/v1/events", w.body(0, 4), 413, "3 events"},
		{"POST", "/v1/events", `{"events": [` + strings.Repeat(" ", 5000) + `]}`, 413, "5000 bytes"},
		{"POST", "/v1/score", `{"queries": []}`, 400, "at least one"},
		{"POST", "/v1/score", `{"queries": [{"src": 1}]}`, 400, "queries[0].dst"},
		{"POST", "/v1/score", `{"queries": [{"src": ` + long + `, "dst": 1}]}`, 400, "…"},
		{"POST", "/v1/score", `{"queries": [{"src":1,"dst":1},{"src":1,"dst":1},{"src":1,"dst":1}]}`, 413, "2 queries"},
		{"POST", "/v1/score", "{\"queries\": [{\"src\": \"\xff\", \"dst\": 1}]}", 400, "UTF-8"},
		{"POST", "/v1/rank", `{"k": 2}`, 400, "src"},
		{"POST", "/v1/rank", `{"src": 1, "k": 0}`, 400, "from 1 to 2"},
		{"POST", "/v1/rank", `{"src": 1, "candidates": [1, 2, 3]}`, 413, "2 candidates"},
		{"POST", "/v1/rank", `{"src": 1, "candidates": []}`, 400, "at least one"},
		{"POST", "/v1/rank", `{"src": 1}`, 413, "want candidates"},
		{"GET", "/v1/nodes/77/history?limit=x", "", 400, "limit"},
		{"GET", "/v1/nodes/987654/history", "", 404, "987654"},
		{"GET", "/v1/nodes/Ada/history", "", 400, "whole number"},
		{"GET", "/v1/nope", "", 404, "openapi"},
		{"GET", "/v1/score", "", 405, "want POST"},
		{"POST", "/v1/admin/rollback", "{}", 409, "no previous model"},
		{"POST", "/v1/admin/reload", `{"checkpoint": "/nowhere"}`, 409, "stays"},
		{"POST", "/v1/admin/snapshot", "{}", 409, "no store"},
	} {
		r := call(s.Handler(), c.method, c.path, c.body)
		var doc struct {
			Error struct {
				Kind, Message string
				Problems      []problem
			}
		}
		if err := json.Unmarshal(r.Body.Bytes(), &doc); err != nil || r.Code != c.status || doc.Error.Kind == "" ||
			!strings.Contains(doc.Error.Message, c.part) {
			t.Errorf("%s %s %.60s: %d %s, want %d with %q", c.method, c.path, c.body, r.Code, r.Body, c.status, c.part)
		}
		if c.status == 400 && len(doc.Error.Problems) == 0 {
			t.Errorf("%s %.60s: no problems are listed", c.path, c.body)
		}
	}
	lines := strings.Repeat("{\"src\": 1, \"dst\": 2, \"time\": 1}\n", 4)
	if r := call(s.Handler(), "POST", "/v1/events", lines, "Content-Type", typeNDJSON); r.Code != 413 {
		t.Errorf("too many lines: %d %s, want 413", r.Code, r.Body)
	}
	for _, kind := range []string{"", "text/plain", "application/x-www-form-urlencoded"} {
		if r := call(s.Handler(), "POST", "/v1/events", w.body(0, 1), "Content-Type", kind); r.Code != 415 {
			t.Errorf("Content-Type %q: %d", kind, r.Code)
		}
	}
	if r := call(s.Handler(), "POST", "/v1/events", w.body(0, 1), "Idempotency-Key",
		strings.Repeat("k", 300)); r.Code != 400 {
		t.Errorf("took a long key: %d", r.Code)
	}
	if at := s.engine.now(); at.Last != 0 || at.Len() != w.early.Log.Len() || s.limiter.bytes.Load() != 0 ||
		s.limiter.requests.running.Load() != 0 {
		t.Errorf("something of that was taken: %d events, %d bytes", at.Len(), s.limiter.bytes.Load())
	}
}

// What the log cannot take is refused, and nothing is known of it.
func TestLogRefuses(t *testing.T) {
	w := newWorld(t, dygmamba.DefaultModel)
	log := &failing{Memory: eventlog.NewMemory()}
	s := w.server(t, func(o *Options) { o.Log = log })
	for _, err := range []error{eventlog.ErrFull, eventlog.ErrAway, errors.New("odd")} {
		log.fail = fmt.Errorf("test: %w", err)
		r := call(s.Handler(), "POST", "/v1/events", w.body(0, 2))
		if want := errorFor(err).status(); r.Code != want || want == 503 && r.Header().Get("Retry-After") == "" {
			t.Errorf("%v: %d, want %d", err, r.Code, want)
		}
	}
	if s.engine.now().Last != 0 {
		t.Error("it knows of events that nobody keeps")
	}
}

// While events come in and many ask, every answer is that of the state whose sequence it names.
func TestConcurrentAnswersBelongToAState(t *testing.T) {
	w := newWorld(t, dygmamba.DefaultModel)
	s := w.server(t, func(o *Options) { o.Quality = true })
	n, all := w.early.Log.Len(), w.whole.Log.Len()
	at := w.whole.Log.At(all-1).Time + 1
	body := fmt.Sprintf(`{"queries": [{"src": 1, "dst": 7, "time": %v}, {"src": 5, "dst": 3, "time": %v}]}`, at, at)
	type seen struct {
		asOf   uint64
		scores []scoreDoc
	}
	var mu sync.Mutex
	var answers []seen
	var group sync.WaitGroup
	stop := make(chan struct{})
	for range 4 {
		group.Add(1)
		go func() {
			defer group.Done()
			for {
				select {
				case <-stop:
					return
				default:
				}
				doc := ask[scoresDoc](t, s, "POST", "/v1/score", body)
				mu.Lock()
				answers = append(answers, seen{doc.AsOf, doc.Scores})
				mu.Unlock()
			}
		}()
	}
	for i := n; i < all; i += 3 {
		hi := min(i+3, all)
		r := ask[receiptDoc](t, s, "POST", "/v1/events", w.body(i, hi))
		if now := s.engine.now().Last; now < r.Last {
			t.Errorf("%d was acknowledged, %d is known", r.Last, now)
		}
		time.Sleep(time.Millisecond)
	}
	close(stop)
	group.Wait()
	states := map[uint64][]float32{}
	for _, a := range answers {
		want := states[a.asOf]
		if want == nil {
			p, err := predict.Load(w.run, predict.Options{Set: w.whole.First(n + int(a.asOf)), Threads: 1})
			if err != nil {
				t.Fatal(err)
			}
			if want, err = p.Score(t.Context(), []predict.Query{{Src: 1, Dst: 7, Time: at},
				{Src: 5, Dst: 3, Time: at}}); err != nil {
				t.Fatal(err)
			}
			p.Close()
			states[a.asOf] = want
		}
		for i, score := range a.scores {
			if score.Logit != want[i] {
				t.Fatalf("as of %d: %v, want %v", a.asOf, score.Logit, want[i])
			}
		}
	}
	if len(states) < 3 {
		t.Logf("only %d states were asked", len(states))
	}
}

// A token is good for what its line says, and nothing goes without one.
func TestTokensAndHosts(t *testing.T) {
	w := newWorld(t, dygmamba.DefaultModel)
	s := w.server(t, func(o *Options) {
		board := "board query,admin sha256:" + hashOf("fedcba9876543210")
		o.Tokens = tokensOf(t, "# who\n\nshop ingest 0123456789abcdef\n"+board+"\n")
	})
	score := `{"queries": [{"src": 1, "dst": 2}]}`
	for _, c := range []struct {
		path, body, token string
		status            int
	}{
		{"/v1/events", w.body(0, 1), "", 401}, {"/v1/events", w.body(0, 1), "Bearer wrong", 401},
		{"/v1/events", w.body(0, 1), "Bearer 0123456789abcdef", 200},
		{"/v1/events", w.body(0, 1), "Bearer fedcba9876543210", 403},
		{"/v1/events", w.body(0, 1), "0123456789abcdef", 401},
		{"/v1/score", score, "Bearer 0123456789abcdef", 403}, {"/v1/score", score, "Bearer fedcba9876543210", 200},
		{"/v1/admin/rollback", "{}", "Bearer 0123456789abcdef", 403},
		{"/v1/admin/rollback", "{}", "Bearer fedcba9876543210", 409},
	} {
		if r := call(s.Handler(), "POST", c.path, c.body, "Authorization", c.token); r.Code != c.status {
			t.Errorf("%s with %q: %d, want %d", c.path, c.token, r.Code, c.status)
		}
	}
	s.options.Hosts = []string{"localhost", "127.0.0.1"}
	for host, status := range map[string]int{"localhost:80": 200, "127.0.0.1": 200, "evil.example": 403,
		"localhost.evil.example:80": 403} {
		r, _ := http.NewRequest("GET", "http://"+host+"/", nil)
		if got := do(s.Handler(), r); got.Code != status {
			t.Errorf("host %s: %d, want %d", host, got.Code, status)
		}
	}
}

// Those who ask too often, or too many at a time, are told when to come again.
func TestRateAndConcurrency(t *testing.T) {
	w := newWorld(t, dygmamba.DefaultModel)
	s := w.server(t, func(o *Options) { o.Limits = Limits{Rate: 0.5, Burst: 3, Concurrent: 2} })
	codes := map[int]int{}
	for range 5 {
		r := call(s.Handler(), "GET", "/v1/status", "")
		codes[r.Code]++
		if after := r.Header().Get("Retry-After"); r.Code == 429 && after != "2" {
			t.Errorf("Retry-After %q", after)
		}
	}
	if codes[200] != 3 || codes[429] != 2 {
		t.Errorf("%v", codes)
	}
	l := newLimiter(Limits{Rate: 2, Burst: 1, Concurrent: 9})
	now := time.Now()
	if l.spend("a", now) != 0 || l.spend("a", now) != 1 || l.spend("b", now) != 0 ||
		l.spend("a", now.Add(time.Second)) != 0 {
		t.Error("buckets are not filled again, or are shared")
	}
	for i := range 2*maxBuckets + 10 {
		l.spend(strconv.Itoa(i), now)
	}
	if len(l.buckets) > maxBuckets {
		t.Errorf("%d buckets", len(l.buckets))
	}
	s.limiter.requests.running.Store(2)
	s.Configure(Settings{Limits: Limits{Rate: -1, Concurrent: 2}})
	if r := call(s.Handler(), "GET", "/v1/status", ""); r.Code != 503 || r.Header().Get("Retry-After") == "" {
		t.Errorf("a third at a time: %d", r.Code)
	}
	s.limiter.requests.running.Store(0)
}
