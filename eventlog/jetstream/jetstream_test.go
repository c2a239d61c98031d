package jetstream

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	js "github.com/nats-io/nats.go/jetstream"

	"github.com/dygmamba/dygmamba/eventlog"
	"github.com/dygmamba/dygmamba/internal/brokertest"
	"github.com/dygmamba/dygmamba/internal/eventlogtest"
)

func open(t testing.TB, url string, o Options) *Log {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	l, err := Open(ctx, url, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func appendTo(t testing.TB, l *Log, key string, n int) eventlog.Receipt {
	t.Helper()
	r, err := l.Append(context.Background(), key, eventlogtest.Events(key, n))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

type store struct{ url, stream string }

func (s store) Open(t *testing.T) eventlog.Log { return open(t, s.url, Options{Stream: s.stream}) }

func TestJetStream(t *testing.T) {
	s := brokertest.Run(t, brokertest.Settings(t.TempDir()))
	n := 0
	eventlogtest.Run(t, func(*testing.T) eventlogtest.Store {
		n++
		return store{s.ClientURL(), fmt.Sprint("log", n)}
	})
}

// Many servers follow one log: each gives the same sequences, whoever appended.
func TestTwoServersCountAlike(t *testing.T) {
	s := brokertest.Run(t, brokertest.Settings(t.TempDir()))
	a, b := open(t, s.ClientURL(), Options{}), open(t, s.ClientURL(), Options{})
	for i := range 30 {
		l := []*Log{a, b}[i%2]
		if r := appendTo(t, l, fmt.Sprint("k", i/3), 2); r.Last != uint64(i/3+1)*2 || r.Again != (i%3 != 0) {
			t.Errorf("%d: %+v", i, r)
		}
	}
	for _, l := range []*Log{a, b, open(t, s.ClientURL(), Options{})} {
		if got := eventlogtest.Read(t, l, 0); len(got) != 10 || got[9].Last != 20 || got[9].Key != "k9" {
			t.Errorf("%d batches", len(got))
		}
	}
}

// A key that came back after the server had forgotten it is dropped by all followers alike.
func TestRepeatBeyondTheWindow(t *testing.T) {
	s := brokertest.Run(t, brokertest.Settings(t.TempDir()))
	l := open(t, s.ClientURL(), Options{})
	appendTo(t, l, "k", 2)
	for i := range 2 * spacing {
		appendTo(t, l, fmt.Sprint(i), 1)
	}
	events := eventlogtest.Events("late", 5)
	payload, err := eventlog.Encode(nil, eventlog.Batch{Key: "k", Events: events})
	if err != nil {
		t.Fatal(err)
	}
	m, request := l.message("k", 5, payload)
	l.expect(request)
	m.Header.Del(headerID) // as if two minutes had passed: the server takes it
	m.Header.Set(headerID, "key:%6b")
	ack, err := l.publish(context.Background(), m)
	if err != nil || ack.Duplicate {
		t.Fatal(ack, err)
	}
	if _, err := l.at.Wait(context.Background(), ack.Sequence-1); err != nil {
		t.Fatal(err)
	}
	if r, ok := l.receipt(request, "k"); !ok || r != (eventlog.Receipt{Last: 2, Accepted: 2, Again: true}) {
		t.Errorf("%+v, %v", r, ok)
	}
	if r := appendTo(t, l, "next", 1); r.Last != 2*spacing+3 {
		t.Errorf("then %+v", r)
	}
	for _, l := range []*Log{l, open(t, s.ClientURL(), Options{})} {
		for _, after := range []uint64{0, 1, spacing, 2*spacing - 1, 2*spacing + 2} {
			got := eventlogtest.Read(t, l, after)
			if end := got[len(got)-1]; end.Key != "next" || end.Last != 2*spacing+3 {
				t.Errorf("after %d it ends with %q, %d", after, end.Key, end.Last)
			}
		}
	}
}

func TestTooLargeForTheServer(t *testing.T) {
	o := brokertest.Settings(t.TempDir())
	o.MaxPayload = 10_000
	l := open(t, brokertest.Run(t, o).ClientURL(), Options{})
	_, err := l.Append(context.Background(), "", eventlogtest.Events("x", 2000))
	if !errors.Is(err, eventlog.ErrTooLarge) || !strings.Contains(err.Error(), "10000") || l.Last() != 0 {
		t.Errorf("%v, ends with %d", err, l.Last())
	}
	if r := appendTo(t, l, "", 100); r.Last != 100 {
		t.Errorf("then %+v", r)
	}
}

func TestFullStream(t *testing.T) {
	s := brokertest.Run(t, brokertest.Settings(t.TempDir()))
	l := open(t, s.ClientURL(), Options{})
	c := l.wanted()
	c.MaxBytes = 50_000
	if _, err := l.js.UpdateStream(context.Background(), c); err != nil {
		t.Fatal(err)
	}
	taken := uint64(0)
	var err error
	for err == nil {
		if _, err = l.Append(context.Background(), "", eventlogtest.Events("x", 100)); err == nil {
			taken += 100
		}
	}
	if !errors.Is(err, eventlog.ErrFull) || taken == 0 || l.Last() != taken {
		t.Errorf("%v after %d events, ends with %d", err, taken, l.Last())
	}
	c.MaxBytes = -1
	if _, err := l.js.UpdateStream(context.Background(), c); err != nil {
		t.Fatal(err)
	}
	if r := appendTo(t, l, "", 1); r.Last != taken+1 {
		t.Errorf("then %+v", r)
	}
}

func TestAway(t *testing.T) {
	o := brokertest.Settings(t.TempDir())
	s := brokertest.Run(t, o)
	port := s.Addr().String()
	l := open(t, s.ClientURL(), Options{Patience: 300 * time.Millisecond})
	appendTo(t, l, "a", 1)
	s.Shutdown()
	s.WaitForShutdown()
	if _, err := l.Append(context.Background(), "b", eventlogtest.Events("x", 1)); !errors.Is(err, eventlog.ErrAway) {
		t.Errorf("without a server: %v", err)
	}
	if _, err := Open(context.Background(), "nats://"+port, Options{}); !errors.Is(err, eventlog.ErrAway) {
		t.Errorf("opening without a server: %v", err)
	}
	fmt.Sscanf(port, "127.0.0.1:%d", &o.Port)
	brokertest.Run(t, o)
	l.o.Patience = 20 * time.Second
	if r := appendTo(t, l, "b", 1); r.Last != 2 {
		t.Errorf("with a server again: %+v", r)
	}
}

// Streams that could lose events, or have lost some, are refused.
func TestLossyStreams(t *testing.T) {
	s := brokertest.Run(t, brokertest.Settings(t.TempDir()))
	nc, err := nats.Connect(s.ClientURL())
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	j, _ := js.New(nc)
	for i, change := range []func(*js.StreamConfig){
		func(c *js.StreamConfig) { c.Storage = js.MemoryStorage },
		func(c *js.StreamConfig) { c.MaxAge = time.Hour },
		func(c *js.StreamConfig) { c.MaxMsgs, c.Discard = 10, js.DiscardOld },
		func(c *js.StreamConfig) { c.Retention = js.WorkQueuePolicy },
		func(c *js.StreamConfig) { c.Duplicates = time.Second },
		func(c *js.StreamConfig) { c.FirstSeq = 5 },
	} {
		l := Log{o: Options{Stream: fmt.Sprint("s", i)}, subject: fmt.Sprint("s", i, ".events"), nc: nc}
		c := l.wanted()
		change(&c)
		if _, err := j.CreateStream(context.Background(), c); err != nil {
			t.Fatal(err)
		}
		_, err := Open(context.Background(), s.ClientURL(), l.o)
		if err == nil || !strings.Contains(err.Error(), "want") && !errors.Is(err, eventlog.ErrDamaged) {
			t.Errorf("%d: %v", i, err)
		}
	}
}

// What is in the stream and is no batch ends the counting and the following, and is not skipped.
func TestDamagedMessages(t *testing.T) {
	for name, spoil := range map[string]func(*nats.Msg){
		"foreign":         func(m *nats.Msg) { m.Header, m.Data = nil, []byte("hello") },
		"payload":         func(m *nats.Msg) { m.Data[10] ^= 1 },
		"number":          func(m *nats.Msg) { m.Header.Set(headerEvents, "4") },
		"another's key":   func(m *nats.Msg) { m.Header.Set(headerID, "key:other") },
		"escaped wrongly": func(m *nats.Msg) { m.Header.Set(headerID, "key:%zz") },
	} {
		t.Run(name, func(t *testing.T) {
			s := brokertest.Run(t, brokertest.Settings(t.TempDir()))
			l := open(t, s.ClientURL(), Options{})
			appendTo(t, l, "a", 2)
			payload, _ := eventlog.Encode(nil, eventlog.Batch{Key: "b", Events: eventlogtest.Events("b", 3)})
			m, _ := l.message("b", 3, payload)
			spoil(m)
			if _, err := l.publish(context.Background(), m); err != nil {
				t.Fatal(err)
			}
			got := 0
			err := l.Follow(context.Background(), 0, func(b eventlog.Batch) error { got += len(b.Events); return nil })
			if !errors.Is(err, eventlog.ErrDamaged) || got > 2 ||
				!strings.Contains(err.Error(), "message 2, after sequence 2") {
				t.Errorf("%v after %d events", err, got)
			}
		})
	}
}

func TestSyncIsLookedAt(t *testing.T) {
	o := brokertest.Settings(t.TempDir())
	s := brokertest.Run(t, o)
	monitor := "http://" + s.MonitorAddr().String()
	open(t, s.ClientURL(), Options{Monitor: []string{monitor}})
	o = brokertest.Settings(t.TempDir())
	o.SyncAlways = false
	lazy := brokertest.Run(t, o)
	both := []string{monitor, "http://" + lazy.MonitorAddr().String() + "/"}
	_, err := Open(context.Background(), s.ClientURL(), Options{Monitor: both})
	if err == nil || !strings.Contains(err.Error(), "sync_interval") {
		t.Errorf("%v", err)
	}
}

// A log whose server is gone says that it would take nothing.
func TestCheck(t *testing.T) {
	s := brokertest.Run(t, brokertest.Settings(t.TempDir()))
	l := open(t, s.ClientURL(), Options{})
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if err := l.Check(ctx); err != nil {
		t.Fatal(err)
	}
	s.Shutdown()
	s.WaitForShutdown()
	if err := l.Check(ctx); !errors.Is(err, eventlog.ErrAway) {
		t.Errorf("without a server: %v", err)
	}
}
