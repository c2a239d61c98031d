package servebench

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

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/event"
)

// generator makes requests about the nodes of a data set.
type generator struct {
	server  *running
	set     *dataset.Set
	targets []event.Node // that were a destination, each once
	from    float64      // the time of the first event
	clock   atomic.Int64 // thousandths after that, of the last one
}

func newGenerator(s *running, set *dataset.Set, from float64) *generator {
	seen := make([]bool, set.NumNodes())
	for _, v := range set.Log.All().Dst {
		seen[v] = true
	}
	var targets []event.Node
	for v, is := range seen {
		if is {
			targets = append(targets, event.Node(v))
		}
	}
	return &generator{server: s, set: set, targets: targets, from: from}
}

// source is the name of a node that sends an event, drawn by how many it sends; target that of any destination.
func (g *generator) source(rng *rand.Rand) string {
	return g.set.Names.Name(g.set.Log.At(rng.IntN(g.set.Log.Len())).Src)
}

func (g *generator) target(rng *rand.Rand) string {
	return g.set.Names.Name(g.targets[rng.IntN(len(g.targets))])
}

// timeDigits is how wide times are written, so that they can be changed in a request that was made before.
const timeDigits = 20

// stamp gives the events of a request the next time: what is sent later is later. Of late ones every hundredth event
// is late, by up to lateBy.
func (g *generator) stamp(r prepared, late bool) []byte {
	var digits, other [timeDigits]byte
	number := g.clock.Add(1)
	now := g.from + float64(number)/1000
	text := strconv.AppendFloat(digits[:0], now, 'f', 3, 64)
	for k, at := range r.times {
		said := text
		if late && k%100 == 50 {
			lag := lateBy * float64(1+number*7919%1000) / 1000
			said = strconv.AppendFloat(other[:0], now-lag, 'f', 3, 64)
		}
		field := r.raw[at : at+timeDigits]
		for i := copy(field, said); i < len(field); i++ {
			field[i] = ' '
		}
	}
	return r.raw
}

// lateBy is how late a late event is at most, in the unit of the data's times.
const lateBy = 60

// prepared is a request and where its times stand.
type prepared struct {
	raw   []byte
	times []int
}

// bodies are n requests of size events each, made beforehand: clients should cost little.
func (g *generator) bodies(n, size int, seed uint64) []prepared {
	rng := rand.New(rand.NewPCG(seed, 9))
	list := make([]prepared, n)
	for i := range list {
		var b strings.Builder
		var places []int
		b.WriteString(`{"events":[`)
		for k := range size {
			if k > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, `{"src":%q,"dst":%q,"time":`, g.source(rng), g.target(rng))
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

func request(path, body string) []byte {
	const head = "POST %s HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
	return append(fmt.Appendf(nil, head, path, len(body)), body...)
}

// wire is a connection that sends requests as they are.
type wire struct {
	conn net.Conn
	in   *bufio.Reader
}

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

// crew is a number of connections that are used at the same time.
type crew struct {
	address string
	group   sync.WaitGroup

	mu     sync.Mutex // guards what follows
	times  []time.Duration
	failed error
}

func (g *generator) crew() *crew { return &crew{address: g.server.port.Addr().String()} }

// start lets work use a connection of its own.
func (c *crew) start(work func(w *wire) error) {
	c.group.Go(func() {
		conn, err := net.Dial("tcp", c.address)
		if err == nil {
			err = work(&wire{conn, bufio.NewReader(conn)})
			conn.Close()
		}
		if err != nil {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.failed = errors.Join(c.failed, err)
		}
	})
}

// send sends a request and notes how long ago it was due.
func (c *crew) send(w *wire, due time.Time, raw []byte) error {
	err := w.send(raw)
	took := time.Since(due)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.times = append(c.times, took)
	return err
}

// wait returns when all work is done.
func (c *crew) wait() (Latency, error) {
	c.group.Wait()
	return latencyOf(c.times), c.failed
}

// ingest lets connections send events one request after another.
func (g *generator) ingest(ctx context.Context, d time.Duration, connections, size int) (r Ingested, err error) {
	lists := make([][]prepared, connections)
	for c := range lists {
		lists[c] = g.bodies(min(500, 40_000/size), size, uint64(c))
	}
	began := time.Now()
	r.Latency, err = g.repeat(ctx, d, lists...)
	r.Requests = r.Latency.Requests
	r.PerSecond = float64(r.Requests*size) / time.Since(began).Seconds()
	return r, err
}

func (g *generator) pairs() (list []prepared) {
	rng := rand.New(rand.NewPCG(5, 5))
	for range 500 {
		body := fmt.Sprintf(`{"queries":[{"src":%q,"dst":%q}]}`, g.source(rng), g.target(rng))
		list = append(list, prepared{raw: request("/v1/score", body)})
	}
	return list
}

// rankings ask for the best of a thousand candidates.
func (g *generator) rankings() (list []prepared) {
	rng := rand.New(rand.NewPCG(6, 6))
	for range 20 {
		var some []string
		for _, i := range rng.Perm(len(g.targets))[:min(1000, len(g.targets))] {
			some = append(some, strconv.Quote(g.set.Names.Name(g.targets[i])))
		}
		list = append(list, prepared{raw: request("/v1/rank", fmt.Sprintf(`{"src":%q,"k":10,"candidates":[%s]}`,
			g.source(rng), strings.Join(some, ",")))})
	}
	return list
}

// repeat sends the requests of each list one after another over a connection of its own.
func (g *generator) repeat(ctx context.Context, d time.Duration, lists ...[]prepared) (Latency, error) {
	began, crew := time.Now(), g.crew()
	for _, list := range lists {
		crew.start(func(w *wire) error {
			for i := 0; time.Since(began) < d && ctx.Err() == nil; i++ {
				if err := crew.send(w, time.Now(), g.stamp(list[i%len(list)], false)); err != nil {
					return err
				}
			}
			return ctx.Err()
		})
	}
	return crew.wait()
}

// mixed asks 200 times a second, whether the answer before has come or not, while 10,000 events a second arrive.
func (g *generator) mixed(ctx context.Context, d time.Duration, late bool) (l Latency, rate float64, err error) {
	const size, perSecond, scores, workers = 100, 100, 200, 16
	ready, asked := g.bodies(100, size, 77), g.pairs()
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	before, began := g.server.Summary().Events, time.Now()
	events, questions := g.crew(), g.crew()
	events.start(func(w *wire) error {
		i := 0
		return each(ctx, time.Second/perSecond, func() error {
			i++
			return events.send(w, time.Now(), g.stamp(ready[i%len(ready)], late))
		})
	})
	due := make(chan time.Time, 1000)
	for k := range workers {
		questions.start(func(w *wire) error {
			i := k
			for at := range due {
				if err := questions.send(w, at, asked[i%len(asked)].raw); err != nil {
					return err
				}
				i += workers
			}
			return nil
		})
	}
	each(ctx, time.Second/scores, func() error {
		select {
		case due <- time.Now(): // not the tick: how late this process's clock ticks is not the server's fault
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
	close(due)
	_, failed := events.wait()
	l, err = questions.wait()
	rate = float64(g.server.Summary().Events-before) / time.Since(began).Seconds()
	return l, rate, errors.Join(failed, err)
}

// each does something again and again until ctx ends, or it fails.
func each(ctx context.Context, pause time.Duration, do func() error) error {
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			if err := do(); err != nil {
				return err
			}
		}
	}
}

func latencyOf(times []time.Duration) Latency {
	if len(times) == 0 {
		return Latency{}
	}
	slices.Sort(times)
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	return Latency{len(times), ms(times[len(times)/2]), ms(times[len(times)*99/100]), ms(times[len(times)-1])}
}
