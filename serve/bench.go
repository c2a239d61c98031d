package serve

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"strconv"
	"time"

	"github.com/dygmamba/dygmamba/eventlog"
)

// Bench measures a server on this machine: it starts one, with the options' log, and talks to it over loopback from the
// same process, so that clients take a part of the same cores.
type Bench struct {
	Options Options
	For     time.Duration // each phase; 0: 5 s
	Restart int           // events of the restart that is measured; 0: none
	Dir     string        // where its snapshot is written
	OnPhase func(name string)
}

// BenchReport is what was measured. Times are in milliseconds.
type BenchReport struct {
	Batched  Ingested  `json:"batched"` // 1,000 events a request, 4 connections
	Single   Ingested  `json:"single"`  // one event a request, 64 connections
	Score    Latency   `json:"score"`   // one pair, 200 requests a second while 10,000 events/s arrive
	Alone    Latency   `json:"alone"`   // one pair, nothing else going on
	Rank     Latency   `json:"rank"`    // 1,000 candidates
	Restart  *Restored `json:"restart,omitempty"`
	Model    string    `json:"model"`
	Events   int       `json:"events"` // that were known at the beginning
	Durable  bool      `json:"durable"`
	Arrived  float64   `json:"arrived_per_s"` // events, while scores were measured
	Warnings []string  `json:"warnings,omitempty"`
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
func (b Bench) Run(ctx context.Context) (r BenchReport, err error) {
	if b.For == 0 {
		b.For = 5 * time.Second
	}
	if b.OnPhase == nil {
		b.OnPhase = func(string) {}
	}
	s, err := New(ctx, b.Options)
	if err != nil {
		return r, err
	}
	defer s.Close()
	port, err := Listen(Listening{Address: "127.0.0.1:0"})
	if err != nil {
		return r, err
	}
	serving, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(serving, port) }()
	defer func() { stop(); <-ended }()
	at := s.engine.now()
	r.Model, r.Events, r.Durable = s.models.current.Load().name, at.Len(), b.Options.Durable
	g := &generator{server: s, address: port.Addr().String(), from: at.Moment.Last() + 1, targets: len(at.targets)}
	if g.targets == 0 {
		return r, errors.New("bench: the data set has no events to go on from")
	}
	for _, phase := range []struct {
		name string
		run  func(context.Context) error
	}{
		{"one pair", func(ctx context.Context) error { r.Alone, err = g.score(ctx, b.For); return err }},
		{"rank", func(ctx context.Context) error { r.Rank, err = g.rank(ctx, b.For); return err }},
		{"scores while events arrive", func(ctx context.Context) error {
			r.Score, r.Arrived,
				err = g.mixed(ctx, b.For)
			return err
		}},
		{"one event a request", func(ctx context.Context) error {
			r.Single, err = g.ingest(ctx, b.For, 64, 1)
			return err
		}},
		{"a thousand events a request", func(ctx context.Context) error {
			r.Batched,
				err = g.ingest(ctx, b.For, 4, 1000)
			return err
		}},
	} {
		b.OnPhase(phase.name)
		if err := phase.run(ctx); err != nil {
			return r, fmt.Errorf("%s: %w", phase.name, err)
		}
	}
	if b.Restart > 0 {
		b.OnPhase("restart")
		r.Restart, err = b.restart(ctx)
	}
	return r, err
}

// restart measures a server that begins with a snapshot of many events.
func (b Bench) restart(ctx context.Context) (*Restored, error) {
	o := b.Options
	o.Log, o.Snapshots = NewVolatile(), Snapshots{File: filepath.Join(b.Dir, "bench.snapshot")}
	s, err := New(ctx, o)
	if err != nil {
		return nil, err
	}
	at := s.engine.now()
	rng := rand.New(rand.NewPCG(7, 7))
	names := make([]string, 100_000)
	for i := range names {
		names[i] = strconv.Itoa(1 + rng.IntN(200_000))
	}
	const size = 10_000
	for n := 0; n < b.Restart; n += size {
		batch := eventlog.Batch{Last: uint64(n + size), Events: make([]eventlog.Event, size)}
		for i := range batch.Events {
			batch.Events[i] = eventlog.Event{Src: names[rng.IntN(len(names))], Dst: names[rng.IntN(len(names))],
				Time: at.Moment.Last() + float64(n+i+1)}
		}
		if err := s.engine.take(batch); err != nil {
			s.Close()
			return nil, err
		}
	}
	began := time.Now()
	if err := s.Close(); err != nil {
		return nil, err
	}
	r := &Restored{Events: b.Restart, Bytes: s.keeper.bytes, Write: time.Since(began).Seconds()}
	last := s.engine.now().Last
	o.Log = &Volatile{last: last, keys: map[string]eventlog.Receipt{}, news: make(chan struct{}, 1)}
	began = time.Now()
	if s, err = New(ctx, o); err != nil {
		return nil, err
	}
	defer s.Close()
	r.Restart = time.Since(began).Seconds()
	if w := (&probe{}).ask(s.Handler()); w != http.StatusOK {
		return nil, fmt.Errorf("the restarted server answers %d", w)
	}
	return r, nil
}

// probe is an answer of which only the status matters.
type probe struct {
	header http.Header
	status int
}

func (p *probe) Header() http.Header { return p.header }
func (p *probe) WriteHeader(s int)   { p.status = s }
func (p *probe) Write(b []byte) (int, error) {
	if p.status == 0 {
		p.status = http.StatusOK
	}
	return len(b), nil
}

// ask asks for the status of a server.
func (p *probe) ask(h http.Handler) int {
	p.header = http.Header{}
	r, err := http.NewRequest(http.MethodGet, "http://127.0.0.1/readyz", nil)
	if err != nil {
		return 0
	}
	h.ServeHTTP(p, r)
	return p.status
}
