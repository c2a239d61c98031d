package serve

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/dygmamba/dygmamba"
	"github.com/dygmamba/dygmamba/eventlog"
)

// checked is a log that can be told that it would take nothing.
type checked struct {
	failing
	state error
}

func (l *checked) Check(context.Context) error { return l.state }

// A server whose log takes nothing is not ready, and says so in a line; then it is ready again.
func TestReadiness(t *testing.T) {
	w := newWorld(t, dygmamba.DefaultModel)
	var lines bytes.Buffer
	log := &checked{failing: failing{Memory: eventlog.NewMemory()}}
	s := w.server(t, func(o *Options) { o.Log, o.Logger = log, slog.New(slog.NewTextHandler(&lines, nil)) })
	ready := func(what string, want int, kind string) {
		t.Helper()
		r := call(s.Handler(), "GET", "/readyz", "")
		if r.Code != want || !strings.Contains(r.Body.String(), kind) {
			t.Errorf("%s: %d %s, want %d %s", what, r.Code, r.Body, want, kind)
		}
	}
	ready("at the start", 200, "ok")
	for _, bad := range []error{eventlog.ErrFull, eventlog.ErrAway} {
		kind := errorFor(bad).Kind
		log.state = fmt.Errorf("test: %w", bad)
		s.health.check(t.Context())
		ready("a log that is "+kind, 503, kind)
		if !strings.Contains(lines.String(), "not ready") || !strings.Contains(lines.String(), bad.Error()) {
			t.Errorf("no line says so: %s", &lines)
		}
		log.state = nil
		s.health.check(t.Context())
		ready("a log that is back", 200, "ok")

		log.fail = fmt.Errorf("test: %w", bad) // only events tell
		call(s.Handler(), "POST", "/v1/events", w.body(0, 2))
		ready("a log that refused events", 503, kind)
		s.health.at = time.Now().Add(-2 * failedFor)
		ready("some time later", 200, "ok")
		log.fail = nil
		call(s.Handler(), "POST", "/v1/events", w.body(0, 2))
		ready("a log that takes events again", 200, "ok")
		lines.Reset()
	}
	log.fail = errors.New("odd")
	call(s.Handler(), "POST", "/v1/events", w.body(0, 2))
	ready("a request of its own", 200, "ok")
}

// get is what a URL answers.
func get(t *testing.T, url string) (status int, text string, header http.Header) {
	t.Helper()
	r, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	raw, _ := io.ReadAll(r.Body)
	return r.StatusCode, string(raw), r.Header
}

// While it starts, a server answers what it is doing.
func TestStarting(t *testing.T) {
	port, err := Listen(Listening{Address: "127.0.0.1:0", Health: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	defer port.Close()
	port.Answer()
	port.Phase("reading the event log")
	aside := "http://" + port.health.Addr().String()
	for _, url := range []string{port.URL() + "/readyz", port.URL() + "/v1/status", aside + "/readyz"} {
		if status, text, header := get(t, url); status != 503 || !strings.Contains(text, "reading the event log") ||
			!strings.Contains(text, `"starting"`) || header.Get("Retry-After") == "" {
			t.Errorf("%s: %d %s", url, status, text)
		}
	}
	for _, url := range []string{port.URL(), aside} {
		if status, text, _ := get(t, url+"/healthz"); status != 200 {
			t.Errorf("%s: %d %s", url, status, text)
		}
	}
	phases := 0
	s := newWorld(t, dygmamba.DefaultModel).server(t, func(o *Options) { o.Phase = func(string) { phases++ } })
	if phases < 3 {
		t.Errorf("%d phases", phases)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- s.Serve(ctx, port) }()
	for began := time.Now(); ; time.Sleep(time.Millisecond) {
		if status, text, _ := get(t, aside+"/metrics"); status == 200 && strings.Contains(text, "dygmamba_events") {
			break
		} else if time.Since(began) > 5*time.Second {
			t.Fatalf("%d %s", status, text)
		}
	}
	if status, text, _ := get(t, aside+"/v1/status"); status != 404 {
		t.Errorf("the port for health answers more: %d %s", status, text)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// A server that stops says that it is not ready while it still answers whoever is connected.
func TestDraining(t *testing.T) {
	s := newWorld(t, dygmamba.DefaultModel).server(t, nil)
	port, err := Listen(Listening{Address: "127.0.0.1:0", Linger: 300 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, port) }()
	var waiting []net.Conn
	for range 20 { // connected before the end, they ask after it; half of them have asked before
		c, err := net.Dial("tcp", port.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		waiting = append(waiting, c)
	}
	status := func(c net.Conn, path string) *http.Response {
		t.Helper()
		fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", path)
		r, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatalf("a connection that waits: %v", err)
		}
		io.Copy(io.Discard, r.Body)
		return r
	}
	for _, c := range waiting[:10] {
		status(c, "/v1/status")
	}
	cancel()
	for !s.health.draining.Load() {
		time.Sleep(time.Millisecond)
	}
	if code, text, _ := get(t, port.URL()+"/readyz"); code != 503 || !strings.Contains(text, "stopping") {
		t.Errorf("while it drains: %d %s", code, text)
	}
	for _, c := range waiting {
		if r := status(c, "/v1/status"); r.StatusCode != 200 || !r.Close {
			t.Errorf("%s, closes: %v", r.Status, r.Close)
		}
	}
	began := time.Now()
	if err := <-ended; err != nil || time.Since(began) > 5*time.Second {
		t.Error(err, time.Since(began))
	}
	if err := s.Reload(t.Context(), ""); err == nil || s.models.current.Load().Number != 1 {
		t.Errorf("a reload goes on after that: %v", err)
	}
}
