package jetstream

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	js "github.com/nats-io/nats.go/jetstream"

	"github.com/dygmamba/dygmamba/eventlog"
)

// Follow waits through the absence of all servers; a message that is gone or makes no sense ends it.
func (l *Log) Follow(ctx context.Context, after uint64, take func(eventlog.Batch) error) error {
	if err := l.tail.Err(); err != nil {
		return err
	}
	if _, err := l.tail.Wait(ctx, after); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(l.ctx, cancel)()
	err := l.batches(ctx, after, func(b eventlog.Batch, _ uint64) error {
		l.corrections.erase(&b)
		return take(b)
	})
	if l.ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return l.tail.Err()
	}
	return err
}

// batches hands those that end after a sequence to each, with the message that counts for them. Where a message was
// replaced, the batch is that of the message that stands for it.
func (l *Log) batches(ctx context.Context, after uint64, each func(eventlog.Batch, uint64) error) error {
	from := l.start(after)
	last := from.before
	return l.messages(ctx, from.message, false, func(m js.Msg, seq uint64) error {
		if _, err := l.at.Wait(ctx, seq-1); err != nil { // it is counted in a moment
			return err
		}
		h := l.headers(m, seq)
		if h == nil || isCorrection(h) || l.repeats(seq) {
			return nil
		}
		b, err := l.batch(ctx, m, seq)
		if err != nil {
			return l.damaged(seq, last, "%v", err)
		}
		key, err := keyOf(h)
		if err != nil || key != b.Key || h.Get(headerEvents) != strconv.Itoa(len(b.Events)) {
			return l.damaged(seq, last, "its headers do not belong to its %d events", len(b.Events))
		}
		if last += uint64(len(b.Events)); last <= after {
			return nil
		}
		b.Last = last
		return each(b, seq)
	})
}

// batch decodes a message, or what stands for one that is gone: then m is nil.
func (l *Log) batch(ctx context.Context, m js.Msg, seq uint64) (eventlog.Batch, error) {
	if m != nil {
		return eventlog.Decode(m.Data())
	}
	for {
		r, _ := l.corrections.standIn(seq)
		raw, err := l.message1(ctx, r.message)
		if err == nil {
			return eventlog.Decode(raw.Data)
		}
		if !errors.Is(err, js.ErrMsgNotFound) {
			return eventlog.Batch{}, err
		}
		if err := l.findReplacements(ctx); err != nil { // it was replaced in turn
			return eventlog.Batch{}, err
		}
		if again, _ := l.corrections.standIn(seq); again.message == r.message {
			return eventlog.Batch{}, fmt.Errorf("message %d, which stands for it, is gone", r.message)
		}
	}
}

// messages hands the messages of the stream from one on to each, in order, until ctx ends or each fails. For messages
// that were removed, each gets nil; any other gap is damage. Whatever else goes wrong is tried again from where it was.
func (l *Log) messages(ctx context.Context, next uint64, headersOnly bool, each func(js.Msg, uint64) error) error {
	for ctx.Err() == nil {
		failed, err := l.some(ctx, &next, headersOnly, each)
		if failed != nil {
			return failed
		}
		if err != nil {
			select {
			case <-time.After(50 * time.Millisecond):
			case <-ctx.Done():
			}
		}
	}
	return ctx.Err()
}

// some hands messages from *next on to each until that fails, or something passes that lets it end early. A consumer of
// its own, not one of the kind that NATS calls ordered: that one waits ten seconds for a broker that is gone.
func (l *Log) some(
	ctx context.Context, next *uint64, headersOnly bool, each func(js.Msg, uint64) error,
) (failed, err error) {
	it, err := l.consume(ctx, *next, headersOnly)
	if err != nil {
		return nil, err
	}
	defer it.Stop()
	defer context.AfterFunc(ctx, it.Stop)()
	for first := true; ; first = false {
		m, err := l.take(it, *next)
		if err != nil {
			return nil, err
		}
		meta, err := m.Metadata()
		if err != nil {
			return nil, err
		}
		seq := meta.Sequence.Stream
		if seq < *next {
			return nil, errors.New("a message came twice")
		}
		for ; *next < seq; *next++ {
			if !l.corrections.explains(*next) {
				if !first { // it may be on its way
					return nil, errors.New("a message was lost on its way")
				}
				if err := l.findReplacements(ctx); err != nil {
					return nil, err
				}
				if !l.corrections.explains(*next) { // it was asked for just now
					return l.damaged(*next, l.tail.Last(), "it is gone, the next one is %d", seq), nil
				}
			}
			if err := each(nil, *next); err != nil {
				return err, nil
			}
		}
		if err := each(m, *next); err != nil {
			return err, nil
		}
		*next++
	}
}

// take returns the next message, or an error when the stream has had it for a while and it does not come. A server that
// dies loses what it was sending to a client. The consumer, on another server, takes that for delivered and goes on
// with heartbeats: without a later message, nothing else tells the client.
func (l *Log) take(it js.MessagesContext, next uint64) (js.Msg, error) {
	for wait, behind := idle, false; ; {
		m, err := it.Next(js.NextMaxWait(wait))
		switch {
		case !errors.Is(err, nats.ErrTimeout):
			return m, err
		case behind:
			return nil, errors.New("a message was lost on its way")
		case l.there.Load() >= next:
			wait, behind = idle/4, true
		}
	}
}

// look asks, while no message comes, which one is the last of the stream, until the log is closed.
func (l *Log) look() {
	for was := l.at.Last(); ; was = l.at.Last() {
		select {
		case <-time.After(idle):
		case <-l.ctx.Done():
			return
		}
		if l.at.Last() > was {
			continue
		}
		ctx, cancel := context.WithTimeout(l.ctx, attempt)
		if s, err := l.js.Stream(ctx, l.o.Stream); err == nil {
			l.has(s.CachedInfo().State.LastSeq)
		}
		cancel()
	}
}

// has notes that a message is in the stream.
func (l *Log) has(message uint64) {
	for was := l.there.Load(); was < message && !l.there.CompareAndSwap(was, message); {
		was = l.there.Load()
	}
}

// consume asks for the messages from one on.
func (l *Log) consume(ctx context.Context, from uint64, headersOnly bool) (js.MessagesContext, error) {
	ctx, cancel := context.WithTimeout(ctx, attempt)
	defer cancel()
	consumer, err := l.js.CreateConsumer(ctx, l.o.Stream, js.ConsumerConfig{
		DeliverPolicy: js.DeliverByStartSequencePolicy, OptStartSeq: from, HeadersOnly: headersOnly,
		AckPolicy: js.AckNonePolicy, MaxDeliver: 1, MemoryStorage: true, Replicas: 1,
		InactiveThreshold: 30 * time.Second,
	})
	if err != nil {
		return nil, err
	}
	ahead := js.PullMaxMessages(500) // on their way at once
	if headersOnly {
		ahead = 10_000
	}
	return consumer.Messages(ahead, js.PullHeartbeat(500*time.Millisecond), js.PullExpiry(2*time.Second))
}
