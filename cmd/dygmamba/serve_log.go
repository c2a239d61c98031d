package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/dygmamba/dygmamba/eventlog"
	"github.com/dygmamba/dygmamba/eventlog/embedded"
	"github.com/dygmamba/dygmamba/eventlog/jetstream"
	"github.com/dygmamba/dygmamba/serve"
)

// keep opens the event log that the flags name.
func (s *serving) keep(ctx context.Context, a *app, o *serve.Options) (err error) {
	if s.store != "" {
		if err := os.MkdirAll(s.store, 0o755); err != nil {
			return fmt.Errorf("--store: %w", err)
		}
		o.Snapshots = serve.Snapshots{File: filepath.Join(s.store, "snapshot"), Every: s.snapshot}
		o.Learn.Dir = filepath.Join(s.store, "learned")
	}
	o.Durable = true
	switch {
	case s.log != "":
		within, cancel := context.WithTimeout(ctx, time.Minute)
		defer cancel()
		o.Log, err = jetstream.Open(within, s.log, jetstream.Options{Stream: s.stream, Monitor: s.monitor})
	case s.store != "":
		o.Log, err = embedded.Open(s.store,
			embedded.Options{Cut: func(what string) { a.log().Warn("event log: " + what) }})
	default:
		log := eventlog.NewMemory()
		o.Log, o.Applied, o.Durable = log, log.Forget, false // the server has them: once is enough
		a.log().Warn("no --store: events are lost when the server stops")
	}
	if errors.Is(err, eventlog.ErrDamaged) {
		err = &inputError{err}
	}
	return err
}
