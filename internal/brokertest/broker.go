package brokertest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

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
