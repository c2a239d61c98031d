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
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

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
			dst := at.targets[rng.IntN(g.targets)]
			fmt.Fprintf(&b, `{"src":%q,"dst":%q,"time":`, names.name(like.Src), names.name(dst))
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
	const head = "POST %s HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
	return append(fmt.Appendf(nil, head, path, len(body)), body...)
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
		body := fmt.Sprintf(`{"queries":[{"src":%q,"dst":%q}]}`, names.name(src), names.name(dst))
		list[i] = request("/v1/score", body)
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
		list = append(list, request("/v1/rank", fmt.Sprintf(`{"src":%q,"k":10,"candidates":[%s]}`,
			names.name(events.At(rng.IntN(events.Len())).Src), strings.Join(some, ","))))
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
		case <-tick.C:
			due <- time.Now() // how late the clock of this process ticks is no matter of the server
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
