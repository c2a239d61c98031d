// Package servebench answers: how fast is a server on this machine, and does it answer as the library does offline? It
// starts real servers and talks to them over loopback.
package servebench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/dygmamba/dygmamba/client"
	"github.com/dygmamba/dygmamba/eventlog"
	"github.com/dygmamba/dygmamba/serve"
)

// Bench measures a server on this machine: it starts one, with the options' log, and talks to it over loopback from the
// same process, so that clients take a part of the same cores.
type Bench struct {
	Options serve.Options
	For     time.Duration // each phase; 0: 5 s
	Restart int           // events of the restart that is measured; 0: none
	Dir     string        // where its snapshot is written
	OnPhase func(name string)
}

// Report is what was measured. Times are in milliseconds.
type Report struct {
	Batched Ingested  `json:"batched"` // 1,000 events a request, 4 connections
	Single  Ingested  `json:"single"`  // one event a request, 64 connections
	Score   Latency   `json:"score"`   // one pair, 200 requests a second while 10,000 events/s arrive
	Late    Latency   `json:"late"`    // the same, and every hundredth event is up to 60 time units late
	Alone   Latency   `json:"alone"`   // one pair, nothing else going on
	Rank    Latency   `json:"rank"`    // 1,000 candidates
	Restart *Restored `json:"restart,omitempty"`
	Model   string    `json:"model"`
	Events  int       `json:"events"` // that were known at the beginning
	Durable bool      `json:"durable"`
	Arrived float64   `json:"arrived_per_s"` // events, while scores were measured
}

// Ingested is how fast events were acknowledged.
type Ingested struct {
	PerSecond float64 `json:"events_per_s"`
	Requests  int     `json:"requests"`
	Latency   Latency `json:"latency"`
}

// Latency is how long requests took.
type Latency struct {
	Requests int     `json:"requests"`
	P50      float64 `json:"p50_ms"`
	P99      float64 `json:"p99_ms"`
	Most     float64 `json:"max_ms"`
}

// Restored is how long a restart took.
type Restored struct {
	Events  int     `json:"events"`
	Bytes   int64   `json:"bytes"`
	Write   float64 `json:"write_s"`
	Restart float64 `json:"restart_s"`
}

// Run measures.
func (b Bench) Run(ctx context.Context) (r Report, err error) {
	if b.For == 0 {
		b.For = 5 * time.Second
	}
	if b.OnPhase == nil {
		b.OnPhase = func(string) {}
	}
	if b.Options.Set.Log.Len() == 0 {
		return r, errors.New("bench: the data set has no events")
	}
	s, err := start(ctx, b.Options)
	if err != nil {
		return r, err
	}
	defer s.stop()
	status, err := client.New(s.port.URL()).Status(ctx)
	if err != nil {
		return r, err
	}
	r.Model, r.Events, r.Durable = status.Model, status.Events, status.Durable
	g := newGenerator(s, b.Options.Set, *status.LastTime+1)
	for _, phase := range []struct {
		name string
		run  func() error
	}{
		{"one pair", func() error { r.Alone, err = g.repeat(ctx, b.For, g.pairs()); return err }},
		{"rank", func() error { r.Rank, err = g.repeat(ctx, b.For, g.rankings()); return err }},
		{"scores and events", func() error { r.Score, r.Arrived, err = g.mixed(ctx, b.For, false); return err }},
		{"scores and late events", func() error { r.Late, _, err = g.mixed(ctx, b.For, true); return err }},
		{"one event a request", func() error { r.Single, err = g.ingest(ctx, b.For, 64, 1); return err }},
		{"a thousand events a request", func() error { r.Batched, err = g.ingest(ctx, b.For, 4, 1000); return err }},
	} {
		b.OnPhase(phase.name)
		if err := phase.run(); err != nil {
			return r, fmt.Errorf("%s: %w", phase.name, err)
		}
	}
	if b.Restart > 0 {
		b.OnPhase("restart")
		r.Restart, err = b.restart(ctx, g.from)
	}
	return r, err
}

// restart measures a server that begins with a snapshot of many events, which happen from a time on.
func (b Bench) restart(ctx context.Context, from float64) (*Restored, error) {
	file, log, known := filepath.Join(b.Dir, "bench.snapshot"), eventlog.NewMemory(), make(chan struct{}, 1)
	o := b.Options
	o.Log, o.Snapshots = log, serve.Snapshots{File: file, Every: 2 * b.Restart} // one is written at the end
	o.Applied = func(last uint64) { log.Forget(last); known <- struct{}{} }
	s, err := serve.New(ctx, o)
	if err != nil {
		return nil, err
	}
	if err := fill(ctx, log, b.Restart, from, known); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	began := time.Now()
	if err := s.Close(); err != nil {
		return nil, err
	}
	r := &Restored{Events: b.Restart, Write: time.Since(began).Seconds()}
	info, err := os.Stat(file)
	if err != nil {
		return nil, err
	}
	r.Bytes = info.Size()
	began = time.Now()
	again, err := start(ctx, o)
	if err != nil {
		return nil, err
	}
	defer again.stop()
	if _, err := client.New(again.port.URL()).Status(ctx); err != nil {
		return nil, fmt.Errorf("the restarted server: %w", err)
	}
	r.Restart = time.Since(began).Seconds()
	return r, nil
}

// fill appends events between nodes drawn at random, a batch whenever the server knows the one before.
func fill(ctx context.Context, log eventlog.Log, n int, from float64, known <-chan struct{}) error {
	const size = 10_000
	rng := rand.New(rand.NewPCG(7, 7))
	names := make([]string, 100_000)
	for i := range names {
		names[i] = strconv.Itoa(1 + rng.IntN(200_000))
	}
	for done := 0; done < n; done += size {
		events := make([]eventlog.Event, size)
		for i := range events {
			events[i] = eventlog.Event{Src: names[rng.IntN(len(names))], Dst: names[rng.IntN(len(names))],
				Time: from + float64(done+i)}
		}
		if _, err := log.Append(ctx, "", events); err != nil {
			return err
		}
		select {
		case <-known:
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Minute):
			return errors.New("the server takes no events")
		}
	}
	return nil
}

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
