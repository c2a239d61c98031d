package serve

import (
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Limits bound what clients can ask of a server. A zero field is DefaultLimits'.
type Limits struct {
	Body       int64   // bytes of a request
	Bodies     int64   // bytes of all requests that are read at a time
	Batch      int     // events of a request
	Queries    int     // of a request
	Candidates int     // of a ranking, and the most that are ranked
	ID         int     // bytes of a name
	Nodes      int     // that are known; no events are taken beyond
	Rate       float64 // requests a second of each client; below 0: as many as come
	Burst      int     // requests that may come at once
	Concurrent int     // requests at a time
	Waiting    int     // questions that wait for a model
	Timeout    time.Duration
}

// DefaultLimits suit a machine with a few gigabytes of memory.
var DefaultLimits = Limits{
	Body: 32 << 20, Bodies: 256 << 20, Batch: 100_000, Queries: 10_000, Candidates: 100_000, ID: 256, Nodes: 50_000_000,
	Rate: -1, Burst: 100, Concurrent: 512, Waiting: 256, Timeout: 30 * time.Second,
}

func (l Limits) orDefault() Limits {
	d := DefaultLimits
	pick(&l.Body, d.Body)
	pick(&l.Bodies, d.Bodies)
	pick(&l.Batch, d.Batch)
	pick(&l.Queries, d.Queries)
	pick(&l.Candidates, d.Candidates)
	pick(&l.ID, d.ID)
	pick(&l.Nodes, d.Nodes)
	pick(&l.Rate, d.Rate)
	pick(&l.Burst, d.Burst)
	pick(&l.Concurrent, d.Concurrent)
	pick(&l.Waiting, d.Waiting)
	pick(&l.Timeout, d.Timeout)
	return l
}

func pick[T comparable](to *T, standard T) {
	var zero T
	if *to == zero {
		*to = standard
	}
}

// limiter keeps the limits.
type limiter struct {
	Limits
	bytes   atomic.Int64 // of bodies that are being read or worked on
	running atomic.Int64 // requests

	mu      sync.Mutex // guards what follows
	buckets map[string]*bucket
}

// bucket is what a client may still ask.
type bucket struct {
	tokens float64
	at     time.Time
}

// mostBuckets is how many clients are told apart at a time.
const mostBuckets = 1 << 16

func newLimiter(l Limits) *limiter { return &limiter{Limits: l, buckets: map[string]*bucket{}} }

// enter lets a request in; leave is called when it is over.
func (l *limiter) enter(client string, now time.Time) error {
	if l.running.Add(1) > int64(l.Concurrent) {
		l.running.Add(-1)
		return busy("%d requests are being answered, as many as this server takes at a time", l.Concurrent)
	}
	if wait := l.spend(client, now); wait > 0 {
		l.running.Add(-1)
		return &refusal{status: 429, kind: "too_many_requests",
			message: fmt.Sprintf("more than %g requests a second", l.Rate), after: wait}
	}
	return nil
}

func (l *limiter) leave() { l.running.Add(-1) }

// spend takes one of a client's tokens. If there is none it says how many seconds until there is one.
func (l *limiter) spend(client string, now time.Time) int {
	if l.Rate <= 0 {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.buckets[client]
	if b == nil {
		if len(l.buckets) >= mostBuckets {
			l.forget(now)
		}
		b = &bucket{tokens: float64(l.Burst), at: now}
		l.buckets[client] = b
	}
	b.tokens = min(float64(l.Burst), b.tokens+l.Rate*now.Sub(b.at).Seconds())
	b.at = now
	if b.tokens < 1 {
		return max(1, int(math.Ceil((1-b.tokens)/l.Rate)))
	}
	b.tokens--
	return 0
}

// forget makes room for other clients: those whose buckets are full again go first, or else all.
func (l *limiter) forget(now time.Time) {
	for client, b := range l.buckets {
		if b.tokens+l.Rate*now.Sub(b.at).Seconds() >= float64(l.Burst) {
			delete(l.buckets, client)
		}
	}
	if len(l.buckets) >= mostBuckets {
		clear(l.buckets)
	}
}

// read reads a body, as far as the limits allow.
func (l *limiter) read(w http.ResponseWriter, r *http.Request) (string, error) {
	too := tooLarge("the body is larger than %d bytes; want several requests", l.Body)
	if r.ContentLength > l.Body {
		w.Header().Set("Connection", "close") // what follows is not read
		return "", too
	}
	var b strings.Builder
	if r.ContentLength > 0 && r.ContentLength <= 1<<20 {
		b.Grow(int(r.ContentLength))
	}
	in := http.MaxBytesReader(w, r.Body, l.Body)
	buf := buffers.Get().(*[64 << 10]byte)
	defer buffers.Put(buf)
	for {
		n, err := in.Read(buf[:])
		if l.bytes.Add(int64(n)) > l.Bodies {
			l.finished(b.Len() + n)
			w.Header().Set("Connection", "close")
			return "", busy("the requests that are being read have more than %d bytes", l.Bodies)
		}
		b.Write(buf[:n])
		var large *http.MaxBytesError
		switch {
		case err == io.EOF:
			return b.String(), nil
		case errors.As(err, &large):
			l.finished(b.Len())
			return "", too
		case err != nil:
			l.finished(b.Len())
			return "", &refusal{status: 400, kind: "bad_request", message: "the body ended early: " + err.Error()}
		}
	}
}

var buffers = sync.Pool{New: func() any { return new([64 << 10]byte) }}

// finished gives back what read took.
func (l *limiter) finished(bytes int) { l.bytes.Add(-int64(bytes)) }
