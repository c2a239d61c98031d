// Package brokertest answers: what if a NATS server goes away? Its servers run in the process of a test, or in
// processes of their own that can be killed, alone or as a cluster of three.
package brokertest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Settings are those of a server that has on disk what it acknowledges, and listens where there is room.
func Settings(dir string) *server.Options {
	return &server.Options{
		Host: "127.0.0.1", Port: -1, HTTPHost: "127.0.0.1", HTTPPort: -1, NoLog: true, NoSigs: true,
		JetStream: true, StoreDir: dir, SyncAlways: true, JetStreamMaxStore: 1 << 30, JetStreamMaxMemory: 1 << 26,
	}
}

// Run runs a server in this process until the test ends.
func Run(t testing.TB, o *server.Options) *server.Server {
	t.Helper()
	s, err := server.NewServer(o)
	if err != nil {
		t.Fatal(err)
	}
	go s.Start()
	if !s.ReadyForConnections(20 * time.Second) {
		t.Fatal("the server is not ready")
	}
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	return s
}

// Broker is a NATS server in a process of its own, which is the test program run again: it can be killed. The program's
// TestMain calls RunAsChild.
type Broker struct {
	Name, Dir string
	Port      int
	Cluster   int   // its port for the others; 0: it stands alone
	Routes    []int // ports of all
	process   *exec.Cmd
}

// childSettings is the variable that makes a process a broker.
const childSettings = "EVENTLOG_BROKER"

// RunAsChild is a broker and does not return, if this process was started to be one.
func RunAsChild() {
	if text := os.Getenv(childSettings); text != "" {
		fmt.Fprintln(os.Stderr, serve(text))
		os.Exit(1)
	}
}

func serve(text string) error {
	var b Broker
	if err := json.Unmarshal([]byte(text), &b); err != nil {
		return err
	}
	o := Settings(b.Dir)
	o.Port, o.HTTPPort, o.ServerName, o.JetStreamMaxStore = b.Port, 0, b.Name, 16<<30
	if b.Cluster != 0 {
		o.Cluster = server.ClusterOpts{Name: "three", Host: "127.0.0.1", Port: b.Cluster}
		for _, port := range b.Routes {
			o.Routes = append(o.Routes, &url.URL{Scheme: "nats", Host: fmt.Sprint("127.0.0.1:", port)})
		}
	}
	go func() {
		io.Copy(io.Discard, os.Stdin)
		os.Exit(1)
	}()
	s, err := server.NewServer(o)
	if err != nil {
		return err
	}
	s.Start()
	s.WaitForShutdown()
	return errors.New("the broker ended")
}

// New starts a broker that stands alone, until the test ends.
func New(t *testing.T) *Broker {
	t.Helper()
	b := &Broker{Name: "one", Dir: t.TempDir(), Port: ports(t, 1)[0]}
	b.Start(t)
	t.Cleanup(b.Kill)
	return b
}

// URL is where it listens.
func (b *Broker) URL() string { return fmt.Sprint("nats://127.0.0.1:", b.Port) }

// Start starts the broker, or starts it again, and waits until it listens.
func (b *Broker) Start(t *testing.T) {
	t.Helper()
	text, err := json.Marshal(b)
	if err != nil {
		t.Fatal(err)
	}
	b.process = exec.Command(os.Args[0])
	b.process.Env = append(os.Environ(), childSettings+"="+string(text))
	b.process.Stderr = os.Stderr
	if _, err := b.process.StdinPipe(); err != nil { // ends with this process, and the broker with it
		t.Fatal(err)
	}
	if err := b.process.Start(); err != nil {
		t.Fatal(err)
	}
	for began := time.Now(); time.Since(began) < 20*time.Second; time.Sleep(5 * time.Millisecond) {
		if c, err := net.Dial("tcp", fmt.Sprint("127.0.0.1:", b.Port)); err == nil {
			c.Close()
			return
		}
	}
	t.Fatalf("broker %s does not listen", b.Name)
}

// Kill ends it as kill -9 does.
func (b *Broker) Kill() {
	b.process.Process.Kill()
	b.process.Wait()
}

func ports(t *testing.T, n int) []int {
	t.Helper()
	free := make([]int, n)
	for i := range free {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		free[i] = l.Addr().(*net.TCPAddr).Port
	}
	return free
}

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
