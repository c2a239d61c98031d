// Package memory answers: what does a log promise when there is no disk? It is the smallest engine, for tests of what
// stands on a log.
package memory

import (
	"context"
	"slices"
	"sort"
	"sync"

	"github.com/dygmamba/dygmamba/eventlog"
)

// Log keeps batches as long as the process lives, and after Close for whoever opens it again.
type Log struct {
	mu      sync.Mutex // guards all below; never taken while tail's is held
	batches []eventlog.Batch
	keys    *eventlog.Receipts
	tail    *eventlog.Tail
}

// New returns an empty log.
func New() *Log { return &Log{keys: eventlog.NewReceipts(eventlog.KeptKeys), tail: &eventlog.Tail{}} }

// Reopen takes up what a closed log has.
func (l *Log) Reopen() *Log {
	l.mu.Lock()
	defer l.mu.Unlock()
	again := &Log{batches: slices.Clone(l.batches), keys: l.keys, tail: &eventlog.Tail{}}
	again.tail.Advance(l.tail.Last())
	return again
}

// Append keeps a copy of the events.
func (l *Log) Append(ctx context.Context, key string, events []eventlog.Event) (eventlog.Receipt, error) {
	if err := ctx.Err(); err != nil {
		return eventlog.Receipt{}, err
	}
	record, err := eventlog.Encode(nil, eventlog.Batch{Key: key, Events: events})
	if err != nil {
		return eventlog.Receipt{}, err
	}
	batch, err := eventlog.Decode(record)
	if err != nil {
		return eventlog.Receipt{}, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.tail.Err(); err != nil {
		return eventlog.Receipt{}, err
	}
	if r, ok := l.keys.Find(key); ok {
		return r, nil
	}
	r := eventlog.Receipt{Last: l.tail.Last() + uint64(len(events)), Accepted: len(events)}
	if len(events) == 0 {
		return r, nil
	}
	batch.Last = r.Last
	l.batches = append(l.batches, batch)
	l.keys.Add(key, r)
	l.tail.Advance(r.Last)
	return r, nil
}

// Follow is as the contract says.
func (l *Log) Follow(ctx context.Context, after uint64, take func(eventlog.Batch) error) error {
	for {
		if err := l.tail.Err(); err != nil {
			return err
		}
		if _, err := l.tail.Wait(ctx, after); err != nil {
			return err
		}
		l.mu.Lock()
		next := l.batches[sort.Search(len(l.batches), func(i int) bool { return l.batches[i].Last > after }):]
		l.mu.Unlock()
		for _, b := range next {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := take(b); err != nil {
				return err
			}
			after = b.Last
		}
	}
}

// Last is as the contract says.
func (l *Log) Last() uint64 { return l.tail.Last() }

// Close ends all that follow.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tail.End(eventlog.ErrClosed)
	return nil
}
