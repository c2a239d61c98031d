package jetstream

import (
	"context"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/dygmamba/dygmamba/eventlog"
	"github.com/dygmamba/dygmamba/internal/brokertest"
	"github.com/dygmamba/dygmamba/internal/eventlogtest"
)

// proxy stands between clients and a server.
type proxy struct {
	net.Listener
	server string

	mu     sync.Mutex // guards what follows
	routes []*route
}

// route is a connection of a client.
type route struct {
	client, server net.Conn
	lossy, frozen  atomic.Bool // what the server sends is lost; nothing goes on in either direction
}

func newProxy(t *testing.T, server string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{Listener: l, server: server}
	go p.run()
	t.Cleanup(func() { l.Close(); p.each((*route).cut) })
	return p
}

func (p *proxy) url() string { return "nats://" + p.Addr().String() }

func (p *proxy) run() {
	for {
		client, err := p.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", p.server)
		if err != nil {
			client.Close()
			continue
		}
		r := &route{client: client, server: server}
		p.mu.Lock()
		p.routes = append(p.routes, r)
		p.mu.Unlock()
		go r.forward(server, client, nil)
		go r.forward(client, server, &r.lossy)
	}
}

// each does something with all connections that there are.
func (p *proxy) each(do func(*route)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range p.routes {
		do(r)
	}
}

func (r *route) cut() { r.client.Close(); r.server.Close() }

func (r *route) forward(to io.Writer, from io.Reader, lossy *atomic.Bool) {
	defer r.cut()
	for buf := make([]byte, 64<<10); ; {
		n, err := from.Read(buf)
		if err != nil || r.frozen.Load() {
			for r.frozen.Load() {
				time.Sleep(10 * time.Millisecond)
			}
			return
		}
		if lossy != nil && lossy.Load() {
			continue
		}
		if _, err := to.Write(buf[:n]); err != nil {
			return
		}
	}
}

// TestLostOnTheWay: a server that dies may lose messages that it was sending. Nothing tells the client, as the consumer
// on another server takes them for delivered. Those who follow notice although no further message comes.
func TestLostOnTheWay(t *testing.T) {
	s := brokertest.Run(t, brokertest.Settings(t.TempDir()))
	p := newProxy(t, s.Addr().String())
	near, far := open(t, s.ClientURL(), Options{}), open(t, p.url(), Options{})
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
	defer cancel()
	got := make(chan eventlog.Batch, 10)
	go far.Follow(ctx, 0, func(b eventlog.Batch) error { got <- b; return nil })
	next := func(key string) {
		t.Helper()
		select {
		case b := <-got:
			if b.Key != key {
				t.Errorf("%q came, want %q", b.Key, key)
			}
		case <-ctx.Done():
			t.Fatalf("%q never came; %d of 3 events are counted", key, far.Last())
		}
	}
	appendTo(t, near, "first", 1)
	next("first")
	p.each(func(r *route) { r.lossy.Store(true) })
	appendTo(t, near, "second", 2)
	time.Sleep(300 * time.Millisecond) // until it was sent and lost
	p.each((*route).cut)
	next("second")
	if last := far.Last(); last != 3 {
		t.Errorf("%d events are counted, want 3", last)
	}
}

// TestFrozenServer: a machine that is gone does not close its connections. The client notices, and appends go on at
// another server within seconds.
func TestFrozenServer(t *testing.T) {
	s := brokertest.Run(t, brokertest.Settings(t.TempDir()))
	one, other := newProxy(t, s.Addr().String()), newProxy(t, s.Addr().String())
	l := open(t, one.url()+","+other.url(), Options{Patience: 20 * time.Second,
		Connect: []nats.Option{nats.DontRandomize()}})
	appendTo(t, l, "before", 1)
	one.Close()
	one.each(func(r *route) { r.frozen.Store(true) })
	t.Cleanup(func() { one.each(func(r *route) { r.frozen.Store(false) }) })
	began := time.Now()
	appendTo(t, l, "after", 2)
	t.Logf("appended after %v", time.Since(began))
	if got := eventlogtest.Read(t, l, 0); len(got) != 2 || got[1].Last != 3 {
		t.Errorf("%d batches", len(got))
	}
}
