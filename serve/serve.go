// Package serve answers: what happens next? It takes events while they happen, keeps them in a log, and answers queries
// with a trained model.
//
// An event goes from a request (events.go, wire.go) into the log, and from the log to the engine (engine.go), which
// applies it to the past. A query goes from a request (ask.go) to a lane (lane.go), a goroutine that owns a predictor
// and asks it at one state of the past. Sampling and scoring are the library's own: the answers are those of an offline
// evaluation.
package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/eventlog"
	"github.com/dygmamba/dygmamba/predict"
	"go.opentelemetry.io/otel/trace"
)

// Options say what a server serves. Set, Log and Checkpoint are required.
type Options struct {
	Set        *dataset.Set
	Log        eventlog.Log
	Durable    bool              // the log outlives the process
	Applied    func(last uint64) // called when the server has applied the log's events up to last; may be nil
	Checkpoint string            // a run directory or a checkpoint file
	Models     []string          // directories with other checkpoints that clients may load
	Load       predict.Options   // how checkpoints are opened; Set and Live are filled in

	Limits Limits
	Tokens *Tokens  // nil: every request is allowed
	Hosts  []string // Host headers that are answered; nil: any

	Snapshots Snapshots
	Retain    Retention
	Learn     Learning
	Surprises Surprises
	MaxAhead  float64 // how far the time of an event may be ahead of the clock, in the unit of times; 0: any
	Quality   bool    // measure the model on new events, for the page and for metrics

	// Tracing makes the spans of requests; nil: requests are not traced.
	Tracing trace.TracerProvider

	LogRequests bool // write a line about every request, not only about those that fail

	Phase  func(what string) // told what New is doing, for those who wait; may be nil
	Logger *slog.Logger      // nil: silent
}

// Server is a running server without its listener.
type Server struct {
	options     Options
	log         *slog.Logger
	engine      *engine
	models      *modelSlots
	metrics     *metrics
	quality     *quality
	surprises   *surprises
	learner     *learner
	snapshotter *snapshotter
	retainer    *retainer
	remover     *remover
	limiter     *limiter
	health      *health
	lines       throttle
	room        *room
	handler     http.Handler
	started     time.Time
	begun       uint64      // the last sequence then
	watching    atomic.Bool // new events are judged: the first model is there
	sameSite    *http.CrossOriginProtection

	tokens atomic.Pointer[Tokens] // nil: every request is allowed

	leaving context.Context // ends when a server that stops has drained: nothing long goes on then
	leave   func()

	stop  func()         // ends all goroutines
	done  sync.WaitGroup // of them
	close func() error
}

// New restores the snapshot if there is one, opens the model and follows the log. It returns when the server knows all
// events that the log has by now. The caller closes it.
func New(ctx context.Context, o Options) (_ *Server, err error) {
	if o.Set == nil || o.Log == nil || o.Checkpoint == "" {
		return nil, errors.New("serve: a data set, an event log and a checkpoint are needed")
	}
	o.Limits = o.Limits.orDefault()
	s := &Server{options: o, started: time.Now(), sameSite: http.NewCrossOriginProtection()}
	s.close = sync.OnceValue(s.end)
	s.leaving, s.leave = context.WithCancel(context.Background())
	s.log = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	s.metrics = newMetrics(s)
	s.limiter = newLimiter(o.Limits)
	s.tokens.Store(o.Tokens)
	s.health = &health{server: s}
	s.room = newRoom(s)
	s.engine = newEngine(o.Set, o.Log)
	s.snapshotter = newSnapshotter(s, o.Snapshots)
	s.retainer = newRetainer(s, o.Retain)
	s.remover = newRemover(s)
	s.quality = newQuality(s)
	s.surprises = newSurprises(s, o.Surprises)
	s.tell("reading the snapshot")
	if err := s.snapshotter.checkBase(); err != nil {
		return nil, err
	}
	kept, err := s.snapshotter.restore(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.snapshotter.noteBase(ctx); err != nil {
		return nil, err
	}
	background, stop := context.WithCancel(context.Background())
	s.stop = stop
	defer func() {
		if err != nil {
			s.halt()
		}
	}()
	s.engine.applied = s.applied
	s.tell("reading the event log")
	cut := s.engine.now().epoch.cut
	if err := s.follow(ctx, background); err != nil {
		return nil, err
	}
	if s.engine.now().epoch.cut != cut {
		kept = nil // the memory is of other events
	}
	s.tell("loading the model")
	s.begun = s.engine.now().Last
	if s.learner, err = newLearner(s, o.Learn); err != nil {
		return nil, err
	}
	path, learned := s.learner.resume()
	if s.models, err = newModelSlots(ctx, s, path, learned, kept); err != nil {
		return nil, err
	}
	if s.models.chooses() && o.Learn.On {
		s.models.close()
		return nil, errors.New("learn from new events: a model of the task next does not learn while it serves")
	}
	s.watching.Store(true)
	s.done.Go(func() { s.surprises.watch(background) })
	s.done.Go(func() { s.surprises.post(background) })
	if o.Quality && !s.models.chooses() {
		s.done.Go(func() { s.quality.watch(background) })
	}
	s.health.check(ctx)
	s.done.Go(func() { s.health.watch(background) })
	s.done.Go(func() { s.snapshotter.watch(background) })
	s.done.Go(func() { s.retainer.watch(background) })
	s.done.Go(func() { s.remover.follow(background) })
	s.done.Go(func() { s.remover.watch(background) })
	s.done.Go(func() { s.learner.watch(background) })
	s.handler = s.routes()
	return s, nil
}

// applied is called by the engine's goroutine after every batch: it tells those who judge new events, and the caller.
func (s *Server) applied(before, after *state) {
	if after.Len() > before.Len() { // events before the cut change nothing
		s.quality.applied(before, after)
		if s.watching.Load() {
			s.surprises.applied(before, after)
		}
	}
	if s.options.Applied != nil {
		s.options.Applied(after.Last)
	}
}

// follow applies the log's events for as long as the server runs. It returns when the server knows those that the log
// has by now.
func (s *Server) follow(ctx, background context.Context) error {
	want := s.options.Log.Last()
	if at := s.engine.now().Last; at > want {
		return fmt.Errorf("the snapshot ends with sequence %d, the event log with %d: they do not belong together; "+
			"remove the snapshot %s to start from the log", at, want, s.options.Snapshots.File)
	}
	if s.retainer.Period > 0 {
		s.engine.due = s.retainer.catchUp()
	}
	s.done.Go(func() { s.engine.follow(background, s.log) })
	if err := s.engine.wait(ctx, want); err != nil {
		return fmt.Errorf("read the event log: %w", err)
	}
	if s.retainer.Period > 0 {
		s.retainer.caughtUp()
	}
	return nil
}

// Settings are what can be changed while a server runs.
type Settings struct {
	Limits Limits
	Tokens *Tokens // nil: they stay as they are
}

// Configure changes settings. Requests that were admitted keep the old ones.
func (s *Server) Configure(c Settings) {
	limits := c.Limits.orDefault()
	s.limiter.limits.Store(&limits)
	if c.Tokens != nil {
		s.tokens.Store(c.Tokens)
	}
}

func (s *Server) limits() *Limits { return s.limiter.limits.Load() }

// tell says what the server is doing while it starts.
func (s *Server) tell(what string) {
	if s.options.Phase != nil {
		s.options.Phase(what)
	}
}

func (s *Server) halt() {
	s.stop()
	s.done.Wait()
}

// Handler answers requests.
func (s *Server) Handler() http.Handler { return s.handler }

// Close ends all goroutines, writes a last snapshot if it has a file, and closes the models. Requests must have ended.
// The caller closes the log.
func (s *Server) Close() error { return s.close() }

func (s *Server) end() error {
	s.halt()
	err := s.snapshotter.last()
	s.models.close()
	return err
}
