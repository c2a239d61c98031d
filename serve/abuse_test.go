package serve

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dygmamba/dygmamba"
	"github.com/dygmamba/dygmamba/client"
	"github.com/dygmamba/dygmamba/predict"
)

// listening starts a server on a port.
func listening(t *testing.T, l Listening, change func(o *Options)) (*Server, *Listener) {
	t.Helper()
	s := newWorld(t, dygmamba.DefaultModel).server(t, change)
	l.Address, l.Linger = "127.0.0.1:0", time.Millisecond
	port, err := Listen(l)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, port) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return s, port
}

// answers says whether a client like any other is answered soon.
func answers(t *testing.T, port *Listener, what string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	c := client.New(port.URL())
	c.HTTP = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	if _, err := c.Score(ctx, client.Query{Src: "1", Dst: "2"}); err != nil {
		t.Errorf("%s: %v", what, err)
	}
}

// endless is a body that does not end.
type endless struct{ sent atomic.Int64 }

func (e *endless) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = ' '
	}
	e.sent.Add(int64(len(b)))
	return len(b), nil
}

// Clients that send nothing, slowly, or without end do not stop others.
func TestAbuse(t *testing.T) {
	_, port := listening(t, Listening{Connections: 60}, func(o *Options) { o.Limits.Body = 1 << 20 })
	address := port.Addr().String()
	t.Run("slow loris", func(t *testing.T) {
		for range 40 {
			c, err := net.Dial("tcp", address)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			fmt.Fprint(c, "POST /v1/events HTTP/1.1\r\nHost: x\r\nX-")
		}
		answers(t, port, "beside slow ones")
	})
	t.Run("idle", func(t *testing.T) {
		for range 200 { // more than may be open
			c, err := net.Dial("tcp", address)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
		}
		answers(t, port, "beside idle ones")
	})
	t.Run("large", func(t *testing.T) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for _, length := range []int64{10 << 30, -1} { // said beforehand, or not
			body := &endless{}
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, port.URL()+"/v1/events",
				io.LimitReader(body, 10<<30))
			if err != nil {
				t.Fatal(err)
			}
			r.ContentLength = length
			r.Header.Set("Content-Type", typeJSON)
			answer, err := http.DefaultTransport.RoundTrip(r)
			if err == nil {
				if answer.StatusCode != 413 {
					t.Errorf("a body of 10 GB: %s", answer.Status)
				}
				answer.Body.Close()
			} else if !strings.Contains(err.Error(), "reset") && !strings.Contains(err.Error(), "broken pipe") &&
				!strings.Contains(err.Error(), "closed") {
				t.Error(err)
			}
			if sent := body.sent.Load(); sent > 64<<20 {
				t.Errorf("%d bytes of it were taken", sent)
			}
		}
		runtime.ReadMemStats(&after)
		if grown := int64(after.TotalAlloc) - int64(before.TotalAlloc); grown > 64<<20 {
			t.Errorf("%d bytes were allocated", grown)
		}
		answers(t, port, "after large bodies")
	})
	t.Run("no HTTP", func(t *testing.T) {
		for _, text := range []string{"\x16\x03\x01\x02\x00", "GET / HTTP/9.9\r\n\r\n", strings.Repeat("A", 100_000),
			"POST /v1/events HTTP/1.1\r\nHost: x\r\nContent-Length: -5\r\n\r\n"} {
			c, err := net.Dial("tcp", address)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprint(c, text)
			c.SetReadDeadline(time.Now().Add(time.Second))
			bufio.NewReader(c).ReadString('\n')
			c.Close()
		}
		answers(t, port, "after what is no HTTP")
	})
}

// A server that ends lets requests come to their end.
func TestGracefulEnd(t *testing.T) {
	s := newWorld(t, dygmamba.DefaultModel).server(t, nil)
	port, err := Listen(Listening{Address: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, port) }()
	began, release := make(chan struct{}), make(chan struct{})
	go s.models.ask(&job{ctx: context.Background(), do: func(*predict.Predictor, *resolver) error {
		close(began)
		<-release
		return nil
	}})
	<-began // the slow lane is busy
	answered := make(chan error, 1)
	go func() {
		_, err := client.New(port.URL()).Rank(context.Background(), client.Ranking{Src: "1", K: 2})
		answered <- err
	}()
	for s.limiter.requests.running.Load() == 0 {
		time.Sleep(time.Millisecond)
	}
	cancel()
	time.Sleep(20 * time.Millisecond)
	close(release)
	if err := <-answered; err != nil {
		t.Errorf("a request was cut off: %v", err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// The document lists what there is, and nothing else.
func TestOpenAPIListsAllRoutes(t *testing.T) {
	var doc struct {
		OpenAPI string
		Paths   map[string]map[string]json.RawMessage
	}
	if err := json.Unmarshal(openAPI, &doc); err != nil || !strings.HasPrefix(doc.OpenAPI, "3.") {
		t.Fatal(doc.OpenAPI, err)
	}
	have := map[string]bool{"GET /healthz": true, "GET /readyz": true}
	for _, r := range new(Server).list() {
		have[strings.TrimSuffix(r.pattern, "{$}")] = true
	}
	for path, methods := range doc.Paths {
		for method := range methods {
			key := strings.ToUpper(method) + " " + path
			if !have[key] {
				t.Errorf("%s is in the document alone", key)
			}
			delete(have, key)
		}
	}
	for key := range have {
		t.Errorf("%s is missing in the document", key)
	}
}

// Only addresses of this machine need no tokens.
func TestLoopback(t *testing.T) {
	for address, want := range map[string]bool{"127.0.0.1:80": true, "localhost:0": true, "[::1]:80": true,
		"127.8.8.8:1": true, ":80": false, "0.0.0.0:80": false, "10.0.0.1:80": false, "[::]:1": false, "x": false,
		"localhost.example:1": false} {
		if Loopback(address) != want {
			t.Errorf("%s: %v", address, !want)
		}
	}
	if _, err := Listen(Listening{Address: "256.0.0.1:0"}); err == nil {
		t.Error("listens nowhere")
	}
	if _, err := Listen(Listening{Address: "127.0.0.1:0", Certificate: "none", Key: "none"}); err == nil {
		t.Error("took a certificate that is not there")
	}
}
