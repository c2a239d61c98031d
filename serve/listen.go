package serve

import (
	"cmp"
	"container/list"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"
)

// Listening says where and how a server listens.
type Listening struct {
	Address     string // host:port; port 0 is any that is free
	Certificate string // with Key, files of a TLS certificate; both "": no TLS
	Key         string
	Connections int           // open at the same time; 0: 20,000
	Drain       time.Duration // how long running requests may take when the server stops; 0: 20 s
}

// Loopback says whether only this machine can reach an address.
func Loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// Listener is an open port.
type Listener struct {
	Listening
	net.Listener
	tls *tls.Config
}

// Listen opens the port, so that a bad address or certificate is reported before anything else is done.
func Listen(l Listening) (*Listener, error) {
	l.Connections = cmp.Or(l.Connections, 20_000)
	l.Drain = cmp.Or(l.Drain, 20*time.Second)
	out := &Listener{Listening: l}
	if l.Certificate != "" || l.Key != "" {
		pair, err := tls.LoadX509KeyPair(l.Certificate, l.Key)
		if err != nil {
			return nil, fmt.Errorf("TLS certificate: %w", err)
		}
		out.tls = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	}
	port, err := net.Listen("tcp", l.Address)
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	out.Listener = port
	return out, nil
}

// URL is the address of the server.
func (l *Listener) URL() string {
	if l.tls != nil {
		return "https://" + l.Addr().String()
	}
	return "http://" + l.Addr().String()
}

// Serve answers requests until ctx ends, then waits for the running ones.
func (s *Server) Serve(ctx context.Context, l *Listener) error {
	connLimit := &connLimit{most: l.Connections, slow: s.limiter.uploads.cutSlowest,
		idle: list.New(), places: map[net.Conn]*list.Element{}}
	server := &http.Server{
		Handler:           s.Handler(),
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       30 * time.Second,
		WriteTimeout:      5 * time.Minute, // a reload may take that long; answers have a limit of their own
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    16 << 10,
		ConnState:         connLimit.note,
		TLSConfig:         l.tls,
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
	ended := make(chan error, 1)
	go func() {
		if l.tls != nil {
			ended <- server.ServeTLS(l.Listener, "", "")
		} else {
			ended <- server.Serve(l.Listener)
		}
	}()
	select {
	case err := <-ended:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	drain, cancel := context.WithTimeout(context.Background(), l.Drain)
	defer cancel()
	err := server.Shutdown(drain)
	if errors.Is(err, context.DeadlineExceeded) {
		s.log.Warn("some requests did not finish in time and were cut off", "after", l.Drain)
		err = server.Close()
	}
	<-ended
	return err
}

// connLimit bounds the number of open connections. When there are too many, it closes the one that has been idle the
// longest, or else that of the slowest upload, so that neither keeps others out.
type connLimit struct {
	most   int
	slow   func() bool // cuts off the slowest upload, if there is one
	mu     sync.Mutex  // guards what follows
	open   int
	idle   *list.List // of net.Conn, the longest idle first
	places map[net.Conn]*list.Element
}

func (c *connLimit) note(conn net.Conn, state http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if at, ok := c.places[conn]; ok {
		c.idle.Remove(at)
		delete(c.places, conn)
	}
	switch state {
	case http.StateNew:
		c.open++
		c.places[conn] = c.idle.PushBack(conn)
	case http.StateIdle:
		c.places[conn] = c.idle.PushBack(conn)
	case http.StateClosed, http.StateHijacked:
		c.open--
	}
	if c.open <= c.most || c.idle.Len() == 0 || c.idle.Front().Value == conn && c.slow() {
		return
	}
	oldest := c.idle.Remove(c.idle.Front()).(net.Conn)
	delete(c.places, oldest)
	oldest.Close() // note is called again for it
}
