package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/dygmamba/dygmamba/serve"
)

// keep opens what keeps the events: the one place that knows engines of the log.
func (s *serving) keep(_ context.Context, a *app, o *serve.Options) error {
	if s.store != "" {
		if err := os.MkdirAll(s.store, 0o755); err != nil {
			return fmt.Errorf("--store: %w", err)
		}
		o.Snapshots = serve.Snapshots{File: filepath.Join(s.store, "snapshot"), Every: s.snapshot}
		o.Learn.Dir = filepath.Join(s.store, "learned")
	}
	switch {
	case s.log != "":
		return usagef("--log: this build has no such log")
	case s.store != "":
		return usagef("--store: this build has no such log")
	default:
		a.log().Warn("no --store: events live in memory and end with the server")
		o.Log = serve.NewVolatile()
	}
	return nil
}
