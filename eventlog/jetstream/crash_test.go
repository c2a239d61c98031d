package jetstream

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dygmamba/dygmamba/eventlog"
	"github.com/dygmamba/dygmamba/internal/brokertest"
	"github.com/dygmamba/dygmamba/internal/eventlogtest"
)

// TestMain is a broker, or a process that appends, where a test started it as one.
func TestMain(m *testing.M) {
	brokertest.RunAsChild()
	if url := os.Getenv("EVENTLOG_CRASH_URL"); url != "" {
		fmt.Fprintln(os.Stderr, ingest(url))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// ingest is a process that appends until it is killed.
func ingest(url string) error {
	round, err := strconv.Atoi(os.Getenv("EVENTLOG_CRASH_ROUND"))
	if err != nil {
		return err
	}
	l, err := Open(context.Background(), url, Options{})
	if err != nil {
		return err
	}
	return eventlogtest.Ingest(l, round, os.Stdout)
}

// TestCrash kills, by turns, the process that appends, it and the broker at once, and the broker alone, which comes
// back while the other goes on. A checker outside sees that nothing acknowledged is lost, nothing is there twice and
// every key is remembered. `make crash` does so 200 times.
func TestCrash(t *testing.T) {
	b := brokertest.New(t)
	var c eventlogtest.Checker
	rounds := eventlogtest.Crashes(3)
	for round := range rounds {
		child := exec.Command(os.Args[0])
		child.Env = append(os.Environ(), "EVENTLOG_CRASH_URL="+b.URL(), fmt.Sprint("EVENTLOG_CRASH_ROUND=", round))
		c.Round(t, round, child, func() {
			switch round % 3 {
			case 1:
				b.Kill()
			case 2:
				b.Kill()
				b.Start(t)
				time.Sleep(time.Duration(rand.IntN(300)) * time.Millisecond)
			}
		})
		if round%3 == 1 {
			b.Start(t)
		}
		l := open(t, b.URL(), Options{})
		c.Check(t, round, l)
		l.Close()
		if t.Failed() {
			t.FailNow()
		}
	}
	c.Finish(t, open(t, b.URL(), Options{}))
	t.Logf("%d kills, %d batches acknowledged", rounds, c.Acknowledged)
}

// TestCrashOfEachInACluster kills each broker of three in turn while batches arrive: appends go on, none is lost, none
// is there twice, and those who follow see the same.
func TestCrashOfEachInACluster(t *testing.T) {
	if os.Getenv("DYGMAMBA_CRASHES") == "" {
		t.Skip("takes a minute of elections: make crash")
	}
	c := brokertest.NewCluster(t)
	l := open(t, c.URLs(), Options{Patience: time.Minute})
	if info, err := l.stream(context.Background()); err != nil || info.Config.Replicas != 3 {
		t.Fatalf("%+v, %v, want three replicas", info, err)
	}
	stop := make(chan struct{})
	var wg sync.WaitGroup
	var acknowledged atomic.Int64
	var receipts sync.Map
	for w := range 8 {
		wg.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				key := fmt.Sprint(w, "/", i)
				r, err := l.Append(context.Background(), key, eventlogtest.Events(key, 1+i%5))
				if err != nil || r.Again || r.Accepted != 1+i%5 {
					t.Errorf("%s: %+v, %v", key, r, err)
					return
				}
				receipts.Store(key, r)
				acknowledged.Add(1)
			}
		})
	}
	more := func(what string) {
		t.Helper()
		began, goal := time.Now(), acknowledged.Load()+200
		for acknowledged.Load() < goal {
			if time.Sleep(5 * time.Millisecond); time.Since(began) > time.Minute || t.Failed() {
				t.Fatalf("%s: nothing more is acknowledged", what)
			}
		}
		t.Logf("%s: 200 more acknowledged in %v", what, time.Since(began).Round(time.Millisecond))
	}
	more("all three")
	for _, b := range c {
		b.Kill()
		more(b.Name + " was killed")
		b.Start(t)
		c.AwaitWhole(t, l.o.Stream)
		more(b.Name + " is back")
	}
	close(stop)
	wg.Wait()
	for _, b := range c {
		follower := open(t, b.URL(), Options{})
		seen := map[string]bool{}
		for _, batch := range eventlogtest.Read(t, follower, 0) {
			if seen[batch.Key] {
				t.Errorf("%s sees %s twice", b.Name, batch.Key)
			}
			seen[batch.Key] = true
			if r, ok := receipts.Load(batch.Key); !ok || r.(eventlog.Receipt).Last != batch.Last {
				t.Errorf("%s sees %s with %d, its receipt is %v", b.Name, batch.Key, batch.Last, r)
			}
		}
		if int64(len(seen)) != acknowledged.Load() {
			t.Errorf("%s sees %d batches, %d were acknowledged", b.Name, len(seen), acknowledged.Load())
		}
	}
	t.Logf("%d batches acknowledged", acknowledged.Load())
}
