package brokertest

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Cluster is three brokers that have the same streams.
type Cluster [3]*Broker

// NewCluster starts three, until the test ends.
func NewCluster(t *testing.T) Cluster {
	t.Helper()
	clients, routes := ports(t, 3), ports(t, 3)
	dir := t.TempDir()
	var c Cluster
	for i, name := range []string{"first", "second", "third"} {
		c[i] = &Broker{Name: name, Dir: filepath.Join(dir, name), Port: clients[i], Cluster: routes[i], Routes: routes}
		c[i].Start(t)
		t.Cleanup(c[i].Kill)
	}
	return c
}

// URLs is where the three listen, in one string.
func (c Cluster) URLs() string { return c[0].URL() + "," + c[1].URL() + "," + c[2].URL() }

// AwaitWhole waits until all three have all of a stream: of three, one may be missing at a time.
func (c Cluster) AwaitWhole(t *testing.T, stream string) {
	t.Helper()
	conn, err := nats.Connect(c.URLs(), nats.MaxReconnects(-1))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	for began := time.Now(); time.Since(began) < time.Minute; time.Sleep(50 * time.Millisecond) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		s, err := js.Stream(ctx, stream)
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
