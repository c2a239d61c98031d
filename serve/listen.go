package serve

import (
	"cmp"
	"container/list"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// Listening says where and how a server listens.
type Listening struct {
	Address     string // host:port; port 0 is any that is free
	Certificate string // with Key, files of a TLS certificate; both "": no TLS
	Key         string
	ClientCA    string        // file of the authorities of clients; "": clients need no certificate
	Connections int           // open at the same time; 0: 20,000
	Drain       time.Duration // how long running requests may take when the server stops; 0: 20 s
	Linger      time.Duration // how long new requests are answered when the server stops; 0: 500 ms
	Patient     bool          // Linger also when nobody is connected, so that load balancers notice
	Health      string        // another host:port, for health and metrics alone and without tokens; "": none
	Logger      *slog.Logger  // nil: silent
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
	tls    *tls.Config
	files  atomic.Pointer[tls.Config] // what is in the files of certificates
	health net.Listener               // nil: none

	once   sync.Once // begins to answer
	http   *http.Server
	conns  *connLimit
	ended  chan error             // why it answers no more
	phase  atomic.Pointer[string] // of the start
	server atomic.Pointer[Server] // nil until one has started
}

// Listen opens the port, so that a bad address or certificate is reported before anything else is done.
func Listen(l Listening) (*Listener, error) {
	l.Connections = cmp.Or(l.Connections, 20_000)
	l.Drain = cmp.Or(l.Drain, 20*time.Second)
	l.Linger = cmp.Or(l.Linger, 500*time.Millisecond)
	l.Logger = cmp.Or(l.Logger, slog.New(slog.DiscardHandler))
	out := &Listener{Listening: l, ended: make(chan error, 1)}
	out.Phase("opening")
	if l.Certificate != "" || l.Key != "" {
		if err := out.ReloadCertificates(); err != nil {
			return nil, err
		}
		current := func(*tls.ClientHelloInfo) (*tls.Config, error) { return out.files.Load(), nil }
		out.tls = &tls.Config{MinVersion: tls.VersionTLS12, GetConfigForClient: current}
	}
	port, err := net.Listen("tcp", l.Address)
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	out.Listener = port
	if l.Health != "" {
		if out.health, err = net.Listen("tcp", l.Health); err != nil {
			port.Close()
			return nil, fmt.Errorf("listen for health and metrics: %w", err)
		}
	}
	return out, nil
}

// config reads the files of certificates; nil without TLS.
func (l Listening) config() (*tls.Config, error) {
	if l.Certificate == "" && l.Key == "" {
		return nil, nil
	}
	pair, err := tls.LoadX509KeyPair(l.Certificate, l.Key)
	if err != nil {
		return nil, fmt.Errorf("TLS certificate: %w", err)
	}
	c := &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12,
		NextProtos: []string{"h2", "http/1.1"}}
	if l.ClientCA != "" {
		raw, err := os.ReadFile(l.ClientCA)
		if err != nil {
			return nil, fmt.Errorf("TLS authorities of clients: %w", err)
		}
		if c.ClientCAs = x509.NewCertPool(); !c.ClientCAs.AppendCertsFromPEM(raw) {
			return nil, fmt.Errorf("TLS authorities of clients: %s has no certificate in PEM form", l.ClientCA)
		}
		c.ClientAuth = tls.RequireAndVerifyClientCert
	}
	return c, nil
}

// Check says what is wrong with the files of certificates.
func (l Listening) Check() error {
	_, err := l.config()
	return err
}

// ReloadCertificates reads the files of certificates again, for connections from now on. After an error the old ones
// stay.
func (l *Listener) ReloadCertificates() error {
	c, err := l.config()
	if err == nil && c != nil {
		l.files.Store(c)
	}
	return err
}

// URL is the address of the server.
func (l *Listener) URL() string {
	if l.tls != nil {
		return "https://" + l.Addr().String()
	}
	return "http://" + l.Addr().String()
}

// Answer begins to answer requests: until a server takes the port, with what it does to start (see Phase).
func (l *Listener) Answer() {
	l.once.Do(func() {
		l.conns = &connLimit{most: l.Connections, slow: func() bool {
			s := l.server.Load()
			return s != nil && s.limiter.uploads.cutSlowest()
		}, idle: list.New(), places: map[net.Conn]*list.Element{}}
		l.http = &http.Server{
			Handler:           http.HandlerFunc(l.handle),
			ReadHeaderTimeout: 5 * time.Second,
			ReadTimeout:       30 * time.Second,
			WriteTimeout:      5 * time.Minute, // a reload may take that long; answers have a limit of their own
			IdleTimeout:       2 * time.Minute,
			MaxHeaderBytes:    16 << 10,
			ConnState:         l.conns.note,
			ConnContext:       withSmallBuffer,
			TLSConfig:         l.tls,
			ErrorLog:          slog.NewLogLogger(l.Logger.Handler(), slog.LevelDebug),
		}
		go func() {
			if l.tls != nil {
				l.ended <- l.http.ServeTLS(l.Listener, "", "")
			} else {
				l.ended <- l.http.Serve(l.Listener)
			}
		}()
		if l.health != nil {
			aside := &http.Server{Handler: http.HandlerFunc(l.handleHealth), ReadTimeout: 5 * time.Second,
				WriteTimeout: answerTime, MaxHeaderBytes: 16 << 10, ErrorLog: l.http.ErrorLog}
			go aside.Serve(l.health) // until Close
		}
	})
}

// sendBuffer is how much of its answers the system keeps for a client that does not read them. By default it may be
// megabytes, which many such clients make the server fill, and the system hold.
const sendBuffer = 128 << 10

func withSmallBuffer(ctx context.Context, c net.Conn) context.Context {
	if secure, ok := c.(*tls.Conn); ok {
		c = secure.NetConn()
	}
	if c, ok := c.(*net.TCPConn); ok {
		c.SetWriteBuffer(sendBuffer) // an error changes nothing but that
	}
	return ctx
}

// Phase says what the server does before it takes the port.
func (l *Listener) Phase(what string) { l.phase.Store(&what) }

// Use lets a server answer all requests from now on.
func (l *Listener) Use(s *Server) {
	l.Answer()
	l.server.Store(s)
}

// Close closes the port.
func (l *Listener) Close() error {
	if l.health != nil {
		l.health.Close()
	}
	if l.http != nil {
		return l.http.Close()
	}
	return l.Listener.Close()
}

func (l *Listener) handle(w http.ResponseWriter, r *http.Request) {
	s := l.server.Load()
	switch {
	case s == nil && r.URL.Path == "/healthz":
		getHealth(w, r)
	case s == nil:
		writeError(w, fail("starting", "the server is starting: %s", *l.phase.Load()))
	default:
		if s.health.draining.Load() {
			w.Header().Set("Connection", "close") // the next request goes elsewhere
		}
		s.Handler().ServeHTTP(w, r)
	}
}

// handleHealth answers on the port for health and metrics. It needs no token.
func (l *Listener) handleHealth(w http.ResponseWriter, r *http.Request) {
	s := l.server.Load()
	switch path := r.URL.Path; {
	case path == "/healthz" || s == nil && (path == "/readyz" || path == "/metrics"):
		l.handle(w, r)
	case path == "/readyz":
		s.getReady(w, r)
	case path == "/metrics":
		s.metrics.handler.ServeHTTP(w, r)
	default:
		writeError(w, fail("not_found", "this port has only /healthz, /readyz and /metrics"))
	}
}

// Serve answers requests until ctx ends. Then it drains: /readyz says so, and whoever is connected is still answered.
// Last it waits for the running requests.
func (s *Server) Serve(ctx context.Context, l *Listener) error {
	l.Use(s)
	select {
	case err := <-l.ended:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	Notify("STOPPING=1")
	s.health.draining.Store(true)
	s.log.Info("stopping: /readyz says so, and requests are answered for a while", "seconds", l.Linger.Seconds())
	for began := time.Now(); time.Since(began) < l.Linger && (l.conns.count() > 0 || l.Patient); {
		time.Sleep(10 * time.Millisecond)
	}
	s.leave()
	drain, cancel := context.WithTimeout(context.Background(), l.Drain)
	defer cancel()
	err := l.http.Shutdown(drain)
	if errors.Is(err, context.DeadlineExceeded) {
		s.log.Warn("some requests did not finish in time and were cut off", "seconds", l.Drain.Seconds())
		err = l.http.Close()
	}
	<-l.ended
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

func (c *connLimit) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.open
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
