package serve

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"slices"
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
		c, err := net.Dial("tcp", port.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		fmt.Fprint(c, text)
	}
}

// slowest is the 99th percentile of the times that scores of one client take.
func slowest(t *testing.T, port *Listener, count int) time.Duration {
	t.Helper()
	c := client.New(port.URL())
	c.HTTP = &http.Client{Transport: &http.Transport{}, Timeout: 10 * time.Second}
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

// Clients that are slow, in whatever way, keep nobody waiting, and health and metrics answer in any case.
func TestSlowClients(t *testing.T) {
	for name, text := range map[string]string{
		"headers": "POST /v1/events HTTP/1.1\r\nHost: x\r\nX-",
		"body":    slowUpload + "Content-Length: 1000\r\n\r\n{",
		"chunks":  slowUpload + "Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n",
		"waits":   slowUpload + "Content-Length: 1000\r\nExpect: 100-continue\r\n\r\n",
		"answers": strings.Repeat("GET / HTTP/1.1\r\nHost: x\r\n\r\n", 200), // they are never read
		"nothing": "",
	} {
		t.Run(name, func(t *testing.T) {
			_, port := listening(t, Listening{Drain: time.Millisecond}, func(o *Options) { o.Limits.Concurrent = 64 })
			alone := slowest(t, port, 200)
			_, calm := listening(t, Listening{Drain: time.Millisecond}, nil) // has no slow clients, on the same machine
			slowly(t, port, 100, text)
			for _, path := range []string{"/healthz", "/readyz", "/metrics"} {
				if r, err := http.Get(port.URL() + path); err != nil || r.StatusCode != 200 {
					t.Errorf("%s: %v %v", path, r, err)
				}
			}
			beside := slowest(t, port, 200)
			tries := 0
			for ; tries < 10 && beside > 3*alone; tries++ { // the machine may be busy for a moment
				alone = slowest(t, calm, 200)
				beside = slowest(t, port, 200)
			}
			t.Logf("99 %% of scores take %v, without slow clients %v, measured again %d times", beside, alone, tries)
			if beside > 3*alone {
				t.Errorf("99 %% of scores take %v, without slow clients %v", beside, alone)
			}
		})
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

// One client does not get all places.
func TestClientShare(t *testing.T) {
	l := newLimiter(Limits{Concurrent: 8}.orDefault())
	var leave []func()
	for range 6 {
		out, err := l.enter("greedy")
		if err != nil {
			t.Fatal(err)
		}
		leave = append(leave, out)
	}
	if _, err := l.enter("greedy"); err == nil {
		t.Error("one client got more than three quarters of all places")
	}
	if out, err := l.enter("other"); err != nil {
		t.Error(err)
	} else {
		out()
	}
	var all sync.WaitGroup
	for _, out := range leave {
		all.Go(out)
	}
	all.Wait()
	if out, err := l.enter("greedy"); err != nil || len(l.holds) != 1 || l.running.Load() != 1 {
		t.Error(err, l.holds)
	} else {
		out()
	}
}
