package jetstream

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	js "github.com/nats-io/nats.go/jetstream"

	"github.com/dygmamba/dygmamba/eventlog"
)

// Corrections have a subject of their own in the stream. A removal is one message, and with it all of its events are
// erased: whoever follows drops them. Then each message that holds some of them is replaced: a message with what is
// left comes first, then the old one is overwritten and deleted. A last message says that this is done; a removal
// without one is gone through again by whoever opens the log next.
const (
	headerRemoval  = "Dygmamba-Removal"  // "events": the message is a removal; "done N": that number N is carried out
	headerReplaces = "Dygmamba-Replaces" // the message of events that this one stands for
	headerWas      = "Dygmamba-Was"      // messages that stood for it before, which are gone
	headerWasID    = "Dygmamba-Was-Id"   // the id of the message that it stands for
)

// corrections are what is known of them up to a message.
type corrections struct {
	tail eventlog.Tail // of removals

	mu       sync.Mutex // guards what follows
	list     []eventlog.Removal
	numbers  map[uint64]uint64        // of removals, by message
	erased   map[uint64]bool          // sequences
	done     map[uint64]bool          // numbers of removals
	standIns map[uint64][]replacement // by the message that they replace, in the order of the stream
	gone     map[uint64]bool          // corrections that were replaced themselves
}

// replacement is a message that stands for another one.
type replacement struct {
	message uint64
	id      string // of the other
	events  int
	was     []uint64
}

func newCorrections() *corrections {
	return &corrections{numbers: map[uint64]uint64{}, erased: map[uint64]bool{}, done: map[uint64]bool{},
		standIns: map[uint64][]replacement{}, gone: map[uint64]bool{}}
}

// isCorrection says whether a message is one.
func isCorrection(h nats.Header) bool {
	return h.Get(headerRemoval) != "" || h.Get(headerReplaces) != ""
}

// standIn is the message that stands for another; false: there is none.
func (c *corrections) standIn(message uint64) (replacement, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	list := c.standIns[message]
	if len(list) == 0 {
		return replacement{}, false
	}
	return list[len(list)-1], true
}

// explains says whether a message may be gone.
func (c *corrections) explains(message uint64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.standIns[message]) > 0 || c.gone[message]
}

// erase drops the erased events of a batch.
func (c *corrections) erase(b *eventlog.Batch) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.erased) == 0 {
		return
	}
	var list []uint64
	for s := b.Last - uint64(len(b.Events)) + 1; s <= b.Last; s++ {
		if c.erased[s] {
			list = append(list, s)
		}
	}
	b.Erase(list)
}

// noteReplacement takes up a message that stands for another; also one that is known already.
func (c *corrections) noteReplacement(seq uint64, h nats.Header) error {
	of, err := strconv.ParseUint(h.Get(headerReplaces), 10, 64)
	events, errEvents := strconv.Atoi(h.Get(headerEvents))
	r := replacement{message: seq, id: h.Get(headerWasID), events: events}
	for text := range strings.FieldsSeq(h.Get(headerWas)) {
		n, errWas := strconv.ParseUint(text, 10, 64)
		r.was, err = append(r.was, n), errors.Join(err, errWas)
	}
	if err = errors.Join(err, errEvents); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	list := c.standIns[of]
	at, known := slices.BinarySearchFunc(list, seq, func(r replacement, seq uint64) int {
		return int(int64(r.message) - int64(seq))
	})
	if !known {
		list = slices.Insert(list, at, r)
	}
	c.standIns[of] = list
	for _, n := range r.was {
		c.gone[n] = true
	}
	for _, r := range list[:len(list)-1] {
		c.gone[r.message] = true
	}
	return nil
}

// note takes up a correction that is counted, after the events up to last.
func (l *Log) note(ctx context.Context, seq, last uint64, h nats.Header) error {
	c := l.corrections
	what := h.Get(headerRemoval)
	switch number, isDone := strings.CutPrefix(what, "done "); {
	case what == "":
		return c.noteReplacement(seq, h)
	case isDone:
		n, err := strconv.ParseUint(number, 10, 64)
		c.mu.Lock()
		c.done[n] = true
		c.mu.Unlock()
		return err
	}
	raw, err := l.message1(ctx, seq)
	if err != nil {
		return err
	}
	r, err := eventlog.DecodeRemoval(raw.Data)
	if err == nil {
		err = r.CheckSequences(0, last)
	}
	if err != nil {
		return err
	}
	c.mu.Lock()
	r.Number, r.Last = uint64(len(c.list))+1, last
	c.list = append(c.list, r)
	c.numbers[seq] = r.Number
	for _, s := range r.Sequences {
		c.erased[s] = true
	}
	c.mu.Unlock()
	c.tail.Advance(r.Number)
	return nil
}

// message1 gets one message of the stream, and tries again where no server answers.
func (l *Log) message1(ctx context.Context, seq uint64) (m *js.RawStreamMsg, err error) {
	err = l.insist(ctx, func(ctx context.Context, s js.Stream) (err error) {
		m, err = s.GetMsg(ctx, seq)
		return err
	})
	return m, err
}

// insist does something with the stream until it is done, or something else than an absence of servers is wrong.
func (l *Log) insist(ctx context.Context, do func(context.Context, js.Stream) error) error {
	for {
		once, cancel := context.WithTimeout(ctx, attempt)
		s, err := l.js.Stream(once, l.o.Stream)
		if err == nil {
			err = do(once, s)
		}
		cancel()
		if err == nil || !passing(err) || errors.Is(err, js.ErrMsgNotFound) || errors.Is(err, errDenied) {
			return err
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		case <-l.ctx.Done():
			return eventlog.ErrClosed
		}
	}
}

// findReplacements reads which messages stand for others, from the whole stream. It is for whoever meets a gap.
func (l *Log) findReplacements(ctx context.Context) error {
	return l.insist(ctx, func(ctx context.Context, s js.Stream) error {
		c, err := s.CreateConsumer(ctx, js.ConsumerConfig{DeliverPolicy: js.DeliverAllPolicy, HeadersOnly: true,
			FilterSubject: l.corrected(), AckPolicy: js.AckNonePolicy, MemoryStorage: true, Replicas: 1,
			InactiveThreshold: 30 * time.Second})
		if err != nil {
			return err
		}
		for left := c.CachedInfo().NumPending; left > 0; {
			got, err := c.Fetch(int(min(left, 1000)), js.FetchMaxWait(attempt/2))
			if err != nil {
				return err
			}
			n := uint64(0)
			for m := range got.Messages() {
				meta, err := m.Metadata()
				if err == nil && m.Headers().Get(headerReplaces) != "" {
					err = l.corrections.noteReplacement(meta.Sequence.Stream, m.Headers())
				}
				if err != nil {
					return err
				}
				n++
			}
			if err := got.Error(); err != nil || n == 0 {
				return errors.Join(err, context.DeadlineExceeded) // not all came: again
			}
			left -= min(left, n)
		}
		return nil
	})
}

func (l *Log) corrected() string { return l.o.Stream + ".corrections" }

// correct publishes a correction and waits until it is counted.
func (l *Log) correct(ctx context.Context, data []byte, headers map[string]string) (uint64, error) {
	m := nats.NewMsg(l.corrected())
	m.Data = data
	m.Header.Set(headerID, "correction:"+rand.Text())
	for name, value := range headers {
		m.Header.Set(name, value)
	}
	if most := l.nc.MaxPayload(); int64(m.Size()) > most {
		return 0, fmt.Errorf("%w: a removal takes %d bytes, the server at %s takes %d at once (max_payload): remove "+
			"fewer", eventlog.ErrTooLarge, m.Size(), l.url, most)
	}
	ack, err := l.publish(ctx, m)
	if err == nil {
		_, err = l.at.Wait(ctx, ack.Sequence-1)
	}
	if err != nil {
		return 0, err
	}
	return ack.Sequence, nil
}

// Remove is as the contract says. Streams of earlier versions of this program do not let their messages be deleted.
func (l *Log) Remove(ctx context.Context, r eventlog.Removal) (uint64, error) {
	if err := errors.Join(ctx.Err(), l.tail.Err()); err != nil {
		return 0, err
	}
	if err := r.CheckSequences(0, l.tail.Last()); err != nil {
		return 0, err
	}
	record, err := eventlog.EncodeRemoval(nil, r)
	if err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, l.o.Patience)
	defer cancel()
	if err := l.mayDelete(ctx); err != nil {
		return 0, err
	}
	seq, err := l.correct(ctx, record, map[string]string{headerRemoval: "events"})
	if err != nil {
		return 0, l.explain(ctx, err)
	}
	c := l.corrections
	c.mu.Lock()
	r = c.list[c.numbers[seq]-1]
	c.mu.Unlock()
	if err := l.carryOut(context.WithoutCancel(ctx), r); err != nil {
		return 0, l.explain(ctx, fmt.Errorf("the events are erased, but messages that held them are not overwritten; "+
			"that is done when the log is opened next: %w", err))
	}
	return r.Number, nil
}

var errDenied = errors.New("it was made with deny_delete, so nothing can be removed from it; want a new stream with " +
	"the events of this one")

// mayDelete gives the stream the subject of corrections if it has none, and says why messages cannot be deleted.
func (l *Log) mayDelete(ctx context.Context) error {
	return l.insist(ctx, func(ctx context.Context, s js.Stream) error {
		config := s.CachedInfo().Config
		if config.DenyDelete {
			return fmt.Errorf("event log %s, stream %s: %w", l.url, l.o.Stream, errDenied)
		}
		if slices.Contains(config.Subjects, l.corrected()) {
			return nil
		}
		config.Subjects = append(config.Subjects, l.corrected())
		_, err := l.js.UpdateStream(ctx, config)
		return err
	})
}

// carryOut replaces the messages that hold events of a removal, as far as that is not done, and says that it is.
func (l *Log) carryOut(ctx context.Context, r eventlog.Removal) error {
	for i := 0; i < len(r.Sequences); {
		b, err := l.replaceMessage(ctx, r.Sequences[i])
		if err != nil {
			return err
		}
		for i < len(r.Sequences) && r.Sequences[i] <= b {
			i++
		}
	}
	_, err := l.correct(ctx, nil, map[string]string{headerRemoval: fmt.Sprint("done ", r.Number)})
	return err
}

// replaceMessage replaces the message that holds a sequence, unless nothing erased is left in it. It returns the last
// sequence of the message.
func (l *Log) replaceMessage(ctx context.Context, sequence uint64) (uint64, error) {
	var found eventlog.Batch
	var message uint64
	here := errors.New("found")
	err := l.batches(ctx, sequence-1, func(b eventlog.Batch, seq uint64) error {
		found, message = b, seq
		return here
	})
	if err != here {
		return 0, err
	}
	erased := found
	l.corrections.erase(&erased)
	id, was := "", []uint64(nil)
	if r, ok := l.corrections.standIn(message); ok {
		id = r.id
		l.corrections.mu.Lock()
		for _, r := range l.corrections.standIns[message] {
			was = append(append(was, r.was...), r.message)
		}
		l.corrections.mu.Unlock()
	} else {
		raw, err := l.message1(ctx, message)
		if err != nil {
			return 0, err
		}
		id = raw.Header.Get(headerID)
	}
	slices.Sort(was)
	was = slices.Compact(was)
	if slices.EqualFunc(erased.Events, found.Events, func(a, b eventlog.Event) bool { return a.Erased == b.Erased }) {
		return found.Last, l.overwrite(ctx, message, nil)
	}
	data, err := eventlog.Encode(nil, eventlog.Batch{Key: erased.Key, Events: erased.Events})
	if err != nil {
		return 0, err
	}
	if _, err := l.correct(ctx, data, map[string]string{headerReplaces: fmt.Sprint(message), headerWasID: id,
		headerEvents: strconv.Itoa(len(erased.Events)), headerWas: strings.Trim(fmt.Sprint(was), "[]")}); err != nil {
		return 0, err
	}
	return found.Last, l.overwrite(ctx, message, was)
}

// overwrite deletes a message that is replaced, and what stood for it before.
func (l *Log) overwrite(ctx context.Context, message uint64, was []uint64) error {
	for _, seq := range append([]uint64{message}, was...) {
		if _, ok := l.corrections.standIn(message); !ok {
			continue
		}
		err := l.insist(ctx, func(ctx context.Context, s js.Stream) error {
			if _, err := s.GetMsg(ctx, seq); err != nil {
				return err
			}
			return s.SecureDeleteMsg(ctx, seq)
		})
		if err != nil && !errors.Is(err, js.ErrMsgNotFound) {
			return fmt.Errorf("message %d: %w", seq, err)
		}
	}
	return nil
}

// finishRemovals carries out removals whose server ended before it had.
func (l *Log) finishRemovals(ctx context.Context) error {
	c := l.corrections
	var open []eventlog.Removal
	c.mu.Lock()
	for _, r := range c.list {
		if !c.done[r.Number] {
			open = append(open, r)
		}
	}
	c.mu.Unlock()
	for _, r := range open {
		if err := l.carryOut(ctx, r); err != nil {
			return fmt.Errorf("carry out removal %d: %w", r.Number, err)
		}
	}
	return nil
}

// FollowRemovals is as the contract says.
func (l *Log) FollowRemovals(ctx context.Context, after uint64, take func(eventlog.Removal) error) error {
	c := l.corrections
	return c.tail.FollowRemovals(ctx, after, func(after, last uint64) ([]eventlog.Removal, error) {
		c.mu.Lock()
		defer c.mu.Unlock()
		return slices.Clone(c.list[after:last]), nil
	}, take)
}

// Removals is as the contract says.
func (l *Log) Removals() uint64 { return l.corrections.tail.Last() }
