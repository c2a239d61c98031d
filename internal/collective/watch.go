package collective

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// LostError says that another rank ended, or cannot be reached, before the training was over.
type LostError struct {
	Rank  int
	Host  string
	Cause string
}

// Is lets a training that loses a rank end as if it were interrupted: with its state saved.
func (e *LostError) Is(target error) bool { return target == context.Canceled }

func (e *LostError) Error() string { return fmt.Sprintf("rank %d on %s: %s", e.Rank, e.Host, e.Cause) }

// Watch notices when a rank ends. Libraries do not tell, or end the process without a word: MPI waits for ever, and
// whether the launcher notices depends on how it was started. Every rank keeps a connection to rank 0; the system
// closes it when a process ends, however that happens. A host that vanishes is noticed by its silence.
type Watch struct {
	rank    int
	members []Member
	lost    context.CancelCauseFunc

	mu    sync.Mutex // guards conns and ended
	conns map[int]net.Conn
	ended bool
	first *LostError
	root  chan struct{} // closed when rank 0 has nothing more to say
}

// How often a rank shows that it is there, and after which silence it is lost.
const (
	beat    = time.Second
	silence = 7 * time.Second
)

// note is a line between rank 0 and another.
type note struct {
	Rank  int    `json:"rank"`
	Kind  string `json:"kind"` // hello, beat, failed, lost, done
	Cause string `json:"cause,omitempty"`
	Key   string `json:"key,omitempty"`
}

// Watched lets the group notice when a rank ends: the context that it returns then ends with a LostError as its cause.
func (g *Group) Watched(ctx context.Context) (context.Context, error) {
	if g.Size() == 1 {
		return ctx, nil
	}
	ctx, cancel := context.WithCancelCause(ctx)
	w := &Watch{rank: g.Rank(), members: g.members, lost: cancel, conns: map[int]net.Conn{},
		root: make(chan struct{})}
	g.watch = w
	var err error
	if g.Rank() == 0 {
		err = w.serve(ctx, g)
	} else {
		err = w.join(ctx, g)
	}
	if err != nil {
		return ctx, fmt.Errorf("watch over the ranks: %w", err)
	}
	return ctx, g.Barrier(ctx)
}

// meeting is where rank 0 listens.
type meeting struct {
	Addresses []string `json:"addresses"`
	Port      string   `json:"port"`
	Key       string   `json:"key"` // so that nobody else is taken for a rank
	Failed    string   `json:"failed,omitempty"`
}

func (w *Watch) serve(ctx context.Context, g *Group) error {
	l, err := net.Listen("tcp", ":0")
	m := meeting{Key: newKey()}
	if err != nil {
		m.Failed = err.Error()
	} else {
		_, m.Port, _ = net.SplitHostPort(l.Addr().String())
		m.Addresses = ownAddresses()
	}
	raw, _ := json.Marshal(m)
	if _, err := g.Broadcast(ctx, 0, raw); err != nil {
		return err
	}
	if m.Failed != "" {
		return errors.New(m.Failed)
	}
	defer l.Close()
	l.(*net.TCPListener).SetDeadline(time.Now().Add(30 * time.Second))
	for joined := 1; joined < g.Size(); {
		c, err := l.Accept()
		if err != nil {
			return err
		}
		c.SetReadDeadline(time.Now().Add(silence))
		lines := bufio.NewScanner(c)
		n, err := read(lines)
		if err != nil || n.Kind != "hello" || n.Key != m.Key || n.Rank < 1 || n.Rank >= g.Size() {
			c.Close() // some other program
			continue
		}
		w.add(n.Rank, c)
		go w.listen(n.Rank, c, lines)
		joined++
	}
	go w.beats()
	return nil
}

func (w *Watch) join(ctx context.Context, g *Group) error {
	raw, err := g.Broadcast(ctx, 0, nil)
	if err != nil {
		return err
	}
	var m meeting
	if err := json.Unmarshal(raw, &m); err != nil {
		return err
	}
	if m.Failed != "" {
		return errors.New(m.Failed)
	}
	addresses := m.Addresses
	if w.members[0].Host == w.members[w.rank].Host {
		addresses = append([]string{"127.0.0.1"}, addresses...)
	}
	for _, a := range addresses {
		var c net.Conn
		if c, err = net.DialTimeout("tcp", net.JoinHostPort(a, m.Port), 5*time.Second); err != nil {
			continue
		}
		if err = write(c, note{Rank: w.rank, Kind: "hello", Key: m.Key}); err != nil {
			return err
		}
		w.add(0, c)
		go func() {
			defer close(w.root)
			w.listen(0, c, bufio.NewScanner(c))
		}()
		go w.beats()
		return nil
	}
	return fmt.Errorf("rank 0 on %s cannot be reached at %v, port %s: %w", w.members[0].Host, addresses, m.Port, err)
}

func (w *Watch) add(rank int, c net.Conn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.conns[rank] = c
}

// listen hears what a rank says until it is done or lost.
func (w *Watch) listen(rank int, c net.Conn, lines *bufio.Scanner) {
	for {
		c.SetReadDeadline(time.Now().Add(silence))
		n, err := read(lines)
		var timeout net.Error
		switch {
		case errors.As(err, &timeout) && timeout.Timeout():
			w.report(rank, fmt.Sprintf("no sign of life for %v", silence))
			return
		case err != nil:
			w.report(rank, "the process ended")
			return
		case n.Kind == "done":
			return
		case n.Kind == "failed" || n.Kind == "lost":
			w.report(n.Rank, n.Cause)
			return
		}
	}
}

// report ends the training here, and tells the others if this is rank 0. Only the first loss counts: the others follow
// from it.
func (w *Watch) report(rank int, cause string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended || w.first != nil {
		return
	}
	w.first = &LostError{Rank: rank, Host: w.members[rank].Host, Cause: cause}
	if w.rank == 0 {
		w.tell(note{Rank: rank, Kind: "lost", Cause: cause})
	}
	w.lost(w.first)
}

// tell writes to all; the caller holds the lock.
func (w *Watch) tell(n note) {
	for _, c := range w.conns {
		write(c, n) // one that is gone is noticed elsewhere
	}
}

// beats shows that this rank is there until it is not.
func (w *Watch) beats() {
	for {
		time.Sleep(beat)
		w.mu.Lock()
		ended := w.ended
		if !ended {
			w.tell(note{Rank: w.rank, Kind: "beat"})
		}
		w.mu.Unlock()
		if ended {
			return
		}
	}
}

// AwaitRoot waits until rank 0 has left the group, for some time at most. It returns at once on rank 0 and where nobody
// watches.
func (g *Group) AwaitRoot(atMost time.Duration) {
	if g.watch == nil || g.Rank() == 0 {
		return
	}
	select {
	case <-g.watch.root:
	case <-time.After(atMost):
	}
}

// done says that this rank has finished, which is no loss.
func (w *Watch) done() { w.end(note{Rank: w.rank, Kind: "done"}) }

// failed says why this rank ends.
func (w *Watch) failed(cause error) {
	text := "it failed"
	if cause != nil {
		text = cause.Error()
	}
	w.end(note{Rank: w.rank, Kind: "failed", Cause: text})
}

func (w *Watch) end(n note) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended {
		return
	}
	w.ended = true
	if n.Kind == "failed" && w.first != nil {
		return // because of another, which all know
	}
	w.tell(n)
}

func read(lines *bufio.Scanner) (n note, err error) {
	if !lines.Scan() {
		if err := lines.Err(); err != nil {
			return n, err
		}
		return n, io.EOF
	}
	return n, json.Unmarshal(lines.Bytes(), &n)
}

func write(c net.Conn, n note) error {
	raw, err := json.Marshal(n)
	if err != nil {
		return err
	}
	c.SetWriteDeadline(time.Now().Add(beat))
	_, err = c.Write(append(raw, '\n'))
	return err
}

// ownAddresses are those that other hosts may reach this one by.
func ownAddresses() (list []string) {
	all, err := net.InterfaceAddrs()
	if err != nil {
		return nil
	}
	for _, a := range all {
		if ip, ok := a.(*net.IPNet); ok && !ip.IP.IsLoopback() && !ip.IP.IsLinkLocalUnicast() {
			list = append(list, ip.IP.String())
		}
	}
	return list
}
