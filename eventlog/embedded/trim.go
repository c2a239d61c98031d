package embedded

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"sync"

	bolt "go.etcd.io/bbolt"
)

// begin is where a log begins that was trimmed. In the file it is a value of the bucket about: the sequence and the
// bits of the time, 8 bytes each, big-endian.
type begin struct {
	mu    sync.Mutex // guards what follows
	after uint64     // events up to this sequence were removed
	cut   float64    // because they were before this time
}

var beginKey = []byte("begin")

func (b *begin) store(after uint64, cut float64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.after, b.cut = after, cut
}

// trimmed is what the file says about its beginning.
type trimmed struct {
	after uint64
	cut   float64
}

func beginOf(tx *bolt.Tx) (trimmed, error) {
	v := tx.Bucket(about).Get(beginKey)
	switch {
	case v == nil:
		return trimmed{0, math.Inf(-1)}, nil
	case len(v) != 16:
		return trimmed{}, damaged(0, "where it begins is said with %d bytes instead of 16", len(v))
	}
	return trimmed{binary.BigEndian.Uint64(v), math.Float64frombits(binary.BigEndian.Uint64(v[8:]))}, nil
}

// Begin is as the contract says.
func (l *Log) Begin() (after uint64, cut float64) {
	l.from.mu.Lock()
	defer l.from.mu.Unlock()
	return l.from.after, l.from.cut
}

// Trim is as the contract says. It removes some batches at a time, so that appends need not wait for long. The file
// keeps its size: later batches use the space.
func (l *Log) Trim(ctx context.Context, cut float64, upTo uint64) error {
	const some = 2000
	for more := true; more; {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := l.tail.Err(); err != nil {
			return err
		}
		var from trimmed
		if err := guard(func() error {
			return l.db.Update(func(tx *bolt.Tx) (err error) {
				from, more, err = trim(tx, cut, upTo, some)
				return err
			})
		}); err != nil {
			return fmt.Errorf("trim the event log %s: %w", l.path, explain(err))
		}
		l.from.store(from.after, from.cut)
	}
	return nil
}

// trim removes at most some batches. It says whether there may be more.
func trim(tx *bolt.Tx, cut float64, upTo uint64, some int) (from trimmed, more bool, err error) {
	if from, err = beginOf(tx); err != nil {
		return from, false, err
	}
	from.cut = max(from.cut, cut)
	to := tx.Bucket(records)
	for n := 0; ; n++ {
		k, v := to.Cursor().First()
		if k == nil {
			break
		}
		b, err := read(k, v)
		if err != nil {
			return from, false, err
		}
		old := b.Last <= upTo
		for _, e := range b.Events {
			old = old && (e.Erased || e.Time < cut)
		}
		if !old {
			break
		}
		if n == some {
			more = true
			break
		}
		if err := to.Delete(k); err != nil {
			return from, false, err
		}
		from.after = b.Last
	}
	v := binary.BigEndian.AppendUint64(nil, from.after)
	v = binary.BigEndian.AppendUint64(v, math.Float64bits(from.cut))
	return from, more, tx.Bucket(about).Put(beginKey, v)
}
