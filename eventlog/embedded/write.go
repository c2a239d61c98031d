package embedded

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"

	bolt "go.etcd.io/bbolt"

	"github.com/dygmamba/dygmamba/eventlog"
)

// write is the one goroutine that commits: whatever waits when it is ready shares the next commit. Close ends it.
func (l *Log) write() {
	defer close(l.idle)
	debug.SetPanicOnFault(true) // pages that lie in a damaged part of the file
	var g group
	for {
		select {
		case <-l.stop:
			return
		case r := <-l.queue:
			g = group{requests: append(g.requests[:0], r), events: len(r.events)}
		}
		for g.takesMore() && len(l.queue) > 0 {
			r := <-l.queue
			g.requests, g.events = append(g.requests, r), g.events+len(r.events)
		}
		l.commit(&g)
		// Those who were answered send their next, and share a commit with those who wait.
		for n := -1; n < len(l.queue); {
			n = len(l.queue)
			runtime.Gosched()
		}
	}
}

// group is what is committed together.
type group struct {
	requests []*request
	events   int
	last     uint64
	keyed    *eventlog.Receipts // of this group
}

// takesMore bounds a commit, so that nobody waits long for the requests of others.
func (g *group) takesMore() bool { return len(g.requests) < 4096 && g.events < 200_000 }

// commit answers every request of a group.
func (l *Log) commit(g *group) {
	err := l.tail.Err()
	if err == nil {
		g.last, g.keyed = l.tail.Last(), eventlog.NewReceipts(len(g.requests))
		put := func(tx *bolt.Tx) error { return l.put(tx, g) }
		if err = guard(func() error { return l.db.Update(put) }); err != nil {
			err = l.failed(err)
		}
	}
	if err == nil {
		for _, r := range g.requests {
			if r.err == nil && r.receipt.Accepted > 0 && !r.receipt.Again {
				l.sent.Add(r.key, r.receipt)
			}
		}
		l.tail.Advance(g.last)
	}
	for _, r := range g.requests {
		if err != nil && r.err == nil {
			r.receipt, r.err = eventlog.Receipt{}, err
		}
		close(r.answered)
	}
}

// put writes the batches of a group. What is wrong with a single request is its own error.
func (l *Log) put(tx *bolt.Tx, g *group) error {
	to, index := tx.Bucket(records), tx.Bucket(keys)
	to.FillPercent, index.FillPercent = 1, 1 // nothing is ever put between two of them
	for _, r := range g.requests {
		if !r.taken.CompareAndSwap(false, true) {
			r.err = errWithdrawn
			continue
		}
		var again bool
		if r.receipt, again = g.keyed.Find(r.key); again {
			continue
		}
		if r.receipt, again = l.sent.Find(r.key); again {
			continue
		}
		r.receipt = eventlog.Receipt{Last: g.last + uint64(len(r.events)), Accepted: len(r.events)}
		record, err := eventlog.Encode(nil, eventlog.Batch{Key: r.key, Last: r.receipt.Last, Events: r.events})
		if err != nil {
			r.receipt, r.err = eventlog.Receipt{}, err
			continue
		}
		if len(r.events) == 0 {
			continue
		}
		g.last = r.receipt.Last
		if err := to.Put(sequence(g.last), record); err != nil {
			return err
		}
		if r.key == "" {
			continue
		}
		g.keyed.Add(r.key, r.receipt)
		if err := index.Put(sequence(g.last), keyRecord(r.key, r.receipt)); err != nil {
			return err
		}
	}
	c := index.Cursor()
	for n := l.sent.Len() + g.keyed.Len() - l.keep; n > 0; n-- {
		if k, _ := c.First(); k == nil {
			return damaged(0, "keys that were there are missing")
		}
		if err := c.Delete(); err != nil {
			return err
		}
	}
	return nil
}

// errWithdrawn is never seen: its sender is gone.
var errWithdrawn = errors.New("withdrawn")

// failed says what a failed commit means. The log goes on if it is certain that nothing of the commit is there, as on
// a full disk. Otherwise, as after a failed fsync, nobody can tell, and what is refused now might be found there later:
// the log ends until it is opened again.
func (l *Log) failed(err error) error {
	err = fmt.Errorf("event log %s: %w", l.path, explain(err))
	last := uint64(0)
	look := guard(func() error {
		return l.db.View(func(tx *bolt.Tx) (err error) {
			last, err = lastOf(tx)
			return err
		})
	})
	if look != nil || last != l.tail.Last() || !errors.Is(err, eventlog.ErrFull) {
		l.tail.End(fmt.Errorf("%w; nothing more is taken until the log was opened again", err))
	}
	return err
}
