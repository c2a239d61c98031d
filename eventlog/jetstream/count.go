package jetstream

import (
	"crypto/rand"
	"fmt"
	"net/url"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go"
	js "github.com/nats-io/nats.go/jetstream"

	"github.com/dygmamba/dygmamba/eventlog"
)

// count is what is known of the stream up to one of its messages.
type count struct {
	keys    *eventlog.Receipts
	repeats []uint64                     // messages that bring a key again and count as nothing, ascending
	places  []place                      // of every spacing-th message
	waiting map[string]*eventlog.Receipt // by request: what it got, once that is known
}

// place says how many events come before a message.
type place struct{ message, before uint64 }

const spacing = 256

// message makes one of a batch. Its id is the idempotency key, escaped as in an address, or else random.
func (l *Log) message(key string, events int, payload []byte) (m *nats.Msg, request string) {
	request = rand.Text()
	m = nats.NewMsg(l.subject)
	m.Data = payload
	m.Header.Set(headerEvents, strconv.Itoa(events))
	m.Header.Set(headerRequest, request)
	if key != "" {
		m.Header.Set(headerID, keyPrefix+url.PathEscape(key))
	} else {
		m.Header.Set(headerID, "request:"+request)
	}
	return m, request
}

const keyPrefix = "key:"

func keyOf(h nats.Header) (string, error) {
	escaped, ok := strings.CutPrefix(h.Get(headerID), keyPrefix)
	if !ok {
		return "", nil
	}
	return url.PathUnescape(escaped)
}

// follow counts the messages of the stream, from the first one on, until the log is closed or a message makes no sense.
func (l *Log) follow() {
	err := l.messages(l.ctx, 1, true, func(m js.Msg, seq uint64) error {
		h := l.headers(m, seq)
		if isCorrection(h) || h == nil {
			if h != nil {
				if err := l.note(l.ctx, seq, l.tail.Last(), h); err != nil {
					return l.damaged(seq, l.tail.Last(), "a correction makes no sense: %v", err)
				}
			}
			l.skip(seq)
			return nil
		}
		n, err := strconv.Atoi(h.Get(headerEvents))
		key, errKey := keyOf(h)
		if err != nil || errKey != nil || n < 1 || n > eventlog.MaxEvents {
			return l.damaged(seq, l.tail.Last(), "it says %q of its events and has the id %q: no batch of this program",
				h.Get(headerEvents), h.Get(headerID))
		}
		l.add(seq, key, n, h.Get(headerRequest))
		return nil
	})
	l.tail.End(err)
	l.at.End(err)
	l.corrections.tail.End(err)
}

// headers are those of a message. m is nil for one that is gone: then they are what is known of it from the message
// that stands for it, or nil for a correction that was replaced.
func (l *Log) headers(m js.Msg, seq uint64) nats.Header {
	if m != nil {
		if h := m.Headers(); h != nil {
			return h
		}
		return nats.Header{} // a foreign message
	}
	r, ok := l.corrections.standIn(seq)
	if !ok {
		return nil
	}
	return nats.Header{headerID: {r.id}, headerEvents: {strconv.Itoa(r.events)}}
}

// skip counts a message without events.
func (l *Log) skip(seq uint64) {
	if seq%spacing == 1 {
		l.mu.Lock()
		l.count.places = append(l.count.places, place{seq, l.tail.Last()})
		l.mu.Unlock()
	}
	l.at.Advance(seq)
}

func (l *Log) add(seq uint64, key string, events int, request string) {
	l.mu.Lock()
	c, last := &l.count, l.tail.Last()
	if seq%spacing == 1 {
		c.places = append(c.places, place{seq, last})
	}
	if _, again := c.keys.Find(key); again {
		c.repeats = append(c.repeats, seq)
	} else {
		last += uint64(events)
		r := eventlog.Receipt{Last: last, Accepted: events}
		c.keys.Add(key, r)
		if mine := c.waiting[request]; mine != nil {
			*mine = r
		}
	}
	l.mu.Unlock()
	l.tail.Advance(last)
	l.at.Advance(seq)
}

// expect makes the answer to a request known once its message is counted, until forget.
func (l *Log) expect(request string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.count.waiting[request] = &eventlog.Receipt{}
}

func (l *Log) forget(request string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.count.waiting, request)
}

// receipt is the answer to a request whose message was counted, or to an earlier one with the same key.
func (l *Log) receipt(request, key string) (eventlog.Receipt, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r := l.count.waiting[request]; r != nil && r.Last > 0 {
		return *r, true
	}
	return l.count.keys.Find(key)
}

// start is the latest known place that has no event after a sequence before it.
func (l *Log) start(after uint64) place {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.count.places
	i := sort.Search(len(p), func(i int) bool { return p[i].before > after })
	if i == 0 {
		return place{1, 0}
	}
	return p[i-1]
}

func (l *Log) repeats(message uint64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, found := slices.BinarySearch(l.count.repeats, message)
	return found
}

// damaged says what is wrong with the message behind an event.
func (l *Log) damaged(message, after uint64, format string, args ...any) error {
	return fmt.Errorf("event log %s, stream %s: %w: message %d, after sequence %d: %s",
		l.url, l.o.Stream, eventlog.ErrDamaged, message, after, fmt.Sprintf(format, args...))
}
