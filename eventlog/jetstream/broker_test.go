package jetstream

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
	"strconv"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/dygmamba/dygmamba/eventlog/eventlogtest"
)

// broker is a nats-server in a process of its own, which is this test program run again: it can be killed.
type broker struct {
	Name, Dir string
	Port      int
	Cluster   int   // its port for the others; 0: it stands alone
	Routes    []int // ports of all
	process   *exec.Cmd
}

func (b *broker) url() string { return fmt.Sprint("nats://127.0.0.1:", b.Port) }

// TestMain is a broker, or a process that appends, where a test started it as one.
func TestMain(m *testing.M) {
	if text := os.Getenv("EVENTLOG_BROKER"); text != "" {
		fmt.Fprintln(os.Stderr, serve(text))
		os.Exit(1)
	}
	if url := os.Getenv("EVENTLOG_CRASH_URL"); url != "" {
		fmt.Fprintln(os.Stderr, ingest(url))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func serve(text string) error {
	var b broker
	if err := json.Unmarshal([]byte(text), &b); err != nil {
		return err
	}
	o := settings(b.Dir)
	o.Port, o.HTTPPort, o.ServerName = b.Port, 0, b.Name
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

// start starts the broker, or starts it again, and waits until it listens.
func (b *broker) start(t *testing.T) {
	t.Helper()
	text, err := json.Marshal(b)
	if err != nil {
		t.Fatal(err)
	}
	b.process = exec.Command(os.Args[0])
	b.process.Env = append(os.Environ(), "EVENTLOG_BROKER="+string(text))
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

// kill ends it as kill -9 does.
func (b *broker) kill() {
	b.process.Process.Kill()
	b.process.Wait()
}

// ports finds free ones.
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
