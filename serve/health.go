package serve

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dygmamba/dygmamba/eventlog"
)

// Phases of a server.
const (
	phaseServing  = "serving"
	phaseDraining = "draining" // it still answers, and asks load balancers to send no more
)

// health says whether the server takes events.
type health struct {
	server   *Server
	draining atomic.Bool

	mu      sync.Mutex // guards what follows
	refused error      // why the log would take no events when it was last asked
	failed  error      // why it took none when events last came
	at      time.Time  // of failed
	was     error      // what was last written to the log of messages
}

const (
	checkEvery = 2 * time.Second  // between two looks at the event log
	failedFor  = 10 * time.Second // after a failure without another the server is ready again: only events tell
)

// watch asks the log now and then whether it would take events, until ctx ends.
func (h *health) watch(ctx context.Context) {
	for sleep(ctx, checkEvery) {
		h.check(ctx)
	}
}

func (h *health) check(ctx context.Context) {
	log, ok := h.server.options.Log.(eventlog.Checker)
	if !ok {
		h.tell()
		return
	}
	within, cancel := context.WithTimeout(ctx, checkEvery)
	defer cancel()
	err := log.Check(within)
	if ctx.Err() != nil {
		return
	}
	h.mu.Lock()
	h.refused = err
	h.mu.Unlock()
	h.tell()
}

// ingested notes how the log answered to events.
func (h *health) ingested(err error) {
	if err != nil && !errors.Is(err, eventlog.ErrFull) && !errors.Is(err, eventlog.ErrAway) {
		return // of this request, or the engine's tail says so for good
	}
	h.mu.Lock()
	was := h.failed
	h.failed, h.at = err, time.Now()
	h.mu.Unlock()
	if was != nil || err != nil {
		h.tell()
	}
}

// err says why the server takes no events, nil if it does.
func (h *health) err() error {
	if err := h.server.engine.tail.Err(); err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.failed != nil && time.Since(h.at) < failedFor {
		return h.failed
	}
	return h.refused
}

// tell writes a line when the server stops taking events, and when it takes them again.
func (h *health) tell() {
	err := h.err()
	h.mu.Lock()
	was := h.was
	h.was = err
	h.mu.Unlock()
	switch {
	case err != nil && (was == nil || was.Error() != err.Error()):
		h.server.log.Error("not ready: the server takes no events: " + err.Error())
	case err == nil && was != nil:
		h.server.log.Info("ready: the server takes events again")
	}
}

// ready says why the server should get no requests, nil if it should.
func (s *Server) ready() error {
	if s.health.draining.Load() {
		return fail("stopping", "the server is stopping")
	}
	return s.health.err()
}

func (s *Server) phase() string {
	if s.health.draining.Load() {
		return phaseDraining
	}
	return phaseServing
}

func (s *Server) getReady(w http.ResponseWriter, r *http.Request) {
	if err := s.ready(); err != nil {
		writeError(w, err)
		return
	}
	getHealth(w, r)
}

// getHealth says that the process is alive.
func getHealth(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Write([]byte("ok\n"))
}
