package serve

import (
	"errors"
	"io"
	"math"
	"net/http"
	"os"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Limits bound the requests of clients. A zero field takes its value from DefaultLimits.
type Limits struct {
	Body       int64   // bytes of a request
	Bodies     int64   // bytes of all bodies in memory at the same time
	Batch      int     // events of a request
	Queries    int     // of a request
	Candidates int     // that a ranking names
	Targets    int     // destinations that a ranking without candidates is over
	ID         int     // bytes of a name
	Nodes      int     // known nodes; no events are taken beyond that
	Events     int     // known events, those of the data set included; 0: no limit
	Rate       float64 // requests a second of each client; below 0: no limit
	Burst      int     // requests of a client at once, before Rate applies
	Concurrent int     // requests at the same time; one client gets three quarters of that
	Uploads    int     // bodies that are received at the same time; the slowest of more are cut off
	Waiting    int     // requests that wait for the model
	Timeout    time.Duration
}

// DefaultLimits suit a machine with a few gigabytes of RAM.
var DefaultLimits = Limits{
	Body: 32 << 20, Bodies: 256 << 20, Batch: 100_000, Queries: 10_000, Candidates: 100_000, Targets: 10_000_000,
	ID: 256, Nodes: 50_000_000, Rate: -1, Burst: 100, Concurrent: 512, Uploads: 4096, Waiting: 512,
	Timeout: 30 * time.Second,
}

func (l Limits) orDefault() Limits {
	to, from := reflect.ValueOf(&l).Elem(), reflect.ValueOf(DefaultLimits)
	for i := range to.NumField() {
		if to.Field(i).IsZero() {
			to.Field(i).Set(from.Field(i))
		}
	}
	return l
}

type limiter struct {
	limits   atomic.Pointer[Limits]
	bytes    atomic.Int64 // of bodies in memory
	requests *crowd       // that are being answered
	streams  *crowd       // of events
	uploads  uploads

	mu      sync.Mutex // guards buckets
	buckets map[string]*bucket
}

// bucket is the token bucket of a client.
type bucket struct {
	tokens float64
	at     time.Time
}

const maxBuckets = 1 << 16 // clients that are remembered

func newLimiter(l Limits) *limiter {
	out := &limiter{buckets: map[string]*bucket{}, requests: newCrowd("requests are being answered"),
		streams: newCrowd("streams are open"), uploads: uploads{open: map[*upload]bool{}}}
	out.uploads.most = func() int { return out.limits.Load().Uploads }
	out.limits.Store(&l)
	return out
}

// pace says that a client sends requests too fast.
func (l *limiter) pace(client string, now time.Time) error {
	wait := l.spend(client, now)
	if wait == 0 {
		return nil
	}
	e := fail("too_many_requests", "more than %g requests a second", l.limits.Load().Rate)
	e.after = wait
	return e
}

// spend takes a token of a client's bucket. If there is none it returns the seconds until the next one.
func (l *limiter) spend(client string, now time.Time) int {
	if l.limits.Load().Rate <= 0 {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.buckets[client]
	if b == nil {
		if len(l.buckets) >= maxBuckets {
			l.forget(now)
		}
		b = &bucket{tokens: float64(l.limits.Load().Burst), at: now}
		l.buckets[client] = b
	}
	b.tokens = min(float64(l.limits.Load().Burst), b.tokens+l.limits.Load().Rate*now.Sub(b.at).Seconds())
	b.at = now
	if b.tokens < 1 {
		return max(1, int(math.Ceil((1-b.tokens)/l.limits.Load().Rate)))
	}
	b.tokens--
	return 0
}

// forget removes full buckets, or all if that is not enough.
func (l *limiter) forget(now time.Time) {
	for client, b := range l.buckets {
		if b.tokens+l.limits.Load().Rate*now.Sub(b.at).Seconds() >= float64(l.limits.Load().Burst) {
			delete(l.buckets, client)
		}
	}
	if len(l.buckets) >= maxBuckets {
		clear(l.buckets)
	}
}

// read reads the body of a request. The caller calls release with its length when it is done.
func (l *limiter) read(w http.ResponseWriter, r *http.Request, client string) (_ string, err error) {
	var b strings.Builder
	up := l.uploads.begin(w, client)
	defer l.uploads.end(up)
	defer func() {
		if err != nil {
			l.release(b.Len())
			w.Header().Set("Connection", "close") // the rest is not read
		}
	}()
	limits := l.limits.Load()
	too := fail("too_large", "the body is larger than %d bytes; want several requests", limits.Body)
	if r.ContentLength > limits.Body {
		return "", too
	}
	if r.ContentLength > 0 && r.ContentLength <= 1<<20 {
		b.Grow(int(r.ContentLength))
	}
	in := http.MaxBytesReader(w, r.Body, limits.Body)
	buf := buffers.Get().(*[64 << 10]byte)
	defer buffers.Put(buf)
	for {
		n, err := in.Read(buf[:])
		b.Write(buf[:n])
		up.bytes.Add(int64(n))
		var large *http.MaxBytesError
		switch {
		case l.bytes.Add(int64(n)) > limits.Bodies:
			return "", fail("busy", "the bodies of all requests together have more than %d bytes", limits.Bodies)
		case err == io.EOF:
			return b.String(), nil
		case errors.As(err, &large):
			return "", too
		case up.cut.Load():
			return "", fail("too_slow", "other requests need the place of this one, which was received too slowly")
		case errors.Is(err, os.ErrDeadlineExceeded):
			return "", fail("too_slow", "the body was not received in time")
		case err != nil:
			return "", fail("bad_request", "the body ended early: %v", err)
		}
	}
}

var buffers = sync.Pool{New: func() any { return new([64 << 10]byte) }}

// release gives back the bytes that read took.
func (l *limiter) release(bytes int) { l.bytes.Add(-int64(bytes)) }
