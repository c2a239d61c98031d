package jetstream

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dygmamba/dygmamba/eventlog"
	"github.com/dygmamba/dygmamba/eventlog/eventlogtest"
)

// TestCrash kills, by turns, the process that appends, it and the broker at once, and the broker alone, which comes
// back while the other goes on. A checker outside sees that nothing acknowledged is lost, nothing is there twice and
// every key is remembered. `make crash` does so 200 times.
func TestCrash(t *testing.T) {
	b := &broker{Name: "one", Dir: t.TempDir(), Port: ports(t, 1)[0]}
	b.start(t)
	t.Cleanup(func() { b.kill() })
	var c eventlogtest.Checker
	rounds := eventlogtest.Crashes(3)
	for round := range rounds {
		child := exec.Command(os.Args[0])
		child.Env = append(os.Environ(), "EVENTLOG_CRASH_URL="+b.url(), fmt.Sprint("EVENTLOG_CRASH_ROUND=", round))
		c.Round(t, round, child, func() {
			switch round % 3 {
			case 1:
				b.kill()
			case 2:
				b.kill()
				b.start(t)
				time.Sleep(time.Duration(rand.IntN(300)) * time.Millisecond)
			}
		})
		if round%3 == 1 {
			b.start(t)
		}
		l := open(t, b.url(), Options{})
		c.Check(t, round, l)
		l.Close()
		if t.Failed() {
			t.FailNow()
		}
	}
	c.Finish(t, open(t, b.url(), Options{}))
	t.Logf("%d kills, %d batches acknowledged", rounds, c.Acknowledged)
}

// TestCrashOfEachInACluster kills each broker of three in turn while batches arrive: appends go on, none is lost, none
// is there twice, and those who follow see the same.
func TestCrashOfEachInACluster(t *testing.T) {
	if os.Getenv("DYGMAMBA_CRASHES") == "" {
		t.Skip("takes a minute of elections: make crash")
	}
	c := newCluster(t)
	l := open(t, c.urls(), Options{Patience: time.Minute})
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
		b.kill()
		more(b.Name + " was killed")
		b.start(t)
		c.awaitWhole(t, l)
		more(b.Name + " is back")
	}
	close(stop)
	wg.Wait()
	for _, b := range c {
		follower := open(t, b.url(), Options{})
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

type cluster [3]*broker

func newCluster(t *testing.T) cluster {
	clients, routes := ports(t, 3), ports(t, 3)
	dir := t.TempDir()
	var c cluster
	for i, name := range []string{"first", "second", "third"} {
		c[i] = &broker{Name: name, Dir: filepath.Join(dir, name), Port: clients[i], Cluster: routes[i], Routes: routes}
		c[i].start(t)
		t.Cleanup(func() { c[i].kill() })
	}
	return c
}

func (c cluster) urls() string {
	return c[0].url() + "," + c[1].url() + "," + c[2].url()
}

// awaitWhole waits until all three have all of the stream: of three, one may be missing at a time.
func (c cluster) awaitWhole(t *testing.T, l *Log) {
	t.Helper()
	for began := time.Now(); time.Since(began) < time.Minute; time.Sleep(50 * time.Millisecond) {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		s, err := l.js.Stream(ctx, l.o.Stream)
		cancel()
		if err != nil || s.CachedInfo().Cluster == nil {
			continue
		}
		current := 0
		for _, r := range s.CachedInfo().Cluster.Replicas {
			if r.Current && !r.Offline {
				current++
			}
		}
		if current == 2 {
			return
		}
	}
	t.Fatal("the cluster does not become whole again")
}
