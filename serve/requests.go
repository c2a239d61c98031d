package serve

import (
	"crypto/rand"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// requestID is the id of a request: the client's own, or a random one. The answer and the log have it.
func requestID(r *http.Request) string {
	id := r.Header.Get("X-Request-Id")
	if id == "" || len(id) > 64 || strings.ContainsFunc(id, func(c rune) bool { return c <= ' ' || c > '~' }) {
		return rand.Text()[:16]
	}
	return id
}

// logRequest writes a line about a request: about all of them with Options.LogRequests, otherwise about those that
// failed because of the server and those that were not allowed.
func (s *Server) logRequest(what route, r *http.Request, id string, status int, began time.Time, err error) {
	level, message := slog.LevelDebug, "request"
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		level, message = slog.LevelWarn, "request refused: no token with this right"
	case status >= 500:
		level = slog.LevelWarn
	case s.options.LogRequests:
		level = slog.LevelInfo
	}
	if !s.log.Enabled(r.Context(), level) {
		return
	}
	left := 0
	if level == slog.LevelWarn {
		var ok bool
		if left, ok = s.lines.take(time.Now()); !ok {
			return
		}
	}
	client, _, _ := net.SplitHostPort(r.RemoteAddr)
	attrs := []slog.Attr{slog.String("request_id", id), slog.String("route", what.pattern), slog.Int("status", status),
		slog.Float64("seconds", time.Since(began).Seconds()), slog.String("client", client)}
	if trace := traceID(r.Context()); trace != "" {
		attrs = append(attrs, slog.String("trace_id", trace))
	}
	if err != nil {
		attrs = append(attrs, slog.String("error", err.Error()))
	}
	if left > 0 {
		attrs = append(attrs, slog.Int("left_out", left))
	}
	s.log.LogAttrs(r.Context(), level, message, attrs...)
}

// throttle bounds the lines about requests that fail: many a second would only fill the disk.
type throttle struct {
	mu      sync.Mutex // guards what follows
	second  int64
	written int
	left    int // lines left out since the last that was written
}

const maxLines = 20 // a second

// take says whether a line may be written, and how many were left out before it.
func (t *throttle) take(now time.Time) (left int, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if second := now.Unix(); second != t.second {
		t.second, t.written = second, 0
	}
	if t.written++; t.written > maxLines {
		t.left++
		return 0, false
	}
	left, t.left = t.left, 0
	return left, true
}
