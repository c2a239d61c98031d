package jetstream

import (
	"context"
	"errors"
	"strconv"
	"time"

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
	from := l.start(after)
	last := from.before
	err := l.messages(ctx, from.message, false, func(m js.Msg, seq uint64) error {
		if _, err := l.at.Wait(ctx, seq-1); err != nil { // it is counted in a moment
			return err
		}
		if l.repeats(seq) {
			return nil
		}
		b, err := eventlog.Decode(m.Data())
		if err != nil {
			return l.damaged(seq, last, "%v", err)
		}
		key, err := keyOf(m.Headers())
		if err != nil || key != b.Key || m.Headers().Get(headerEvents) != strconv.Itoa(len(b.Events)) {
			return l.damaged(seq, last, "its headers do not belong to its %d events", len(b.Events))
		}
		if last += uint64(len(b.Events)); last <= after {
			return nil
		}
		b.Last = last
		return take(b)
	})
	if l.ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return l.tail.Err()
	}
	return err
}

// messages hands the messages of the stream from one on to each, in order and without gaps, until ctx ends or each
// fails. Whatever else goes wrong is tried again from where it was.
func (l *Log) messages(ctx context.Context, next uint64, headersOnly bool, each func(js.Msg, uint64) error) error {
	for ctx.Err() == nil {
		var failed error
		err := l.some(ctx, next, headersOnly, func(m js.Msg) error {
			meta, err := m.Metadata()
			if err != nil {
				return err
			}
			seq := meta.Sequence.Stream
			switch {
			case seq < next:
				return nil
			case seq > next:
				failed = l.damaged(next, l.tail.Last(), "it is gone, the next one is %d", seq)
			default:
				failed = each(m, seq)
				next++
			}
			return failed
		})
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

// some hands messages to each until something goes wrong.
func (l *Log) some(ctx context.Context, from uint64, headersOnly bool, each func(js.Msg) error) error {
	once, cancel := context.WithTimeout(ctx, attempt)
	consumer, err := l.js.OrderedConsumer(once, l.o.Stream, js.OrderedConsumerConfig{
		DeliverPolicy: js.DeliverByStartSequencePolicy, OptStartSeq: from, HeadersOnly: headersOnly, MaxResetAttempts: 1,
		InactiveThreshold: 30 * time.Second,
	})
	cancel()
	if err != nil {
		return err
	}
	it, err := consumer.Messages(buffer(headersOnly), js.PullHeartbeat(time.Second), js.PullExpiry(10*time.Second))
	if err != nil {
		return err
	}
	defer it.Stop()
	defer context.AfterFunc(ctx, it.Stop)()
	for {
		m, err := it.Next()
		if err != nil {
			return err
		}
		if err := each(m); err != nil {
			return err
		}
	}
}

// buffer bounds what is on its way: headers by their number, payloads by their size.
func buffer(headersOnly bool) js.PullMessagesOpt {
	if headersOnly {
		return js.PullMaxMessages(10_000)
	}
	return js.PullMaxMessages(500)
}
