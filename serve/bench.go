package serve

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
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
		{"scores while events arrive", func(ctx context.Context) error { r.Score, r.Arrived, err = g.mixed(ctx, b.For); return err }},
		{"one event a request", func(ctx context.Context) error { r.Single, err = g.ingest(ctx, b.For, 64, 1); return err }},
		{"a thousand events a request", func(ctx context.Context) error { r.Batched, err = g.ingest(ctx, b.For, 4, 1000); return err }},
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

// generator makes requests.
type generator struct {
	server  *Server
	address string
	targets int
	from    float64      // the time of the first event
	clock   atomic.Int64 // thousandths after that, of the last one
}

// timeDigits is how wide times are written, so that they can be changed in a request that was made before.
const timeDigits = 20

// stamp gives the events of a request the next moment: what is sent later is later.
func (g *generator) stamp(r prepared) []byte {
	var digits [timeDigits]byte
	text := strconv.AppendFloat(digits[:0], g.from+float64(g.clock.Add(1))/1000, 'f', 3, 64)
	for _, at := range r.times {
		field := r.raw[at : at+timeDigits]
		for i := range field {
			field[i] = ' '
		}
		copy(field, text)
	}
	return r.raw
}

// prepared is a request and where its times stand.
type prepared struct {
	raw   []byte
	times []int
}

// bodies are n requests of size events each, made beforehand: clients should cost little.
func (g *generator) bodies(n, size int, seed uint64) []prepared {
	rng := rand.New(rand.NewPCG(seed, 9))
	at, names := g.server.engine.now(), g.server.engine.names
	events := at.Events()
	list := make([]prepared, n)
	for i := range list {
		var b strings.Builder
		var places []int
		b.WriteString(`{"events":[`)
		for k := range size {
			if k > 0 {
				b.WriteByte(',')
			}
			like := events.At(rng.IntN(events.Len()))
			fmt.Fprintf(&b, `{"src":%q,"dst":%q,"time":`, names.name(like.Src), names.name(at.targets[rng.IntN(g.targets)]))
			places = append(places, b.Len())
			b.WriteString(strings.Repeat(" ", timeDigits) + "}")
		}
		b.WriteString(`]}`)
		raw := request("/v1/events", b.String())
		for k := range places {
			places[k] += len(raw) - b.Len()
		}
		list[i] = prepared{raw, places}
	}
	return list
}

// request is the bytes of one.
func request(path, body string) []byte {
	return fmt.Appendf(nil, "POST %s HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", path, len(body), body)
}

// wire is a connection that sends requests as they are.
type wire struct {
	conn net.Conn
	in   *bufio.Reader
}

func (g *generator) dial() (*wire, error) {
	c, err := net.Dial("tcp", g.address)
	if err != nil {
		return nil, err
	}
	return &wire{c, bufio.NewReader(c)}, nil
}

// send sends a request and reads the answer.
func (w *wire) send(raw []byte) error {
	if _, err := w.conn.Write(raw); err != nil {
		return err
	}
	status, err := w.in.ReadSlice('\n')
	if err != nil {
		return err
	}
	good := bytes.HasPrefix(status, []byte("HTTP/1.1 200"))
	length := 0
	for {
		line, err := w.in.ReadSlice('\n')
		if err != nil {
			return err
		}
		if len(line) <= 2 {
			break
		}
		if v, ok := bytes.CutPrefix(line, []byte("Content-Length: ")); ok {
			length, _ = strconv.Atoi(string(bytes.TrimSpace(v)))
		}
	}
	if !good {
		body := make([]byte, length)
		io.ReadFull(w.in, body)
		return fmt.Errorf("answered %s", body)
	}
	_, err = w.in.Discard(length)
	return err
}

// ingest lets connections send events one request after another.
func (g *generator) ingest(ctx context.Context, d time.Duration, connections, size int) (r Ingested, err error) {
	count := min(500, 40_000/size)
	var group sync.WaitGroup
	var failed atomic.Pointer[error]
	times := make([][]time.Duration, connections)
	ready := make([][]prepared, connections)
	for c := range connections {
		ready[c] = g.bodies(count, size, uint64(c))
	}
	began := time.Now()
	end := began.Add(d)
	for c := range connections {
		group.Add(1)
		go func() {
			defer group.Done()
			w, err := g.dial()
			if err != nil {
				failed.Store(&err)
				return
			}
			defer w.conn.Close()
			for i := 0; time.Now().Before(end) && ctx.Err() == nil; i++ {
				at := time.Now()
				if err := w.send(g.stamp(ready[c][i%count])); err != nil {
					failed.Store(&err)
					return
				}
				times[c] = append(times[c], time.Since(at))
			}
		}()
	}
	group.Wait()
	took := time.Since(began)
	if e := failed.Load(); e != nil {
		return r, *e
	}
	all := slices.Concat(times...)
	r = Ingested{PerSecond: float64(len(all)*size) / took.Seconds(), Requests: len(all), Latency: latencyOf(all)}
	return r, ctx.Err()
}

// pairs are questions about pairs.
func (g *generator) pairs(n int) [][]byte {
	rng := rand.New(rand.NewPCG(5, 5))
	at, names := g.server.engine.now(), g.server.engine.names
	events := at.Events()
	list := make([][]byte, n)
	for i := range list {
		src, dst := events.At(rng.IntN(events.Len())).Src, at.targets[rng.IntN(g.targets)]
		list[i] = request("/v1/score", fmt.Sprintf(`{"queries":[{"src":%q,"dst":%q}]}`, names.name(src), names.name(dst)))
	}
	return list
}

// score asks about one pair after another.
func (g *generator) score(ctx context.Context, d time.Duration) (Latency, error) {
	return g.repeat(ctx, d, g.pairs(500))
}

// rank asks for the best of a thousand candidates.
func (g *generator) rank(ctx context.Context, d time.Duration) (Latency, error) {
	rng := rand.New(rand.NewPCG(6, 6))
	at, names := g.server.engine.now(), g.server.engine.names
	events := at.Events()
	var list [][]byte
	for range 20 {
		var some []string
		for _, i := range rng.Perm(len(at.targets))[:min(1000, len(at.targets))] {
			some = append(some, strconv.Quote(names.name(at.targets[i])))
		}
		list = append(list, request("/v1/rank", fmt.Sprintf(`{"src":%q,"k":10,"candidates":[%s]}`, names.name(events.At(rng.IntN(events.Len())).Src), strings.Join(some, ","))))
	}
	return g.repeat(ctx, d, list)
}

func (g *generator) repeat(ctx context.Context, d time.Duration, list [][]byte) (Latency, error) {
	w, err := g.dial()
	if err != nil {
		return Latency{}, err
	}
	defer w.conn.Close()
	var times []time.Duration
	for i, end := 0, time.Now().Add(d); time.Now().Before(end) && ctx.Err() == nil; i++ {
		at := time.Now()
		if err := w.send(list[i%len(list)]); err != nil {
			return Latency{}, err
		}
		times = append(times, time.Since(at))
	}
	return latencyOf(times), ctx.Err()
}

// mixed asks 200 times a second, whether the answer before has come or not, while 10,000 events a second arrive.
func (g *generator) mixed(ctx context.Context, d time.Duration) (l Latency, rate float64, err error) {
	const size, perSecond, scores = 100, 100, 200
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	var group sync.WaitGroup
	var mu sync.Mutex
	var times []time.Duration
	var failed error
	fail := func(err error) {
		mu.Lock()
		defer mu.Unlock()
		failed = errors.Join(failed, err)
	}
	before := g.server.engine.now().Len()
	began := time.Now()
	group.Add(1)
	ready := g.bodies(100, size, 77)
	go func() {
		defer group.Done()
		w, err := g.dial()
		if err != nil {
			fail(err)
			return
		}
		defer w.conn.Close()
		tick := time.NewTicker(time.Second / perSecond)
		defer tick.Stop()
		for i := 0; ; i++ {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			if err := w.send(g.stamp(ready[i%len(ready)])); err != nil {
				fail(err)
				return
			}
		}
	}()
	asked := g.pairs(500)
	const workers = 16
	due := make(chan time.Time, 1000)
	for k := range workers {
		group.Add(1)
		go func() {
			defer group.Done()
			w, err := g.dial()
			if err != nil {
				fail(err)
				return
			}
			defer w.conn.Close()
			i := k
			for at := range due {
				if err := w.send(asked[i%len(asked)]); err != nil {
					fail(err)
					return
				}
				took := time.Since(at)
				i += workers
				mu.Lock()
				times = append(times, took)
				mu.Unlock()
			}
		}()
	}
	tick := time.NewTicker(time.Second / scores)
	for open := true; open; {
		select {
		case at := <-tick.C:
			due <- at
		case <-ctx.Done():
			open = false
		}
	}
	tick.Stop()
	close(due)
	group.Wait()
	rate = float64(g.server.engine.now().Len()-before) / time.Since(began).Seconds()
	return latencyOf(times), rate, failed
}

// latencyOf sums up.
func latencyOf(times []time.Duration) Latency {
	if len(times) == 0 {
		return Latency{}
	}
	slices.Sort(times)
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	return Latency{len(times), ms(times[len(times)/2]), ms(times[len(times)*99/100]), ms(times[len(times)-1])}
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
			batch.Events[i] = eventlog.Event{Src: names[rng.IntN(len(names))], Dst: names[rng.IntN(len(names))], Time: at.Moment.Last() + float64(n+i+1)}
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
