// Package servebench answers: how fast is a server on this machine, and does it answer as the library does offline? It
// starts real servers and talks to them over loopback.
package servebench

import (
	"context"
	"errors"

	"github.com/dygmamba/dygmamba/serve"
)

// running is a server that listens on a free port of this machine.
type running struct {
	*serve.Server
	port *serve.Listener
	stop func() error // ends it; the log is the caller's
}

func start(ctx context.Context, o serve.Options) (*running, error) {
	s, err := serve.New(ctx, o)
	if err != nil {
		return nil, err
	}
	port, err := serve.Listen(serve.Listening{Address: "127.0.0.1:0"})
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	serving, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(serving, port) }()
	stop := func() error {
		cancel()
		return errors.Join(<-ended, s.Close())
	}
	return &running{s, port, stop}, nil
}
