// Package embedded answers: how does one process keep its event log in a directory? It is the default engine: one file
// of the key-value store bbolt, batches by the sequence of their last event, concurrent appends in one commit.
package embedded

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	bolt "go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"github.com/dygmamba/dygmamba/eventlog"
	"github.com/dygmamba/dygmamba/internal/disk"
)

// File is the name of the log in its directory.
const File = "events.db"

// pageSize is the same on every machine, so that a log may move.
const pageSize = 4096

// The buckets of the file. Keys of records and keys are sequences, big-endian, so that their order is that of events.
var (
	records = []byte("records") // last sequence of a batch → its record
	keys    = []byte("keys")    // the same → number of events, key, CRC32C; of the latest batches that have a key
	about   = []byte("about")   // "format" → format; "begin" → see trim.go; "scrub" → see remove.go
	format  = []byte("dygmamba event log 1")
)

// Options change how a log is opened. The zero value is the default.
type Options struct {
	// Cut is told what was left of a commit that a crash interrupted and that is cut off: never anything acknowledged.
	Cut func(what string)

	keep int // keys to remember; eventlog.KeptKeys unless a test says otherwise
}

// Log is an eventlog.Log in a directory.
type Log struct {
	path string
	db   *bolt.DB
	from begin
	tail eventlog.Tail // of what is durable
	sent *eventlog.Receipts
	keep int

	removed eventlog.Tail // of removals
	dirty   bool          // free pages may hold what was erased; set by load
	copies  sync.RWMutex  // held while the file is copied, and to overwrite free pages; taken before readers
	readers sync.RWMutex  // held by short reads, and to overwrite free pages

	queue chan *request
	stop  chan struct{} // closed by Close
	idle  chan struct{} // closed when the writer has ended
	close sync.Once
	ended error // of closing the file
}

// Open opens the log of a directory, and makes both if they are not there. One process at a time has it.
func Open(dir string, o Options) (*Log, error) {
	path := filepath.Join(dir, File)
	if err := create(path); err != nil {
		return nil, fmt.Errorf("event log %s: %w", path, explain(err))
	}
	l := &Log{
		path: path, keep: cmp.Or(o.keep, eventlog.KeptKeys),
		queue: make(chan *request, 1024), stop: make(chan struct{}), idle: make(chan struct{}),
	}
	if err := l.open(o.Cut); err != nil {
		return nil, fmt.Errorf("event log %s: %w", path, explain(err))
	}
	if l.dirty {
		if err := l.scrub(); err != nil {
			l.db.Close()
			return nil, fmt.Errorf("event log %s: overwrite what was erased: %w", path, explain(err))
		}
	}
	go l.write()
	return l, nil
}

func (l *Log) open(cut func(string)) error {
	f, err := os.Open(l.path)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, _, err := examine(f); err != nil { // bbolt would fault
		return err
	}
	if l.db, err = openFile(l.path); err != nil {
		return err
	}
	latest, torn, err := examine(f) // now that nobody else writes
	if err == nil {
		err = guard(func() error { return l.db.View(func(tx *bolt.Tx) error { return l.load(tx, f, latest) }) })
	}
	if err != nil {
		l.db.Close()
		return err
	}
	if torn != "" && cut != nil {
		cut(torn)
	}
	return nil
}

func openFile(path string) (db *bolt.DB, err error) {
	var file *os.File
	err = guard(func() error {
		db, err = bolt.Open(path, 0o600, &bolt.Options{
			Timeout:      100 * time.Millisecond, // to wait for another process
			PageSize:     pageSize,
			FreelistType: bolt.FreelistMapType,
			OpenFile: func(name string, flag int, mode os.FileMode) (*os.File, error) {
				file, err = os.OpenFile(name, flag, mode)
				return file, err
			},
		})
		return err
	})
	if err != nil && file != nil {
		unlock(file) // bbolt keeps it where it panics
		file.Close()
	}
	return db, err
}

// create makes the file of an empty log. It has another name until it is whole, so that neither a crash nor a second
// process meets half of one; of two processes that do this one wins.
func create(path string) error {
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	room, err := os.MkdirTemp(dir, "."+File+"-*.tmp")
	if err != nil {
		return err
	}
	defer os.RemoveAll(room)
	db, err := openFile(filepath.Join(room, File))
	if err != nil {
		return err
	}
	err = db.Update(func(tx *bolt.Tx) error {
		for _, name := range [][]byte{records, keys, about} {
			if _, err := tx.CreateBucket(name); err != nil {
				return err
			}
		}
		return tx.Bucket(about).Put([]byte("format"), format)
	})
	if err := errors.Join(err, db.Close()); err != nil {
		return err
	}
	err = os.Link(filepath.Join(room, File), path) // unlike a rename it never replaces a log
	if err != nil && !errors.Is(err, os.ErrExist) {
		err = os.Rename(filepath.Join(room, File), path) // this file system has no links
	}
	if err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	return errors.Join(syncDir(dir), syncDir(filepath.Dir(dir)))
}

// load reads where the log ends and which keys it remembers.
func (l *Log) load(tx *bolt.Tx, f io.ReaderAt, latest mark) error {
	p, err := readPages(f, latest)
	if err == nil {
		err = p.check(latest.root)
	}
	if err != nil {
		return err
	}
	for _, name := range [][]byte{records, keys, about} {
		b := tx.Bucket(name)
		if b == nil {
			return damaged(0, "it has no %q: this is no event log", name)
		}
		if b.Root() != 0 { // a small one lies in the page above
			if err := p.check(uint64(b.Root())); err != nil {
				return err
			}
		}
	}
	if found := tx.Bucket(about).Get([]byte("format")); string(found) != string(format) {
		return damaged(0, "it says %q, this program reads %q", found, format)
	}
	from, err := beginOf(tx)
	if err != nil {
		return err
	}
	l.from.store(from.after, from.cut)
	last, err := lastOf(tx)
	if err != nil {
		return err
	}
	l.tail.Advance(last)
	if err := l.loadRemovals(tx, p); err != nil {
		return err
	}
	l.sent = eventlog.NewReceipts(l.keep)
	c := tx.Bucket(keys).Cursor()
	for k, v := c.First(); k != nil; k, v = c.Next() {
		key, receipt, err := readKey(k, v)
		if err != nil {
			return err
		}
		l.sent.Add(key, receipt)
	}
	return nil
}

// lastOf is the sequence that the records end with.
func lastOf(tx *bolt.Tx) (uint64, error) {
	k, v := tx.Bucket(records).Cursor().Last()
	if k == nil {
		from, err := beginOf(tx)
		return from.after, err
	}
	b, err := read(k, v)
	return b.Last, err
}

// Last is the sequence of the last event on disk.
func (l *Log) Last() uint64 { return l.tail.Last() }

// Close takes what is being written, refuses what waits and ends all that follow.
func (l *Log) Close() error {
	l.close.Do(func() {
		l.tail.End(eventlog.ErrClosed)
		l.removed.End(eventlog.ErrClosed)
		close(l.stop)
		<-l.idle
		l.ended = l.db.Close()
	})
	return l.ended
}

// reserve is how many bytes must be free on the disk: the file grows by as many at a time.
const reserve = 16 << 20

// Check says why the log would take no events: its end, or a disk that is full.
func (l *Log) Check(context.Context) error {
	free, ok := disk.Free(filepath.Dir(l.path))
	if !ok {
		free = reserve
	}
	return l.check(free)
}

// check does so with that many bytes free on the disk.
func (l *Log) check(free int64) error {
	if err := l.tail.Err(); err != nil {
		return err
	}
	if free < reserve {
		return fmt.Errorf("event log %s: %w: %d bytes are free on the disk, want at least %d",
			l.path, eventlog.ErrFull, free, reserve)
	}
	return nil
}

// A request is taken by the writer or withdrawn by its sender, whoever is first.
type request struct {
	key      string
	events   []eventlog.Event
	taken    atomic.Bool
	answered chan struct{}
	receipt  eventlog.Receipt
	err      error
}

// Append returns when the batch is on disk. If ctx ends before its turn nothing of it is taken; then it is too late.
func (l *Log) Append(ctx context.Context, key string, events []eventlog.Event) (eventlog.Receipt, error) {
	if err := ctx.Err(); err != nil {
		return eventlog.Receipt{}, err
	}
	r := &request{key: key, events: events, answered: make(chan struct{})}
	select {
	case l.queue <- r:
	case <-l.stop:
		return eventlog.Receipt{}, eventlog.ErrClosed
	case <-ctx.Done():
		return eventlog.Receipt{}, ctx.Err()
	}
	select {
	case <-r.answered:
		return r.receipt, r.err
	case <-l.idle:
		if r.taken.CompareAndSwap(false, true) {
			return eventlog.Receipt{}, eventlog.ErrClosed
		}
	case <-ctx.Done():
		if r.taken.CompareAndSwap(false, true) {
			return eventlog.Receipt{}, ctx.Err()
		}
	}
	<-r.answered
	return r.receipt, r.err
}

// Follow reads in short transactions: a long one would keep the file from growing.
func (l *Log) Follow(ctx context.Context, after uint64, take func(eventlog.Batch) error) error {
	var batches []eventlog.Batch
	read := func(after, last uint64) (_ []eventlog.Batch, err error) {
		batches, err = l.read(after, last, batches[:0])
		return batches, err
	}
	return l.tail.Follow(ctx, after, read, take)
}

// read appends the next batches that end after one sequence and not after another. What is whole before a damaged one
// comes with the error.
func (l *Log) read(after, last uint64, batches []eventlog.Batch) (_ []eventlog.Batch, err error) {
	const enough = 1 << 20
	if from, _ := l.Begin(); after < from {
		return batches, fmt.Errorf("event log %s: %w: it begins after sequence %d, want events after %d", l.path,
			eventlog.ErrForgotten, from, after)
	}
	l.readers.RLock()
	defer l.readers.RUnlock()
	reached := after
	err = guard(func() error {
		return l.db.View(func(tx *bolt.Tx) error {
			c, size := tx.Bucket(records).Cursor(), 0
			for k, v := c.Seek(sequence(after + 1)); reached < last && size < enough; k, v = c.Next() {
				if k == nil {
					return damaged(reached+1, "it and all up to %d are missing", last)
				}
				b, err := read(k, v)
				if err != nil {
					return err
				}
				first := b.Last - uint64(len(b.Events)) + 1
				if first > reached+1 || len(batches) > 0 && first != reached+1 {
					return damaged(reached+1, "the next record has %d to %d", first, b.Last)
				}
				batches, reached, size = append(batches, b), b.Last, size+len(v)
			}
			return nil
		})
	})
	switch {
	case errors.Is(err, bolterrors.ErrDatabaseNotOpen):
		err = eventlog.ErrClosed
	case errors.Is(err, eventlog.ErrDamaged):
		err = fmt.Errorf("event log %s: after sequence %d: %w", l.path, reached, err)
	case err != nil:
		err = fmt.Errorf("event log %s: %w", l.path, err)
	}
	return batches, err
}

func sequence(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }
