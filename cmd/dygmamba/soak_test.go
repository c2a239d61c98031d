package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
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
	s.load.finish(t)
	s.settle(t)
	s.report.finish(s)
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
		time.Sleep(soakSettle)
		span.To = s.since()
		s.mu.Lock()
		s.kills = append(s.kills, span)
		s.mu.Unlock()
		t.Logf("%6.1f s: killed %s, all as before after %.1f s; %s", span.From, span.What, span.To-span.From,
			s.load.line())
		s.interim(t)
	}
}

// interim writes the figures so far: a soak that is ended early is not lost.
func (s *soak) interim(t *testing.T) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.load.mu.Lock()
	defer s.load.mu.Unlock()
	r := s.report
	r.Problems = []string{"not finished"}
	r.Seconds = s.since()
	r.finish(s)
	r.save(t)
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

// settle waits until all servers know all events with the same cut, and compares them with each other and with a server
// that reads the stream from its beginning.
func (s *soak) settle(t *testing.T) {
	fresh := &soakReplica{args: append([]string{}, s.replicas[0].args...)}
	fresh.args[5] = t.TempDir() // of --store
	s.start(t, fresh)
	defer func() { fresh.cmd.Process.Kill(); fresh.cmd.Wait() }()
	var first string
	for i, r := range append(s.replicas[:], fresh) {
		state := s.finalState(t, r)
		if i == 0 {
			first = state
		} else if state != first {
			s.report.problem("server %d of 4 ends with %s, the first one with %s", i+1, state, first)
		}
	}
	s.report.State = first
}

// finalState is what a server knows when its cut moves no more, and a few of its answers.
func (s *soak) finalState(t *testing.T, r *soakReplica) string {
	t.Helper()
	c := r.client(time.Minute)
	want := s.load.sequences(&s.report)
	cut, same := 0.0, time.Now()
	for began := time.Now(); time.Since(same) < 5*time.Second; time.Sleep(200 * time.Millisecond) {
		doc, err := soakStatus(t.Context(), c.URL)
		if err != nil || doc.Last != want || doc.Retention.Moving || doc.Retention.Cut != cut {
			same, cut = time.Now(), doc.Retention.Cut
		}
		if time.Since(began) > 3*time.Minute {
			s.report.problem("a server knows %d of %d events, moving its cut: %v, %v", doc.Last, want,
				doc.Retention.Moving, err)
			return "nothing final"
		}
	}
	state, err := c.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf("cut %v, %d events, sha256 %s, scores", cut, state.Came, state.SHA256)
	for i := range 5 {
		answer, err := c.Score(t.Context(), client.Query{Src: fmt.Sprint(1 + i), Dst: fmt.Sprint(1000 + i)})
		if err != nil {
			t.Fatal(err)
		}
		text += fmt.Sprint(" ", answer.Scores[0].Logit)
	}
	return text
}

func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
