// Package serve answers: what now? It takes events while they happen, keeps them in a durable log, and answers queries
// with a trained model over a past that grows.
//
// An event walks from a request (events.go, wire.go) into the log, from there in the log's order to the engine
// (engine.go), which is the only one to change the past. A question walks from a request (ask.go) to a lane (lane.go),
// a
// goroutine that owns a predictor and asks it at one moment of that past. Nothing is sampled or scored by a second
// implementation: these are the library's own.
package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/eventlog"
	"github.com/dygmamba/dygmamba/predict"
)

// Options say what is served. Set, Log and Checkpoint are needed.
type Options struct {
	Set        *dataset.Set
	Log        eventlog.Log
	Durable    bool              // the log outlives the process
	Applied    func(last uint64) // called when the server knows the log's events up to last; nil: nobody is told
	Checkpoint string            // a run directory or a checkpoint file
	Load       predict.Options   // how checkpoints are opened; Set and Live are filled in

	Limits Limits
	Tokens *Tokens  // who may do what; nil: everybody everything
	Hosts  []string // the Host headers that are answered; nil: any

	Snapshots Snapshots
	Learn     Learning
	Quality   bool // score some of the events before they are known, for the page and for metrics

	Logger *slog.Logger // nil: silent
}

// Server is a running server without its listener: Handler is what answers.
type Server struct {
	options Options
	log     *slog.Logger
	engine  *engine
	models  *roster
	metrics *metrics
	quality *quality
	learner *learner
	keeper  *keeper
	limiter *limiter
	handler http.Handler
	started time.Time

	stop  func() // ends what runs in the background
	done  sync.WaitGroup
	close func() error
}

// New takes up the snapshot if there is one, opens the model and follows the log. It returns when all events that the
// log has by now are known; the server answers from then on. Close it.
func New(ctx context.Context, o Options) (*Server, error) {
	if o.Set == nil || o.Log == nil || o.Checkpoint == "" {
		return nil, errors.New("serve: a data set, an event log and a checkpoint are needed")
	}
	o.Limits = o.Limits.orDefault()
	s := &Server{options: o, log: o.Logger, started: time.Now()}
	s.close = sync.OnceValue(s.end)
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	s.metrics = newMetrics(s)
	s.limiter = newLimiter(o.Limits)
	s.engine = newEngine(o.Set, o.Log)
	s.keeper = newKeeper(s, o.Snapshots)
	s.quality = newQuality(s)
	kept, err := s.keeper.take()
	if err != nil {
		return nil, err
	}
	background, stop := context.WithCancel(context.Background())
	s.stop = stop
	s.engine.applied = func(before, after *state) {
		s.quality.applied(before, after)
		if o.Applied != nil {
			o.Applied(after.Last)
		}
	}
	if err := s.follow(ctx, background); err != nil {
		s.halt()
		return nil, err
	}
	if s.learner, err = newLearner(s, o.Learn); err != nil {
		s.halt()
		return nil, err
	}
	path, learned := s.learner.resume()
	if s.models, err = newRoster(ctx, s, path, kept); err != nil {
		s.halt()
		return nil, err
	}
	s.models.current.Load().Learned = learned
	if o.Quality {
		s.run(func() { s.quality.watch(background) })
	}
	s.run(func() { s.keeper.watch(background) })
	s.run(func() { s.learner.watch(background) })
	s.handler = s.routes()
	return s, nil
}

// follow applies the log's events for as long as the server runs. It returns when those that are there by now are
// known.
func (s *Server) follow(ctx, background context.Context) error {
	want := s.options.Log.Last()
	if at := s.engine.now().Last; at > want {
		return fmt.Errorf("the snapshot knows of %d events, the event log of %d: they do not belong together; "+
			"remove the snapshot %s to begin with what the log has", at, want, s.options.Snapshots.File)
	}
	s.run(func() { s.engine.follow(background, s.log) })
	if err := s.engine.wait(ctx, want); err != nil {
		return fmt.Errorf("take up the event log: %w", err)
	}
	return nil
}

// run starts a part of the server that ends when the background does.
func (s *Server) run(part func()) {
	s.done.Add(1)
	go func() {
		defer s.done.Done()
		part()
	}()
}

// halt ends what runs in the background.
func (s *Server) halt() {
	s.stop()
	s.done.Wait()
}

// Handler answers requests.
func (s *Server) Handler() http.Handler { return s.handler }

// Close ends the background, writes a last snapshot where snapshots are kept, and closes the models. Requests must have
// ended. The log is the caller's.
func (s *Server) Close() error { return s.close() }

func (s *Server) end() error {
	s.halt()
	err := s.keeper.last()
	s.models.close()
	return err
}
