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

// handler handles a request. It returns the document to answer with, nil if it has answered itself.
type handler func(w http.ResponseWriter, r *http.Request) (doc any, err error)

// route is one request of the interface. A route without a right needs no token.
type route struct {
	pattern string // method and path
	right   string
	handle  handler
	slow    bool // has no time limit
}

func (s *Server) list() []route {
	return []route{
		{"POST /v1/events", rightIngest, s.postEvents, false},
		{"POST /v1/score", rightQuery, s.postScore, false},
		{"POST /v1/rank", rightQuery, s.postRank, false},
		{"POST /v1/explain", rightQuery, s.postExplain, false},
		{"GET /v1/nodes/{id}/history", rightQuery, s.getHistory, false},
		{"GET /v1/status", rightQuery, s.getStatus, false},
		{"GET /v1/live", rightQuery, s.getLive, false},
		{"POST /v1/admin/reload", rightAdmin, s.postReload, true},
		{"POST /v1/admin/rollback", rightAdmin, s.postRollback, false},
		{"POST /v1/admin/snapshot", rightAdmin, s.postSnapshot, true},
		{"GET /v1/admin/state", rightAdmin, s.getState, true},
		{"GET /metrics", rightQuery, s.getMetrics, false},
		{"GET /v1/openapi.json", "", static(typeJSON, openAPI), false},
		{"GET /{$}", "", static("text/html; charset=utf-8", page), false},
	}
}

// routes is the handler of all requests.
func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	for _, r := range s.list() {
		mux.HandleFunc(r.pattern, func(w http.ResponseWriter, q *http.Request) { s.serve(r, w, q) })
	}
	mux.HandleFunc("GET /healthz", s.getHealth)
	mux.HandleFunc("GET /readyz", s.getReady)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, pattern := mux.Handler(r); pattern == "" {
			s.notFound(w, r)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// serve answers one request.
func (s *Server) serve(what route, w http.ResponseWriter, r *http.Request) {
	began := time.Now()
	seen := &statusWriter{ResponseWriter: w}
	defer func() {
		if p := recover(); p != nil {
			if p == http.ErrAbortHandler {
				panic(p)
			}
			s.log.Error("this is a bug in dygmamba, please report it", "panic", p, "stack", string(debug.Stack()))
			if seen.status == 0 {
				writeError(seen, fmt.Errorf("this is a bug: %v", p))
			}
		}
		s.metrics.request(what.pattern, seen.status, time.Since(began))
	}()
	h := w.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	if err := s.admit(what, seen, r, began); err != nil {
		writeError(seen, err)
	}
}

// admit checks the host, the origin, the token and the limits, and then handles the request.
func (s *Server) admit(what route, w http.ResponseWriter, r *http.Request, now time.Time) error {
	if err := s.knownHost(r); err != nil {
		return err
	}
	if s.sameSite.Check(r) != nil {
		return fail("forbidden", "the request comes from a page of another site (Origin %q)",
			clip(r.Header.Get("Origin")))
	}
	client := ""
	if what.right != "" {
		name, err := s.options.Tokens.allow(r, what.right)
		if err != nil {
			return err
		}
		client, r = name, withToken(r, name)
	}
	if client == "" {
		client, _, _ = net.SplitHostPort(r.RemoteAddr)
	}
	if err := s.limiter.enter(client, now); err != nil {
		return err
	}
	defer s.limiter.leave()
	if !what.slow {
		ctx, cancel := context.WithTimeout(r.Context(), s.options.Limits.Timeout)
		defer cancel()
		r = r.WithContext(ctx)
	}
	doc, err := what.handle(w, r)
	if err == nil && doc != nil {
		writeJSON(w, http.StatusOK, doc)
	}
	return err
}

// knownHost protects a server without tokens from pages whose host name was made to resolve to this machine.
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
		return fail("forbidden", "the host %q is not served here, want %s", clip(host),
			strings.Join(s.options.Hosts, " or "))
	}
	return nil
}

// notFound answers requests that have no route.
func (s *Server) notFound(w http.ResponseWriter, r *http.Request) {
	for _, what := range s.list() {
		method, path, _ := strings.Cut(what.pattern, " ")
		if path == r.URL.Path {
			w.Header().Set("Allow", method)
			writeError(w, fail("method_not_allowed", "%s %s, want %s", clip(r.Method), path, method))
			return
		}
	}
	writeError(w, fail("not_found", "there is no %s %q; /v1/openapi.json lists all requests", clip(r.Method),
		clip(r.URL.Path)))
}

// statusWriter remembers the status of a response.
type statusWriter struct {
	http.ResponseWriter
	status int
}

func (w *statusWriter) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *statusWriter) Write(b []byte) (int, error) {
	if w.status == 0 {
		w.status = 200
	}
	return w.ResponseWriter.Write(b)
}

// Unwrap is for http.ResponseController.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
