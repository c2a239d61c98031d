package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dygmamba/dygmamba/client"
	"github.com/dygmamba/dygmamba/internal/brokertest"
)

// TestSoak lets three servers of one stream on three brokers work for as long as DYGMAMBA_SOAK says, with events, late
// ones among them, scores, rankings and reloads at half of what this machine can do. It kills a server or a broker
// every minute, in turn. Nothing may be lost, and neither the time of a score nor memory may grow. The figures are
// written to the file that DYGMAMBA_SOAK_OUT names. `make soak` does so for an hour.
func TestSoak(t *testing.T) {
	d, err := time.ParseDuration(os.Getenv("DYGMAMBA_SOAK"))
	if err != nil || runtime.GOOS != "linux" {
		t.Skip("takes long: make soak")
	}
	s := newSoak(t, d)
	s.load = newSoakLoad(t, s.replicas[:])
	s.report.Throughput = s.load.measure(t, time.Duration(s.report.Retain*float64(time.Second)))
	t.Logf("throughput: %.1f rounds/s", s.report.Throughput)

	ctx, stop := context.WithCancel(t.Context())
	var group sync.WaitGroup
	s.began = time.Now()
	group.Go(func() { s.load.run(ctx, s.report.Throughput/2) })
	group.Go(func() { s.reload(ctx, d/30) })
	group.Go(func() { s.watch(ctx, max(d/720, time.Second)) })
	s.disturb(t, d)
	stop()
	group.Wait()
	s.report.finish(s.seen())
	s.report.save(t) // before anything else can fail
	s.check(t)
	t.Logf("%s", s.report.save(t))
	for _, problem := range s.report.Problems {
		t.Error(problem)
	}
}

// soakReplica is one of the servers, which is started again after it was killed.
type soakReplica struct {
	args []string
	cmd  *exec.Cmd
	url  atomic.Pointer[string] // where it listens
	dead atomic.Bool            // it was killed and is not ready yet
}

func (r *soakReplica) client(timeout time.Duration) *client.Client {
	c := client.New(*r.url.Load())
	c.Tries, c.HTTP = 1, soakHTTP(timeout)
	return c
}

type soak struct {
	small    smallRun
	brokers  brokertest.Cluster
	replicas [3]*soakReplica
	load     *soakLoad
	report   soakReport
	began    time.Time

	mu      sync.Mutex // guards what follows
	kills   []soakSpan
	memory  []soakMemory
	reloads int
}

// soakSpan is a time from a kill until all was as before.
type soakSpan struct {
	What string  `json:"what"`
	From float64 `json:"from_s"` // since the beginning
	To   float64 `json:"to_s"`
}

// soakSettle is how long after a restart scores are still not counted.
const soakSettle = 2 * time.Second

func newSoak(t *testing.T, d time.Duration) *soak {
	s := &soak{small: trainedRun(t), brokers: brokertest.NewCluster(t)}
	retain := min(max(d/60, 10*time.Second), time.Minute)
	s.report = newSoakReport(d, retain)
	for i := range s.replicas {
		r := &soakReplica{args: []string{"--log", s.brokers.URLs(), "--stream", "soak", "--store",
			filepath.Join(t.TempDir(), fmt.Sprint(i)), "--snapshot-every", "50000",
			"--retain", fmt.Sprint(retain.Seconds()), "--timeout", "20s"}}
		s.replicas[i] = r
		s.start(t, r)
		t.Cleanup(func() { r.cmd.Process.Kill(); r.cmd.Wait() })
	}
	return s
}

func (s *soak) start(t *testing.T, r *soakReplica) {
	cmd, url := s.small.start(t, r.args...)
	r.cmd = cmd
	r.url.Store(&url)
}

func (s *soak) since() float64 { return time.Since(s.began).Seconds() }

// disturb kills a server or a broker every minute, or six times in a short run, and starts it again.
func (s *soak) disturb(t *testing.T, d time.Duration) {
	every := min(time.Minute, d/6)
	for n := 0; ; n++ {
		next := s.began.Add(time.Duration(n)*every + every/2)
		if end := s.began.Add(d); next.After(end) || t.Failed() {
			time.Sleep(time.Until(end))
			return
		}
		time.Sleep(time.Until(next))
		span := soakSpan{From: s.since()}
		if i := n / 2 % 3; n%2 == 0 {
			span.What = fmt.Sprint("server ", i+1)
			r := s.replicas[i]
			r.dead.Store(true)
			r.cmd.Process.Kill()
			r.cmd.Wait()
			s.start(t, r)
			r.dead.Store(false)
		} else {
			b := s.brokers[i]
			span.What = "broker " + b.Name
			b.Kill()
			time.Sleep(min(2*time.Second, every/10))
			b.Start(t)
			s.brokers.AwaitWhole(t, "soak")
		}
		took := s.since() - span.From
		s.interim(t, span) // now, as scores are not counted: this takes a processor for a moment
		time.Sleep(soakSettle)
		span.To = s.since()
		s.mu.Lock()
		s.kills = append(s.kills, span)
		s.mu.Unlock()
		t.Logf("%6.1f s: killed %s, back after %.1f s; %s", span.From, span.What, took, s.load.line())
	}
}

// interim writes the figures so far, with a kill that is not over: a soak that is ended early is not lost.
func (s *soak) interim(t *testing.T, now soakSpan) {
	seen := s.seen()
	now.To = s.since()
	seen.kills = append(seen.kills, now)
	r := s.report
	r.Problems = []string{"not finished"}
	r.Seconds = s.since()
	r.finish(seen)
	r.save(t)
}

// seen is a copy of all that was noted so far: nobody waits while figures are made of it.
func (s *soak) seen() soakSeen {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.load
	l.mu.Lock()
	defer l.mu.Unlock()
	return soakSeen{kills: slices.Clone(s.kills), memory: slices.Clone(s.memory), reloads: s.reloads,
		scores: slices.Clone(l.scores), rankings: slices.Clone(l.rankings), ingests: slices.Clone(l.ingests),
		failed: slices.Clone(l.failed), stale: slices.Clone(l.stale), behind: l.behind}
}

// reload loads the checkpoint of one server after another again.
func (s *soak) reload(ctx context.Context, every time.Duration) {
	for n := 0; pause(ctx, every); n++ {
		r := s.replicas[n%len(s.replicas)]
		if r.dead.Load() {
			continue
		}
		if err := r.client(time.Minute).Reload(ctx, ""); err == nil {
			s.mu.Lock()
			s.reloads++
			s.mu.Unlock()
		}
	}
}

func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
