package serve

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

// route is one thing that can be asked. Those without a right are open to everybody.
type route struct {
	pattern string // method and path
	right   string
	handle  func(w http.ResponseWriter, r *http.Request) error
	slow    bool // may take longer than the time limit of a request
}

func (s *Server) list() []route {
	return []route{
		{"POST /v1/events", RightIngest, s.postEvents, false},
		{"POST /v1/score", RightQuery, s.postScore, false},
		{"POST /v1/rank", RightQuery, s.postRank, false},
		{"POST /v1/explain", RightQuery, s.postExplain, false},
		{"GET /v1/nodes/{id}/history", RightQuery, s.getHistory, false},
		{"GET /v1/status", RightQuery, s.getStatus, false},
		{"GET /v1/live", RightQuery, s.getLive, false},
		{"POST /v1/admin/reload", RightAdmin, s.postReload, true},
		{"POST /v1/admin/rollback", RightAdmin, s.postRollback, false},
		{"POST /v1/admin/snapshot", RightAdmin, s.postSnapshot, true},
		{"GET /v1/admin/state", RightAdmin, s.getState, true},
		{"GET /metrics", RightQuery, s.getMetrics, false},
		{"GET /v1/openapi.json", "", s.getOpenAPI, false},
		{"GET /{$}", "", s.getPage, false},
	}
}

// routes is the whole server.
func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	for _, r := range s.list() {
		mux.HandleFunc(r.pattern, func(w http.ResponseWriter, q *http.Request) { s.serve(r, w, q) })
	}
	mux.HandleFunc("GET /healthz", s.getHealth)
	mux.HandleFunc("GET /readyz", s.getReady)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, pattern := mux.Handler(r); pattern == "" {
			s.lost(w, r)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// serve answers one request: who asks, is there room, and then the question itself.
func (s *Server) serve(what route, w http.ResponseWriter, r *http.Request) {
	began := time.Now()
	seen := &watched{ResponseWriter: w}
	defer func() {
		if p := recover(); p != nil {
			if p == http.ErrAbortHandler {
				panic(p)
			}
			s.log.Error("this is a bug in dygmamba, please report it", "panic", p, "stack", string(debug.Stack()))
			if seen.status == 0 {
				refuse(seen, fmt.Errorf("this is a bug: %v", p))
			}
		}
		s.metrics.request(what.pattern, seen.status, time.Since(began))
	}()
	h := w.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	if err := s.admit(what, seen, r, began); err != nil {
		refuse(seen, err)
	}
}

func (s *Server) admit(what route, w http.ResponseWriter, r *http.Request, now time.Time) error {
	if err := s.knownHost(r); err != nil {
		return err
	}
	client := ""
	if what.right != "" {
		name, err := s.options.Tokens.allow(r, what.right)
		if err != nil {
			return err
		}
		client = name
	}
	if client == "" {
		client, _, _ = net.SplitHostPort(r.RemoteAddr)
	}
	if err := s.limiter.enter(client, now); err != nil {
		return err
	}
	defer s.limiter.leave()
	if !what.slow {
		within, cancel := s.within(r)
		defer cancel()
		r = within
	}
	return what.handle(w, r)
}

// knownHost keeps pages of others, whose names lead to this machine, from asking a server that needs no tokens.
func (s *Server) knownHost(r *http.Request) error {
	if s.options.Hosts == nil {
		return nil
	}
	host := r.Host
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.ToLower(strings.Trim(host, "[]"))
	if !slices.Contains(s.options.Hosts, host) {
		return &refusal{status: 403, kind: "forbidden", message: fmt.Sprintf("the host %q is not served here, want %s",
			clip(host), strings.Join(s.options.Hosts, " or "))}
	}
	return nil
}

// lost answers what no route does.
func (s *Server) lost(w http.ResponseWriter, r *http.Request) {
	for _, what := range s.list() {
		method, path, _ := strings.Cut(what.pattern, " ")
		if path == r.URL.Path {
			w.Header().Set("Allow", method)
			refuse(w, &refusal{status: 405, kind: "method_not_allowed",
				message: fmt.Sprintf("%s %s, want %s", clip(r.Method), path, method)})
			return
		}
	}
	refuse(w, &refusal{status: 404, kind: "not_found",
		message: fmt.Sprintf("there is no %s %q; /v1/openapi.json lists what there is",
			clip(r.Method), clip(r.URL.Path))})
}

// watched notes the status of an answer.
type watched struct {
	http.ResponseWriter
	status int
}

func (w *watched) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *watched) Write(b []byte) (int, error) {
	if w.status == 0 {
		w.status = 200
	}
	return w.ResponseWriter.Write(b)
}

// Unwrap lets http.ResponseController reach what is below.
func (w *watched) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Reload lets another checkpoint answer, without dropping a question; "" is the path the server began with.
func (s *Server) Reload(ctx context.Context, path string) (any, error) {
	if path == "" {
		path = s.options.Checkpoint
	}
	g, err := s.models.replace(ctx, path, false)
	if err != nil {
		return nil, err
	}
	return g, nil
}
