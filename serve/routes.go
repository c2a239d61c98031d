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
	how     manner
}

// path is the pattern without the method.
func (r route) path() string {
	_, path, _ := strings.Cut(r.pattern, " ")
	return path
}

// manner is what is different about a route.
type manner int

const (
	slow     manner = 1 << iota // has no time limit
	aside                       // does not count as a running request: it answers at once in any case
	lines                       // takes a body of JSON lines too
	bodiless                    // needs no body
	streams                     // reads its body while it is handled, and takes no place
)

func (s *Server) list() []route {
	return []route{
		{"POST /v1/events", rightIngest, s.postEvents, lines},
		{"POST /v1/events/stream", rightIngest, s.postStream, slow | streams},
		{"POST /v1/score", rightQuery, s.postScore, 0},
		{"POST /v1/rank", rightQuery, s.postRank, 0},
		{"POST /v1/explain", rightQuery, s.postExplain, 0},
		{"POST /v1/retractions", rightIngest, s.postRetractions, slow},
		{"DELETE /v1/nodes/{id}", rightAdmin, s.deleteNode, slow},
		{"GET /v1/nodes/{id}/history", rightQuery, s.getHistory, 0},
		{"GET /v1/status", rightQuery, s.getStatus, 0},
		{"GET /v1/surprises", rightQuery, s.getSurprises, 0},
		{"GET /v1/live", rightQuery, s.getLive, 0},
		{"POST /v1/admin/reload", rightAdmin, s.postReload, slow},
		{"POST /v1/admin/rollback", rightAdmin, s.postRollback, bodiless},
		{"POST /v1/admin/snapshot", rightAdmin, s.postSnapshot, slow | bodiless},
		{"GET /v1/admin/backup", rightAdmin, s.getBackup, slow},
		{"GET /v1/admin/state", rightAdmin, s.getState, slow},
		{"GET /metrics", rightMetrics, s.getMetrics, aside},
		{"GET /v1/openapi.json", "", static(typeJSON, openAPI), aside},
		{"GET /{$}", "", static("text/html; charset=utf-8", page), aside},
	}
}

func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	for _, r := range s.list() {
		mux.HandleFunc(r.pattern, func(w http.ResponseWriter, q *http.Request) { s.serve(r, w, q) })
	}
	mux.HandleFunc("GET /healthz", getHealth)
	mux.HandleFunc("GET /readyz", s.getReady)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, pattern := mux.Handler(r); pattern == "" {
			s.notFound(w, r)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// answerTime is how long a client may take to read an answer.
const answerTime = time.Minute

func (s *Server) serve(what route, w http.ResponseWriter, r *http.Request) {
	began, status := time.Now(), http.StatusOK
	h := w.Header()
	id := requestID(r)
	h.Set("X-Request-Id", id)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	r, ended := s.traceRequest(what, r, id)
	doc, err := s.admit(what, w, r, began)
	http.NewResponseController(w).SetWriteDeadline(time.Now().Add(answerTime)) // nobody reads for longer
	if err != nil {
		status = writeError(w, err)
	} else if doc != nil {
		writeJSON(w, status, doc)
	}
	s.metrics.request(what.pattern, status, time.Since(began))
	s.logRequest(what, r, id, status, began, err)
	ended(status, err)
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
		if client, err = s.tokens.Load().allow(r, what.right); err != nil {
			return nil, err
		}
		r = r.WithContext(context.WithValue(r.Context(), tokenKey{}, client))
	}
	if client == "" {
		client, _, _ = net.SplitHostPort(r.RemoteAddr)
	}
	if what.how&streams != 0 {
		if err := s.limiter.pace(client, now); err != nil {
			return nil, err
		}
		leave, err := s.limiter.streams.enter(client, maxStreams)
		if err != nil {
			return nil, err
		}
		defer leave()
		return what.handle(w, r)
	}
	if what.how&aside != 0 {
		http.NewResponseController(w).SetWriteDeadline(now.Add(answerTime))
		return what.handle(w, r)
	}
	if err := s.limiter.pace(client, now); err != nil {
		return nil, err
	}
	if r.Method == http.MethodPost {
		got, err := s.receive(what, w, r, client)
		if err != nil {
			return nil, err
		}
		defer s.limiter.release(len(got.text))
		r.Body = got
	}
	leave, err := s.limiter.requests.enter(client, s.limits().Concurrent) // after the body: a slow one takes no place
	if err != nil {
		return nil, err
	}
	defer leave()
	if what.how&slow == 0 {
		ctx, cancel := context.WithTimeout(r.Context(), s.limits().Timeout)
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
