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

	"github.com/dygmamba/dygmamba/event"
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

func (s *Server) serve(what route, w http.ResponseWriter, r *http.Request) {
	began, status := time.Now(), http.StatusOK
	h := w.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	if doc, err := s.admit(what, w, r, began); err != nil {
		status = writeError(w, err)
	} else if doc != nil {
		writeJSON(w, status, doc)
	}
	s.metrics.request(what.pattern, status, time.Since(began))
}

// admit checks the host, the origin, the token and the limits, and then handles the request.
func (s *Server) admit(what route, w http.ResponseWriter, r *http.Request, now time.Time) (doc any, err error) {
	defer func() {
		p := recover()
		if damage, ok := p.(*event.DamageError); ok {
			s.log.Error("the data cannot be read", "error", damage)
			err = damage
		} else if p == http.ErrAbortHandler {
			panic(p)
		} else if p != nil {
			s.log.Error("this is a bug in dygmamba, please report it", "panic", p, "stack", string(debug.Stack()))
			err = fmt.Errorf("this is a bug: %v", p)
		}
	}()
	if err := s.knownHost(r); err != nil {
		return nil, err
	}
	if s.sameSite.Check(r) != nil {
		return nil, fail("forbidden", "the request comes from a page of another site (Origin %q)",
			clip(r.Header.Get("Origin")))
	}
	client := ""
	if what.right != "" {
		if client, err = s.options.Tokens.allow(r, what.right); err != nil {
			return nil, err
		}
		r = r.WithContext(context.WithValue(r.Context(), tokenKey{}, client))
	}
	if client == "" {
		client, _, _ = net.SplitHostPort(r.RemoteAddr)
	}
	if err := s.limiter.enter(client, now); err != nil {
		return nil, err
	}
	defer s.limiter.running.Add(-1)
	if !what.slow {
		ctx, cancel := context.WithTimeout(r.Context(), s.options.Limits.Timeout)
		defer cancel()
		r = r.WithContext(ctx)
	}
	return what.handle(w, r)
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
