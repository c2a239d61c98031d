package embedded

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"runtime"
	"runtime/debug"
	"syscall"

	bolterrors "go.etcd.io/bbolt/errors"

	"github.com/dygmamba/dygmamba/eventlog"
)

// damaged says what is wrong with the record of a sequence; 0 stands for the whole log.
func damaged(seq uint64, format string, args ...any) error {
	what := fmt.Sprintf(format, args...)
	if seq > 0 {
		what = fmt.Sprintf("sequence %d: %s", seq, what)
	}
	return fmt.Errorf("%w: %s", eventlog.ErrDamaged, what)
}

// read decodes a record and holds it against its place.
func read(k, v []byte) (eventlog.Batch, error) {
	if len(k) != 8 {
		return eventlog.Batch{}, damaged(0, "a record has a key of %d bytes instead of 8", len(k))
	}
	seq := binary.BigEndian.Uint64(k)
	if len(v) > eventlog.MaxRecord {
		return eventlog.Batch{}, damaged(seq, "its record claims %d bytes, at most %d are right",
			len(v), eventlog.MaxRecord)
	}
	b, err := eventlog.Decode(v)
	if err != nil {
		return eventlog.Batch{}, fmt.Errorf("the record that ends with sequence %d: %w", seq, err)
	}
	if b.Last != seq || len(b.Events) == 0 {
		return eventlog.Batch{}, damaged(seq, "its record is that of %d with %d events", b.Last, len(b.Events))
	}
	return b, nil
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// keyRecord is what is kept of a key: number of events, key, checksum of both.
func keyRecord(key string, r eventlog.Receipt) []byte {
	v := binary.AppendUvarint(nil, uint64(r.Accepted))
	v = append(v, key...)
	return binary.LittleEndian.AppendUint32(v, crc32.Checksum(v, castagnoli))
}

func readKey(k, v []byte) (string, eventlog.Receipt, error) {
	if len(k) == 8 && len(v) > 4 && len(v) < eventlog.MaxKey+20 {
		seq, body := binary.BigEndian.Uint64(k), v[:len(v)-4]
		n, w := binary.Uvarint(body)
		if w > 0 && crc32.Checksum(body, castagnoli) == binary.LittleEndian.Uint32(v[len(body):]) {
			return string(body[w:]), eventlog.Receipt{Last: seq, Accepted: int(n)}, nil
		}
		return "", eventlog.Receipt{}, damaged(seq, "its idempotency key has another checksum")
	}
	return "", eventlog.Receipt{}, damaged(0, "an idempotency key of %d bytes is kept under one of %d", len(v), len(k))
}

// guard turns what bbolt does with pages that make no sense, and reads from parts of the file that are gone, into
// ErrDamaged: both panic.
func guard(do func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		switch p := recover().(type) {
		case nil:
		case runtime.Error:
			err = damaged(0, "reading the file faulted: %v", p)
		default:
			err = damaged(0, "the file makes no sense: %v", p)
		}
	}()
	return do()
}

// explain gives errors of the system and of bbolt the names of package eventlog and says what would help.
func explain(err error) error {
	switch {
	case full(err):
		return fmt.Errorf("%w: %w: make room, then send the events again", eventlog.ErrFull, err)
	case errors.Is(err, bolterrors.ErrTimeout):
		return fmt.Errorf("%w: stop that one, or give this one another directory", eventlog.ErrInUse)
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return fmt.Errorf("%w: want a directory that this user may write to", err)
	case errors.Is(err, bolterrors.ErrInvalid), errors.Is(err, bolterrors.ErrChecksum),
		errors.Is(err, bolterrors.ErrVersionMismatch):
		return damaged(0, "%v: this is no event log, or its beginning was lost", err)
	}
	return err
}
