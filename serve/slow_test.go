package serve

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dygmamba/dygmamba/client"
)

// slowly opens connections that send a text and then nothing more, until the test ends.
func slowly(t *testing.T, port *Listener, count int, text string) {
	t.Helper()
	for range count {
		silent(t, port, text)
	}
}

// silent opens one of them.
func silent(t *testing.T, port *Listener, text string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", port.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	fmt.Fprint(c, text)
	return c
}

// slowInside does the same inside TLS.
func slowInside(t *testing.T, port *Listener, trusted *tls.Config, text string) {
	t.Helper()
	c := tls.Client(silent(t, port, ""), trusted)
	if err := c.Handshake(); err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(c, text)
}

// slowStream begins a request of HTTP/2 whose body never ends. All of a transport share a connection.
func slowStream(t *testing.T, port *Listener, transport *http.Transport) {
	t.Helper()
	body, begin := io.Pipe()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, port.URL()+"/v1/events", body)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	go func() {
		if answer, err := transport.RoundTrip(r); err == nil {
			answer.Body.Close()
		}
	}()
	begin.Write([]byte("{"))
	t.Cleanup(func() { begin.Close() })
}

// slowest is the 99th percentile of the times that scores of one client take.
func slowest(t *testing.T, port *Listener, count int, trusted *tls.Config) time.Duration {
	t.Helper()
	c := client.New(port.URL())
	c.HTTP = &http.Client{Transport: &http.Transport{TLSClientConfig: trusted}, Timeout: 10 * time.Second}
	defer c.HTTP.CloseIdleConnections()
	var times []time.Duration
	for range count {
		began := time.Now()
		if _, err := c.Score(t.Context(), client.Query{Src: "1", Dst: "2"}); err != nil {
			t.Fatal(err)
		}
		times = append(times, time.Since(began))
	}
	slices.Sort(times)
	return times[len(times)*99/100]
}

const slowUpload = "POST /v1/events HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"

const slowStreamed = "POST /v1/events/stream HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-ndjson\r\n"

// slowForms are ways of being slow: what a connection sends before it falls silent.
var slowForms = map[string]string{
	"headers": "POST /v1/events HTTP/1.1\r\nHost: x\r\nX-",
	"body":    slowUpload + "Content-Length: 1000\r\n\r\n{",
	"chunks":  slowUpload + "Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n",
	"waits":   slowUpload + "Content-Length: 1000\r\nExpect: 100-continue\r\n\r\n",
	"stream":  slowStreamed + "Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n",
	"answers": strings.Repeat("GET / HTTP/1.1\r\nHost: x\r\n\r\n", 200), // they are never read
	"nothing": "",
}

// Clients that are slow, in whatever way, keep nobody waiting, and health and metrics answer in any case.
func TestSlowClients(t *testing.T) {
	const many = 100
	for name, text := range slowForms {
		t.Run(name, func(t *testing.T) {
			besideSlow(t, Listening{}, nil, func(port *Listener) { slowly(t, port, many, text) })
		})
	}
	dir := t.TempDir()
	_, pool := certificate(t, dir, "server")
	trusted := &tls.Config{RootCAs: pool, ServerName: "localhost"}
	secure := Listening{Certificate: filepath.Join(dir, "cert.pem"), Key: filepath.Join(dir, "key.pem")}
	for name, open := range map[string]func(*testing.T, *Listener){
		"TLS, half a hello": func(t *testing.T, port *Listener) {
			slowly(t, port, many, "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03")
		},
		"TLS, body": func(t *testing.T, port *Listener) {
			for range many {
				slowInside(t, port, trusted, slowForms["body"])
			}
		},
		"HTTP/2, bodies": func(t *testing.T, port *Listener) {
			all := &http.Transport{TLSClientConfig: trusted.Clone(), ForceAttemptHTTP2: true}
			t.Cleanup(all.CloseIdleConnections)
			for range many {
				slowStream(t, port, all)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			besideSlow(t, secure, trusted, func(port *Listener) { open(t, port) })
		})
	}
}

// besideSlow measures scores beside slow clients and without them.
func besideSlow(t *testing.T, l Listening, trusted *tls.Config, open func(*Listener)) {
	t.Helper()
	l.Drain = time.Millisecond
	_, port := listening(t, l, func(o *Options) { o.Limits.Concurrent = 64 })
	count := 200
	if n, err := strconv.Atoi(os.Getenv("DYGMAMBA_SLOW_SCORES")); err == nil {
		count = n // for figures
	}
	alone := slowest(t, port, count, trusted)
	_, calm := listening(t, l, nil) // has no slow clients, on the same machine
	open(port)
	c := http.Client{Transport: &http.Transport{TLSClientConfig: trusted}}
	defer c.CloseIdleConnections()
	for _, path := range []string{"/healthz", "/readyz", "/metrics"} {
		r, err := c.Get(port.URL() + path)
		if err != nil || r.StatusCode != 200 {
			t.Fatalf("%s: %v %v", path, r, err)
		}
		r.Body.Close()
	}
	beside := slowest(t, port, count, trusted)
	tries := 0
	for ; tries < 10 && beside > 3*alone; tries++ { // the machine may be busy for a moment
		alone = slowest(t, calm, count, trusted)
		beside = slowest(t, port, count, trusted)
	}
	t.Logf("99 %% of scores take %v, without slow clients %v: %.2f ×, measured again %d times", beside, alone,
		beside.Seconds()/alone.Seconds(), tries)
	if beside > 3*alone {
		t.Errorf("99 %% of scores take %v, without slow clients %v", beside, alone)
	}
}

// A client that does not read its answers gets no more of them than fit into small buffers.
func TestUnreadAnswersAreFew(t *testing.T) {
	const asked = 200
	s, port := listening(t, Listening{Drain: time.Millisecond}, nil)
	c := silent(t, port, "")
	c.(*net.TCPConn).SetReadBuffer(4 << 10)
	fmt.Fprint(c, strings.Repeat("GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", asked))
	answered := func() int {
		text := call(s.Handler(), "GET", "/metrics", "").Body.String()
		_, after, _ := strings.Cut(text, `dygmamba_requests_total{route="GET /{$}",status="200"} `)
		n, _ := strconv.Atoi(strings.SplitN(after, "\n", 2)[0])
		return n
	}
	was := 0
	for same := 0; same < 20; same++ { // until it stays so for a second
		time.Sleep(50 * time.Millisecond)
		if n := answered(); n != was {
			was, same = n, 0
		}
	}
	t.Logf("%d of %d answers were sent", was, asked)
	if was == 0 || was > asked/2 {
		t.Errorf("%d of %d answers of %d bytes were sent to a client that reads none", was, asked, len(page))
	}
}

// When too many connections or uploads are open, the slowest upload makes room for others.
func TestSlowUploadsMakeRoom(t *testing.T) {
	for name, l := range map[string]Listening{"connections": {Connections: 50}, "uploads": {}} {
		t.Run(name, func(t *testing.T) {
			l.Drain = time.Millisecond
			_, port := listening(t, l, func(o *Options) { o.Limits.Uploads = 60 })
			c, err := net.Dial("tcp", port.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			fmt.Fprint(c, slowUpload+"Content-Length: 1000\r\n\r\n{")
			time.Sleep(50 * time.Millisecond) // it is the slowest
			// Two rounds are enough, unless the machine is so busy that the server read of others first.
			r, err := (*http.Response)(nil), os.ErrDeadlineExceeded
			for round := 0; round < 12 && errors.Is(err, os.ErrDeadlineExceeded); round++ {
				slowly(t, port, 80, slowUpload+"Content-Length: 1000\r\n\r\n{")
				time.Sleep(250 * time.Millisecond) // now they count as slow
				for range 5 {
					answers(t, port, "beside slow uploads")
				}
				c.SetReadDeadline(time.Now().Add(500 * time.Millisecond))
				r, err = http.ReadResponse(bufio.NewReader(c), nil)
			}
			if err == nil && r.StatusCode != http.StatusRequestTimeout {
				t.Errorf("a slow upload that made room: %s", r.Status)
			} else if errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("a slow upload is still open: %v", err)
			}
		})
	}
}

// One client does not get all streams, and those that are silent do not keep a server that stops.
func TestSlowStreams(t *testing.T) {
	s, port := listening(t, Listening{Drain: time.Millisecond}, nil)
	open := &s.limiter.streams.running
	until := func(what string, ok func() bool) {
		t.Helper()
		for began := time.Now(); !ok(); time.Sleep(time.Millisecond) {
			if time.Since(began) > 20*time.Second {
				t.Fatalf("%s: %d are open", what, open.Load())
			}
		}
	}
	slowly(t, port, maxStreams, slowForms["stream"])
	refused := func() bool {
		return strings.Contains(call(s.Handler(), "GET", "/metrics", "").Body.String(),
			`dygmamba_requests_total{route="POST /v1/events/stream",status="503"} `+strconv.Itoa(maxStreams/4))
	}
	until("a client asked for all streams", refused)
	if n := open.Load(); n != maxStreams-maxStreams/4 {
		t.Errorf("one client has %d of %d streams", n, maxStreams)
	}
	s.leave()
	until("the server stops", func() bool { return open.Load() == 0 })
}

// One client does not get all places.
func TestClientShare(t *testing.T) {
	l := newCrowd("requests")
	var leave []func()
	for range 6 {
		out, err := l.enter("greedy", 8)
		if err != nil {
			t.Fatal(err)
		}
		leave = append(leave, out)
	}
	if _, err := l.enter("greedy", 8); err == nil {
		t.Error("one client got more than three quarters of all places")
	}
	if out, err := l.enter("other", 8); err != nil {
		t.Error(err)
	} else {
		out()
	}
	var all sync.WaitGroup
	for _, out := range leave {
		all.Go(out)
	}
	all.Wait()
	if out, err := l.enter("greedy", 8); err != nil || len(l.holds) != 1 || l.running.Load() != 1 {
		t.Error(err, l.holds)
	} else {
		out()
	}
}
