// Package jetstream answers: how do many servers follow one log? A stream of NATS JetStream keeps it, a message for
// each batch. Sequences of events are counted in the order of the stream, so that every follower counts the same.
//
// A server of NATS acknowledges before the disk has a message unless its configuration has `sync_interval: always`.
// Clients cannot see that; Options.Monitor lets Open look.
package jetstream

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	js "github.com/nats-io/nats.go/jetstream"

	"github.com/dygmamba/dygmamba/eventlog"
)

// Options change how a log is opened. The zero value is the default.
type Options struct {
	Stream   string        // its name; "dygmamba" if empty. Batches are published as STREAM.events
	Replicas int           // of a stream that is made; 0: three in a cluster, one on a single server
	Monitor  []string      // addresses of monitoring (http://host:8222) of all servers, to see that they sync always
	Patience time.Duration // how long an append looks for a server; 30 s if 0, at most a minute
	Connect  []nats.Option // anything else

	Credentials string // file of a user's credentials; "": none
	CA          string // file of the authorities that the servers' certificates come from; "": those of the system
	Certificate string // with Key, files of a client certificate; "": none
	Key         string
}

// connect are the options of a connection.
func (o Options) connect() []nats.Option {
	list := []nats.Option{
		nats.Name("dygmamba event log"), nats.MaxReconnects(-1), nats.ReconnectWait(100 * time.Millisecond),
		nats.PingInterval(2 * time.Second), nats.MaxPingsOutstanding(2), // a machine that is gone closes no connection
		nats.ReconnectBufSize(-1), // what cannot be sent now is an error at once, and sent again under the same id
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}), // it would print; calls return theirs
	}
	if o.Credentials != "" {
		list = append(list, nats.UserCredentials(o.Credentials)) // read again at every connection
	}
	if o.CA != "" {
		list = append(list, nats.RootCAs(o.CA))
	}
	if o.Certificate != "" {
		list = append(list, nats.ClientCert(o.Certificate, o.Key))
	}
	return append(list, o.Connect...)
}

const (
	window   = 2 * time.Minute // in which the server itself drops a message it has
	attempt  = 2 * time.Second // of one question to a server, before it is asked again
	idle     = 2 * time.Second // without a message, before it is asked whether the stream has one; above two heartbeats
	headerID = js.MsgIDHeader
	// Counting needs no payloads: how many events a message has, and which call of Append sent it.
	headerEvents  = "Dygmamba-Events"
	headerRequest = "Dygmamba-Request"
)

// Log is an eventlog.Log in a stream.
type Log struct {
	o       Options
	url     string
	subject string
	nc      *nats.Conn
	js      js.JetStream

	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	work   sync.WaitGroup

	at    eventlog.Tail // the last message that was counted
	tail  eventlog.Tail // its last event
	there atomic.Uint64 // the last message that is known to be in the stream

	mu    sync.Mutex // guards count
	count count

	corrections *corrections
}

// Open connects to a server, or one of several separated by commas, makes the stream if it is not there, and counts
// what it has. ctx bounds how long that may take.
func Open(ctx context.Context, url string, o Options) (*Log, error) {
	o.Stream = cmp.Or(o.Stream, "dygmamba")
	if o.Patience <= 0 {
		o.Patience = 30 * time.Second
	}
	o.Patience = min(o.Patience, window/2) // a message sent again must find the server's memory of the first
	if err := checkSync(ctx, o.Monitor); err != nil {
		return nil, err
	}
	nc, err := nats.Connect(url, o.connect()...)
	if err != nil {
		return nil, fmt.Errorf("event log %s: %w: %w", url, eventlog.ErrAway, err)
	}
	l := &Log{o: o, url: nc.ConnectedUrlRedacted(), subject: o.Stream + ".events", nc: nc,
		corrections: newCorrections(),
		count:       count{keys: eventlog.NewReceipts(eventlog.KeptKeys), waiting: map[string]*eventlog.Receipt{}}}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	if err := l.open(ctx); err != nil {
		l.Close()
		return nil, fmt.Errorf("event log %s, stream %s: %w", l.url, o.Stream, err)
	}
	return l, nil
}

func (l *Log) open(ctx context.Context) error {
	var err error
	if l.js, err = js.New(l.nc); err != nil {
		return err
	}
	info, err := l.stream(ctx)
	if err != nil {
		return err
	}
	l.has(info.State.LastSeq)
	l.work.Go(l.follow)
	l.work.Go(l.look)
	if info.State.LastSeq > 0 {
		if _, err = l.at.Wait(ctx, info.State.LastSeq-1); err != nil && ctx.Err() != nil {
			err = fmt.Errorf("%w: counting reached message %d of %d", ctx.Err(), l.at.Last(), info.State.LastSeq)
		}
	}
	if err == nil {
		err = l.finishRemovals(ctx)
	}
	return err
}

// Append returns when the server has acknowledged the batch and it was counted. Where no server can be reached it tries
// again under the same id, so that nothing appears twice; ErrAway then means that nobody knows whether it was taken.
func (l *Log) Append(ctx context.Context, key string, events []eventlog.Event) (eventlog.Receipt, error) {
	if err := errors.Join(ctx.Err(), l.tail.Err()); err != nil {
		return eventlog.Receipt{}, err
	}
	payload, err := eventlog.Encode(nil, eventlog.Batch{Key: key, Events: events})
	if err != nil {
		return eventlog.Receipt{}, err
	}
	if r, ok := l.receipt("", key); ok {
		return r, nil
	}
	if len(events) == 0 {
		return eventlog.Receipt{Last: l.tail.Last()}, nil
	}
	m, request := l.message(key, len(events), payload)
	if most := l.nc.MaxPayload(); int64(m.Size()) > most {
		return eventlog.Receipt{}, fmt.Errorf("%w: %d events take %d bytes, the server at %s takes %d at once "+
			"(max_payload): send fewer", eventlog.ErrTooLarge, len(events), m.Size(), l.url, most)
	}
	l.expect(request)
	defer l.forget(request)
	ctx, cancel := context.WithTimeout(ctx, l.o.Patience)
	defer cancel()
	ack, err := l.publish(ctx, m)
	if err == nil {
		_, err = l.at.Wait(ctx, ack.Sequence-1)
	}
	if err != nil {
		return eventlog.Receipt{}, l.explain(ctx, err)
	}
	r, ok := l.receipt(request, key)
	if !ok {
		return eventlog.Receipt{}, fmt.Errorf("event log %s: message %d is not the one that was sent",
			l.url, ack.Sequence)
	}
	return r, nil
}

// publish sends a message until a server acknowledges it or says why not.
func (l *Log) publish(ctx context.Context, m *nats.Msg) (*js.PubAck, error) {
	for wait := 20 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		once, cancel := context.WithTimeout(ctx, attempt)
		ack, err := l.js.PublishMsg(once, m, js.WithExpectStream(l.o.Stream))
		cancel()
		if err == nil {
			l.has(ack.Sequence)
		}
		if err == nil || !passing(err) {
			return ack, err
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return nil, err
		case <-l.ctx.Done():
			return nil, eventlog.ErrClosed
		}
	}
}

// Check says why the stream would take no events: the log's end, or that no server answers.
func (l *Log) Check(ctx context.Context) error {
	if err := l.tail.Err(); err != nil {
		return err
	}
	s, err := l.js.Stream(ctx, l.o.Stream)
	if err == nil && s.CachedInfo().Cluster != nil && s.CachedInfo().Cluster.Leader == "" {
		err = errors.New("the stream has no leader")
	}
	if err != nil {
		return fmt.Errorf("event log %s, stream %s: %w: %w", l.url, l.o.Stream, eventlog.ErrAway, err)
	}
	return nil
}

// Last is the sequence of the last event that was counted.
func (l *Log) Last() uint64 { return l.tail.Last() }

// Close ends all that follow. Batches that were sent and not acknowledged may or may not be in the stream.
func (l *Log) Close() error {
	l.tail.End(eventlog.ErrClosed)
	l.at.End(eventlog.ErrClosed)
	l.corrections.tail.End(eventlog.ErrClosed)
	l.cancel()
	l.nc.Close()
	l.work.Wait()
	return nil
}
