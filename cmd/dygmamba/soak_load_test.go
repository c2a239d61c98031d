package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dygmamba/dygmamba/client"
)

// A round of the load: one request with events, some scores, and now and then a ranking.
const (
	soakEvents  = 50 // of a request
	soakScores  = 4
	soakRank    = 5 // a ranking every so many rounds
	soakLate    = 100
	soakWorkers = 64
	soakSources = 300
)

// soakLoad sends requests as a load balancer would: to one server after another, and to the next one after an error.
type soakLoad struct {
	replicas []*soakReplica
	base     float64 // the time of the first event
	began    time.Time
	turn     atomic.Int64
	number   atomic.Int64 // of requests with events

	mu       sync.Mutex // guards what follows
	start    time.Time  // of the load proper; zero while throughput is measured
	scores   []soakTime
	rankings []soakTime
	ingests  []soakTime
	receipts []soakReceipt
	pending  map[int64]bool // requests with events that were not acknowledged
	newest   uint64
	failed   []soakFailure
	stale    []string
	behind   int // requests that were due and had to wait for a free worker for more than a second
}

// soakTime is when a request was due, in seconds, and how long its answer took.
type soakTime struct {
	at   float64
	took time.Duration
}

// soakReceipt is what a server acknowledged, and how to make the events of that request again.
type soakReceipt struct {
	client.Receipt
	number int64
	now    float64
}

type soakFailure struct {
	at  float64
	err string
}

var soakClients sync.Map // by timeout

func soakHTTP(timeout time.Duration) *http.Client {
	c, _ := soakClients.LoadOrStore(timeout, &http.Client{Timeout: timeout,
		Transport: &http.Transport{MaxIdleConnsPerHost: 2 * soakWorkers, IdleConnTimeout: 5 * time.Second}})
	return c.(*http.Client)
}

// newSoakLoad makes events that begin right after those of the data set.
func newSoakLoad(t *testing.T, replicas []*soakReplica) *soakLoad {
	status, err := replicas[0].client(time.Minute).Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return &soakLoad{replicas: replicas, began: time.Now(), base: *status.LastTime + 1, pending: map[int64]bool{}}
}

// batch makes the events of a request: the same for the same number, but for its time.
func (l *soakLoad) batch(number int64, now float64) (list []client.Event) {
	rng := rand.New(rand.NewPCG(uint64(number), 28))
	for range soakEvents {
		e := client.Event{Src: fmt.Sprint(1 + rng.IntN(soakSources)), Dst: fmt.Sprint(1000 + rng.IntN(500)), Time: now}
		if rng.IntN(soakLate) == 0 {
			e.Time -= 10 * rng.Float64()
		}
		if rng.IntN(200) == 0 {
			e.Dst = fmt.Sprint(1_000_000 + number)
		}
		list = append(list, e)
	}
	return list
}

// try sends a request to one server after another until one answers.
func (l *soakLoad) try(ctx context.Context, due time.Time, send func(c *client.Client) error) (soakTime, error) {
	var err error
	for n := 0; n < 600 && ctx.Err() == nil; n++ {
		r := l.replicas[int(l.turn.Add(1))%len(l.replicas)]
		if r.dead.Load() && n%3 != 2 {
			continue
		}
		if err = send(r.client(20 * time.Second)); err == nil {
			return soakTime{due.Sub(l.start).Seconds(), time.Since(due)}, nil
		}
		var no *client.Error
		if errors.As(err, &no) && !no.Temporary() {
			break
		}
		if !r.dead.Load() && ctx.Err() == nil {
			l.mu.Lock()
			l.failed = append(l.failed, soakFailure{time.Since(l.start).Seconds(), err.Error()})
			l.mu.Unlock()
		}
		if n > 3 {
			time.Sleep(50 * time.Millisecond)
		}
	}
	return soakTime{}, cmp.Or(err, ctx.Err(), errSoakAway)
}

var errSoakAway = errors.New("no server answers")

// ingest adds a request of events, and asks one of the servers about them.
func (l *soakLoad) ingest(ctx context.Context, due time.Time) error {
	number := l.number.Add(1)
	now := l.base + time.Since(l.began).Seconds()
	events := l.batch(number, now)
	l.mu.Lock()
	l.pending[number] = true
	l.mu.Unlock()
	var got client.Receipt
	ctx = context.WithoutCancel(ctx) // whatever was begun has to be acknowledged, also after the end
	took, err := l.try(ctx, due, func(c *client.Client) (err error) {
		got, err = c.IngestAs(ctx, fmt.Sprint("soak-", number), events)
		return err
	})
	if err != nil {
		return fmt.Errorf("request %d with events: %w", number, err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.pending, number)
	l.receipts = append(l.receipts, soakReceipt{got, number, now})
	l.ingests = append(l.ingests, took)
	l.newest = max(l.newest, got.Last)
	return nil
}

// score asks about a pair; every tenth time for an answer that knows the latest acknowledged event.
func (l *soakLoad) score(ctx context.Context, due time.Time) error {
	var least uint64
	if rand.IntN(10) == 0 {
		l.mu.Lock()
		least = l.newest
		l.mu.Unlock()
	}
	q := client.Query{Src: fmt.Sprint(1 + rand.IntN(soakSources)), Dst: fmt.Sprint(1000 + rand.IntN(500))}
	var got client.Scores
	took, err := l.try(ctx, due, func(c *client.Client) (err error) {
		got, err = c.ScoreAfter(ctx, least, q)
		return err
	})
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if got.AsOf < least {
		l.stale = append(l.stale, fmt.Sprintf("an answer is as of %d, asked for %d", got.AsOf, least))
	}
	if least == 0 { // the others wait for the stream
		l.scores = append(l.scores, took)
	}
	return nil
}

func (l *soakLoad) rank(ctx context.Context, due time.Time) error {
	took, err := l.try(ctx, due, func(c *client.Client) error {
		_, err := c.Rank(ctx, client.Ranking{Src: fmt.Sprint(1 + rand.IntN(soakSources)), K: 10})
		return err
	})
	if err == nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.rankings = append(l.rankings, took)
	}
	return err
}

// measure is how many rounds a second the servers answer when each client waits for its answer only. It counts once old
// events are dropped as fast as new ones come, which takes a part of the time.
func (l *soakLoad) measure(t *testing.T, retain time.Duration) float64 {
	ctx, cancel := context.WithTimeout(t.Context(), 2*retain)
	defer cancel()
	var rounds atomic.Int64
	var group sync.WaitGroup
	l.start = time.Now()
	for range 12 {
		group.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				l.ingest(context.WithoutCancel(ctx), time.Now())
				for range soakScores {
					l.score(ctx, time.Now())
				}
				if n%soakRank == 0 {
					l.rank(ctx, time.Now())
				}
				if time.Since(l.start) > retain+retain/10 {
					rounds.Add(1)
				}
			}
		})
	}
	group.Wait()
	l.scores, l.rankings, l.ingests, l.failed = nil, nil, nil, nil
	return float64(rounds.Load()) / (time.Since(l.start) - retain - retain/10).Seconds()
}

// run sends so many rounds a second until ctx ends, whether the answers before have come or not.
func (l *soakLoad) run(ctx context.Context, perSecond float64) {
	l.start = time.Now()
	var group sync.WaitGroup
	for _, kind := range []struct {
		rate float64
		send func(context.Context, time.Time) error
	}{{perSecond, l.ingest}, {perSecond * soakScores, l.score}, {perSecond / soakRank, l.rank}} {
		due := make(chan time.Time, 100_000)
		for range soakWorkers {
			group.Go(func() {
				for at := range due {
					if ctx.Err() != nil {
						return
					}
					waited := time.Since(at) > time.Second
					err := kind.send(ctx, at)
					l.mu.Lock()
					if waited {
						l.behind++
					}
					if err != nil && ctx.Err() == nil {
						l.failed = append(l.failed, soakFailure{at.Sub(l.start).Seconds(), err.Error()})
					}
					l.mu.Unlock()
				}
			})
		}
		group.Go(func() {
			defer close(due)
			gap := time.Duration(float64(time.Second) / kind.rate)
			for next := l.start; ctx.Err() == nil; next = next.Add(gap) {
				if wait := time.Until(next); wait > 0 {
					time.Sleep(wait)
				}
				select {
				case due <- time.Now(): // not next: how late this process wakes up is not the servers' fault
				default: // so far behind that nothing waits any more
				}
			}
		})
	}
	group.Wait()
}

// line is where the load stands.
func (l *soakLoad) line() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return fmt.Sprintf("%d events acknowledged, %d scores, %d rankings, %d attempts failed", soakEvents*len(l.receipts),
		len(l.scores), len(l.rankings), len(l.failed))
}
