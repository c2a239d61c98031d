package serve

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/dygmamba/dygmamba"
)

// line is an event between nodes 1 and 2.
func line(at int) string { return fmt.Sprintf("{\"src\": 1, \"dst\": 2, \"time\": 17000%08d}\n", at) }

// A stream of events goes on for longer than a request may take, and its events are known while it does.
func TestStream(t *testing.T) {
	s, port := listening(t, Listening{}, func(o *Options) { o.Limits.Timeout = streamFlush * 5 / 2 })
	in, out := io.Pipe()
	answered := make(chan *http.Response, 1)
	go func() {
		r, err := http.Post(port.URL()+"/v1/events/stream", typeNDJSON, in)
		if err != nil {
			t.Error(err)
		}
		answered <- r
	}()
	for i := range 3 { // longer than a request may take
		fmt.Fprint(out, line(i))
		for began := time.Now(); s.engine.now().Last != uint64(i+1); time.Sleep(time.Millisecond) {
			if time.Since(began) > 5*time.Second {
				t.Fatal("an event of the stream is not known")
			}
		}
	}
	fmt.Fprint(out, strings.TrimSpace(line(4)))
	out.Close()
	if r := <-answered; r.StatusCode != 200 {
		t.Errorf("%s", r.Status)
	}
	if last := s.engine.now().Last; last != 4 {
		t.Errorf("%d events", last)
	}
	var many strings.Builder
	for i := range streamBatch + 10 {
		many.WriteString(line(10 + i))
	}
	for range 2 { // the second time adds nothing
		doc := ask[receiptDoc](t, s, "POST", "/v1/events/stream", many.String(), "Content-Type", typeNDJSON,
			"Idempotency-Key", "s")
		if doc.Accepted != streamBatch+10 || doc.Last != 4+streamBatch+10 || s.engine.now().Last != doc.Last {
			t.Errorf("%+v", doc)
		}
	}
	r := call(s.Handler(), "POST", "/v1/events/stream", many.String()+"{}\n", "Content-Type", typeNDJSON)
	if text := r.Body.String(); r.Code != 400 || !strings.Contains(text, "1000 events were taken") ||
		!strings.Contains(text, "line 1011") {
		t.Errorf("%d %s", r.Code, text)
	}
	if s.limiter.streams.running.Load() != 0 {
		t.Error("a stream is still open")
	}
}

// Bodies may be compressed; the limits are for what comes out.
func TestGzip(t *testing.T) {
	s := newWorld(t, dygmamba.DefaultModel).server(t, func(o *Options) { o.Limits.Body = 1 << 20 })
	zip := func(text string) string {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		w.Write([]byte(text))
		w.Close()
		return b.String()
	}
	for body, status := range map[string]int{
		zip(line(1)): 200, zip(strings.Repeat(" ", 4<<20)): 413, "no gzip": 400, zip(line(1))[:30]: 400,
	} {
		r := call(s.Handler(), "POST", "/v1/events", body, "Content-Type", typeNDJSON, "Content-Encoding", "gzip")
		if r.Code != status {
			t.Errorf("%d %s, want %d", r.Code, r.Body, status)
		}
	}
	if s.limiter.bytes.Load() != 0 {
		t.Error("bytes are still counted")
	}
}

// Requests have an id, in the answer and in the log; those without a token are logged, but not without bound.
func TestRequestLog(t *testing.T) {
	var lines bytes.Buffer
	s := newWorld(t, dygmamba.DefaultModel).server(t, func(o *Options) {
		o.Logger, o.LogRequests = slog.New(slog.NewJSONHandler(&lines, nil)), true
		o.Tokens = tokensOf(t, "board metrics 0123456789abcdef\n")
	})
	token := "Bearer 0123456789abcdef"
	r := call(s.Handler(), "GET", "/metrics", "", "Authorization", token, "X-Request-Id", "mine")
	if r.Code != 200 || r.Header().Get("X-Request-Id") != "mine" {
		t.Errorf("%d %v", r.Code, r.Header())
	}
	if r := call(s.Handler(), "GET", "/v1/status", "", "Authorization", token); r.Code != 403 {
		t.Errorf("a token for metrics reads the status: %d", r.Code)
	}
	for range 1000 {
		call(s.Handler(), "GET", "/v1/status", "", "Authorization", "Bearer wrong")
	}
	text := lines.String()
	for _, part := range []string{`"request_id":"mine"`, `"seconds":`, `"route":"GET /metrics"`, `"status":401`,
		`"level":"WARN"`} {
		if !strings.Contains(text, part) {
			t.Errorf("no %s in %.2000s", part, text)
		}
	}
	if n := strings.Count(text, `"status":401`); n > 3*maxLines {
		t.Errorf("%d lines", n)
	}
	s.Configure(Settings{Tokens: tokensOf(t, "board query fedcba9876543210\n")})
	for token, status := range map[string]int{"0123456789abcdef": 401, "fedcba9876543210": 200} {
		if r := call(s.Handler(), "GET", "/v1/status", "", "Authorization", "Bearer "+token); r.Code != status {
			t.Errorf("%s after other tokens were read: %d", token, r.Code)
		}
	}
}

// All destinations are ranked, however many there are.
func TestRankManyDestinations(t *testing.T) {
	s := newWorld(t, dygmamba.DefaultModel).server(t, func(o *Options) { o.Limits.Candidates = 3 })
	doc := ask[struct{ Items []any }](t, s, "POST", "/v1/rank", `{"src": 1, "k": 3}`)
	if len(doc.Items) != 3 {
		t.Errorf("%v", doc)
	}
}
