package embedded

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"

	bolt "go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"github.com/dygmamba/dygmamba/eventlog"
)

// removals is a bucket: number of a removal, big-endian → its record. Files that had none yet do not have the bucket.
var removals = []byte("removals")

// scrubKey is in the bucket about while free pages of the file may hold what was erased.
var scrubKey = []byte("scrub")

// Remove is as the contract says. One commit replaces the records and notes the removal. After that the pages that the
// old records were on are overwritten; if a crash comes between, Open does that.
func (l *Log) Remove(ctx context.Context, r eventlog.Removal) (uint64, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	if err := l.tail.Err(); err != nil {
		return 0, err
	}
	err := guard(func() error { return l.db.Update(func(tx *bolt.Tx) (err error) { return l.remove(tx, &r) }) })
	switch {
	case errors.Is(err, eventlog.ErrUnknown), errors.Is(err, eventlog.ErrTooLarge):
		return 0, err
	case errors.Is(err, bolterrors.ErrDatabaseNotOpen):
		return 0, eventlog.ErrClosed
	case err != nil:
		return 0, l.failed(err)
	}
	l.removed.Advance(r.Number)
	if err := l.scrub(); err != nil {
		return 0, fmt.Errorf("event log %s: the events are erased, but the pages they were on are not overwritten; "+
			"that is done when the log is opened next: %w", l.path, explain(err))
	}
	return r.Number, nil
}

func (l *Log) remove(tx *bolt.Tx, r *eventlog.Removal) error {
	from, err := beginOf(tx)
	if err != nil {
		return err
	}
	if r.Last, err = lastOf(tx); err != nil {
		return err
	}
	if err := r.CheckSequences(from.after, r.Last); err != nil {
		return err
	}
	to := tx.Bucket(records)
	for i := 0; i < len(r.Sequences); {
		k, v := to.Cursor().Seek(sequence(r.Sequences[i]))
		if k == nil {
			return damaged(r.Sequences[i], "it is missing")
		}
		b, err := read(k, v)
		if err != nil {
			return err
		}
		if b.Erase(r.Sequences[i:]) {
			record, err := eventlog.Encode(nil, b)
			if err != nil {
				return err
			}
			if err := to.Put(slices.Clone(k), record); err != nil {
				return err
			}
		}
		for i < len(r.Sequences) && r.Sequences[i] <= b.Last {
			i++
		}
	}
	list, err := tx.CreateBucketIfNotExists(removals)
	if err != nil {
		return err
	}
	if k, _ := list.Cursor().Last(); k != nil {
		r.Number = binary.BigEndian.Uint64(k)
	}
	r.Number++
	record, err := eventlog.EncodeRemoval(nil, *r)
	if err != nil {
		return err
	}
	return errors.Join(list.Put(sequence(r.Number), record), tx.Bucket(about).Put(scrubKey, []byte{1}))
}

// scrub overwrites all free pages of the file. Pages that a commit frees are in nobody's way once another commit has
// followed: then neither of the two marks leads to them. Readers and copies of the file are waited for, as these may
// see the pages of an older commit.
func (l *Log) scrub() error {
	l.copies.Lock()
	defer l.copies.Unlock()
	l.readers.Lock()
	defer l.readers.Unlock()
	mark := func(tx *bolt.Tx) error { return tx.Bucket(about).Put(scrubKey, []byte{2}) }
	if err := guard(func() error { return l.db.Update(mark) }); err != nil {
		return err
	}
	return guard(func() error {
		return l.db.Update(func(tx *bolt.Tx) error { // nobody else takes free pages meanwhile
			if err := clearFree(l.path); err != nil {
				return err
			}
			return tx.Bucket(about).Delete(scrubKey)
		})
	})
}

// clearFree fills the free pages of a file with zeros, and syncs it.
func clearFree(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	latest, _, err := examine(f)
	if err != nil {
		return err
	}
	p, err := readPages(f, latest)
	if err != nil {
		return err
	}
	page, zeros := make([]byte, pageSize), make([]byte, pageSize)
	for id := range p.free {
		if _, err := f.ReadAt(page, int64(id)*pageSize); err != nil {
			return err
		}
		if bytes.Equal(page, zeros) {
			continue
		}
		if _, err := f.WriteAt(zeros, int64(id)*pageSize); err != nil {
			return err
		}
	}
	return f.Sync()
}

// FollowRemovals is as the contract says.
func (l *Log) FollowRemovals(ctx context.Context, after uint64, take func(eventlog.Removal) error) error {
	return l.removed.FollowRemovals(ctx, after, l.readRemovals, take)
}

// Removals is as the contract says.
func (l *Log) Removals() uint64 { return l.removed.Last() }

func (l *Log) readRemovals(after, last uint64) (list []eventlog.Removal, err error) {
	l.readers.RLock()
	defer l.readers.RUnlock()
	err = guard(func() error {
		return l.db.View(func(tx *bolt.Tx) error {
			for number := after + 1; number <= last; number++ {
				r, err := eventlog.DecodeRemoval(tx.Bucket(removals).Get(sequence(number)))
				if err != nil {
					return fmt.Errorf("event log %s: removal %d: %w", l.path, number, err)
				}
				r.Number = number
				list = append(list, r)
			}
			return nil
		})
	})
	if errors.Is(err, bolterrors.ErrDatabaseNotOpen) {
		err = eventlog.ErrClosed
	}
	return list, err
}

// loadRemovals reads how many there are, and whether free pages must be overwritten.
func (l *Log) loadRemovals(tx *bolt.Tx, p *pages) error {
	l.dirty = tx.Bucket(about).Get(scrubKey) != nil
	b := tx.Bucket(removals)
	if b == nil {
		return nil
	}
	if b.Root() != 0 {
		if err := p.check(uint64(b.Root())); err != nil {
			return err
		}
	}
	if k, _ := b.Cursor().Last(); len(k) == 8 {
		l.removed.Advance(binary.BigEndian.Uint64(k))
	}
	return nil
}
