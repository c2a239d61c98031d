package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dygmamba/dygmamba/client"
	"github.com/dygmamba/dygmamba/internal/brokertest"
	"github.com/dygmamba/dygmamba/internal/eventlogtest"
)

// child is the program in a process of its own: the test's, when the environment says so.
const childArgs = "DYGMAMBA_TEST_ARGS"

// runAsChild is the program, or a broker, if this process was started to be it.
func runAsChild() {
	brokertest.RunAsChild()
	if len(os.Args) == 2 && os.Args[1] == workerCommand { // started by a study, or by a worker of one
		os.Unsetenv(childArgs)
		os.Exit(launch(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
	if args := os.Getenv(childArgs); args != "" {
		ctx, interrupt := context.WithCancel(context.Background())
		heed(interrupt)
		os.Exit(launch(ctx, strings.Split(args, "\n"), os.Stdin, os.Stdout, os.Stderr))
	}
}

// TestServeCrash kills a server with SIGKILL again and again while clients send events, and checks from outside that
// nothing that was acknowledged is lost, that nothing is there twice, and that the state in the end is that of a server
// that was never interrupted. DYGMAMBA_CRASHES says how often; `make crash` does so 200 times with each log.
func TestServeCrash(t *testing.T) {
	if testing.Short() || runtime.GOOS == "windows" {
		t.Skip("kills processes")
	}
	w := trainedRun(t)
	t.Run("embedded", func(t *testing.T) {
		w.crash(t, eventlogtest.Crashes(3), "--snapshot-every", "500", "--store", t.TempDir())
	})
	t.Run("jetstream", func(t *testing.T) {
		w.crash(t, eventlogtest.Crashes(2), "--snapshot-every", "500", "--store", t.TempDir(), "--log", broker(t),
			"--stream", "crash")
	})
}

// TestServeCrashOfEachBroker kills each broker of a cluster of three in turn while a server takes events of several
// clients, and checks from outside that the server goes on, that nothing is lost or there twice, and that its state is
// that of a server that reads the log afterwards.
func TestServeCrashOfEachBroker(t *testing.T) {
	if os.Getenv("DYGMAMBA_CRASHES") == "" || runtime.GOOS == "windows" {
		t.Skip("takes a minute of elections: make crash")
	}
	w, c := trainedRun(t), brokertest.NewCluster(t)
	args := []string{"--snapshot-every", "500", "--store", t.TempDir(), "--log", c.URLs(), "--stream", "three"}
	cmd, url := w.start(t, args...)
	defer func() { cmd.Process.Signal(os.Interrupt); cmd.Wait() }()
	senders := newSenders()
	ctx, stop := context.WithCancel(t.Context())
	var group sync.WaitGroup
	defer func() { stop(); group.Wait() }()
	for _, s := range senders {
		group.Go(func() {
			for ctx.Err() == nil { // whatever was not acknowledged is sent again
				if err := s.send(ctx, url); err != nil {
					t.Error(err)
					return
				}
				time.Sleep(10 * time.Millisecond)
			}
		})
	}
	more := func(what string) {
		t.Helper()
		began, goal := time.Now(), acknowledged(senders)+300
		for acknowledged(senders) < goal {
			if time.Sleep(5 * time.Millisecond); time.Since(began) > time.Minute || t.Failed() {
				t.Fatalf("%s: nothing more is acknowledged", what)
			}
		}
		t.Logf("%s: 300 more batches acknowledged in %v", what, time.Since(began).Round(time.Millisecond))
	}
	more("all three")
	for _, b := range c {
		b.Kill()
		more(b.Name + " was killed")
		b.Start(t)
		c.AwaitWhole(t, "three")
		more(b.Name + " is back")
	}
	stop()
	group.Wait()
	w.check(t, url, senders, args)
	t.Logf("3 kills, %d batches acknowledged", acknowledged(senders))
}

// Two servers that follow one stream know the same and answer the same, whichever of them was told.
func TestServersOfOneStream(t *testing.T) {
	if testing.Short() || runtime.GOOS == "windows" {
		t.Skip("starts processes")
	}
	w, log := trainedRun(t), broker(t)
	var urls [2]string
	for i := range urls {
		cmd, url := w.start(t, "--log", log, "--stream", "both")
		defer func() { cmd.Process.Kill(); cmd.Wait() }()
		urls[i] = url
	}
	var group sync.WaitGroup
	sent := 0
	for i, url := range urls {
		s := &sender{id: i}
		for k := range 30 {
			sent += len(s.batch(k))
		}
		group.Go(func() {
			c := client.New(url)
			for k := range 30 {
				if _, err := c.IngestAs(t.Context(), s.key(k), s.batch(k)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	for _, url := range urls {
		for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
			s, err := client.New(url).Status(t.Context())
			if err != nil || time.Since(began) > 20*time.Second {
				t.Fatalf("%+v, %v; want the %d events that were sent to both", s, err, sent)
			}
			if s.Last == uint64(sent) {
				break
			}
		}
	}
	state, scores := stateOf(t, urls[0])
	if s, l := stateOf(t, urls[1]); s != state || l != scores {
		t.Errorf("state %s with scores %s, and %s with %s", state, scores, s, l)
	}
}

// broker starts a NATS server that puts every message on the disk.
func broker(t *testing.T) string {
	t.Helper()
	return brokertest.Run(t, brokertest.Settings(t.TempDir())).ClientURL()
}

// start starts a server in a process of its own and returns where it listens.
func (w smallRun) start(t *testing.T, args ...string) (*exec.Cmd, string) {
	t.Helper()
	args = append([]string{"serve", "--checkpoint", w.run, "--data", w.data, "--listen", "127.0.0.1:0",
		"--device", "cpu", "--threads", "1"}, args...)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childArgs+"="+strings.Join(args, "\n"))
	errs, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	said := ""
	lines := bufio.NewScanner(errs)
	for lines.Scan() {
		if url, ok := strings.CutPrefix(lines.Text(), "listening on "); ok {
			go io.Copy(io.Discard, errs)
			return cmd, url
		}
		said += lines.Text() + "\n"
	}
	t.Fatalf("the server did not start:\n%s", said)
	return nil, ""
}

// sender is a client that sends one batch after another, each until it is acknowledged, whatever happens to the server.
type sender struct {
	id       int
	next     int
	receipts map[string]client.Receipt
	heard    atomic.Int64 // of this many
}

func newSenders() []*sender {
	senders := make([]*sender, 6)
	for i := range senders {
		senders[i] = &sender{id: i, receipts: map[string]client.Receipt{}}
	}
	return senders
}

// acknowledged is how many batches of all were.
func acknowledged(senders []*sender) (n int64) {
	for _, s := range senders {
		n += s.heard.Load()
	}
	return n
}

func (s *sender) key(i int) string { return fmt.Sprintf("s%d-%d", s.id, i) }

func (s *sender) batch(i int) (list []client.Event) {
	for k := range 1 + (s.id*7+i)%20 {
		list = append(list, client.Event{Src: fmt.Sprint(1 + (i+k)%30), Dst: fmt.Sprint(1000*(s.id+1) + i%50),
			Time: 1e7 + float64(i*100+k)})
	}
	return list
}

// send sends until the server is gone.
func (s *sender) send(ctx context.Context, url string) error {
	c := client.New(url)
	c.Tries = 1
	for ctx.Err() == nil {
		r, err := c.IngestAs(ctx, s.key(s.next), s.batch(s.next))
		var no *client.Error
		switch {
		case errors.As(err, &no) && no.Status != 503:
			return err
		case err != nil:
			return nil // it is gone; the same batch again, when it is back
		case r.Accepted != len(s.batch(s.next)):
			return fmt.Errorf("%s: %d events were accepted, %d sent", s.key(s.next), r.Accepted, len(s.batch(s.next)))
		}
		s.receipts[s.key(s.next)] = r
		s.next++
		s.heard.Add(1)
	}
	return nil
}

func (w smallRun) crash(t *testing.T, rounds int, args ...string) {
	senders := newSenders()
	for round := range rounds {
		cmd, url := w.start(t, args...)
		var group sync.WaitGroup
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		for _, s := range senders {
			group.Go(func() {
				if err := s.send(ctx, url); err != nil {
					t.Errorf("round %d: %v", round, err)
				}
			})
		}
		time.Sleep(time.Duration(rand.IntN(150)) * time.Millisecond)
		cmd.Process.Kill()
		cmd.Wait()
		cancel()
		group.Wait()
		if t.Failed() {
			return
		}
	}
	kept := filepath.Join(args[slices.Index(args, "--store")+1], "snapshot")
	if _, err := os.Stat(kept); err != nil && rounds >= 20 {
		t.Errorf("%d restarts and no snapshot: %v", rounds, err)
	}
	cmd, url := w.start(t, args...)
	defer func() { cmd.Process.Signal(os.Interrupt); cmd.Wait() }()
	w.check(t, url, senders, args)
	t.Logf("%d kills, %d batches acknowledged", rounds, acknowledged(senders))
}

// check holds what a server has against what the senders were told, and against a server that reads the whole log.
func (w smallRun) check(t *testing.T, url string, senders []*sender, args []string) {
	t.Helper()
	c := client.New(url)
	events := 0
	ends := map[uint64]string{}
	for _, s := range senders {
		r, err := c.IngestAs(t.Context(), s.key(s.next), s.batch(s.next)) // what nobody heard about
		if err != nil {
			t.Fatal(err)
		}
		s.receipts[s.key(s.next)] = r
		for i := range s.next + 1 {
			r := s.receipts[s.key(i)]
			if other, taken := ends[r.Last]; taken {
				t.Errorf("%s and %s both end at %d", other, s.key(i), r.Last)
			}
			ends[r.Last] = s.key(i)
			events += r.Accepted
		}
	}
	for _, s := range senders { // what was acknowledged is known, and taken once
		for i := range s.next + 1 {
			if i%7 == 0 {
				if r, err := c.IngestAs(t.Context(), s.key(i), s.batch(i)); err != nil || r != s.receipts[s.key(i)] {
					t.Errorf("%s sent again: %+v, %v; want %+v", s.key(i), r, err, s.receipts[s.key(i)])
				}
			}
		}
	}
	status, err := c.Status(t.Context())
	if err != nil || status.Last != uint64(events) {
		t.Errorf("%d events were acknowledged, the server has %d (%v)", events, status.Last, err)
	}
	state, scores := stateOf(t, url)
	args = append([]string{}, args...)
	for i, a := range args {
		if a == "--store" {
			args[i+1] = strip(t, args[i+1])
		}
	}
	fresh, other := w.start(t, args...)
	defer func() { fresh.Process.Signal(os.Interrupt); fresh.Wait() }()
	if s, l := stateOf(t, other); s != state || l != scores {
		t.Errorf("state %s with scores %s, one that was never interrupted has %s with %s", state, scores, s, l)
	}
	t.Logf("%d events acknowledged", events)
}

// strip is a copy of a store without its snapshot.
func strip(t *testing.T, store string) string {
	t.Helper()
	dir := t.TempDir()
	if raw, err := os.ReadFile(filepath.Join(store, "events.db")); err == nil {
		if err := os.WriteFile(filepath.Join(dir, "events.db"), raw, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// stateOf is what a server knows, and a few of its answers.
func stateOf(t *testing.T, url string) (state, scores string) {
	t.Helper()
	c := client.New(url)
	s, err := c.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		answer, err := c.Score(t.Context(), client.Query{Src: fmt.Sprint(1 + i), Dst: fmt.Sprint(1000*(i+1) + i)})
		if err != nil {
			t.Fatal(err)
		}
		scores += fmt.Sprint(answer.Scores[0].Logit, " ")
	}
	return s.SHA256, scores
}
