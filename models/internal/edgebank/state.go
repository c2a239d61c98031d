package edgebank

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/internal/pairs"
	"github.com/dygmamba/dygmamba/tensor"
)

// A snapshot is, little-endian: the number of pairs, each pair's source and destination (4 bytes), first and last
// meeting and number of meetings (8), then the number of times and, for a bank with a window of fixed proportion, the
// time of every event (8).
const pairSize = 4 + 4 + 8 + 8 + 8

// Snapshot is all the bank remembers.
func (b *Bank) Snapshot() ([]tensor.Named, error) {
	raw := b.bytes()
	return []tensor.Named{{Name: "pairs", Shape: []int{len(raw)}, Bytes: raw}}, nil
}

func (b *Bank) bytes() []byte {
	out := make([]byte, 0, 16+pairSize*b.met.Len()+8*b.times.Len())
	put := func(x uint64) { out = binary.LittleEndian.AppendUint64(out, x) }
	put(uint64(b.met.Len()))
	for i := range b.met.Len() {
		m := b.met.At(i)
		u, v := pairs.Split(b.pairs.Key(i))
		out = binary.LittleEndian.AppendUint32(out, uint32(u))
		out = binary.LittleEndian.AppendUint32(out, uint32(v))
		put(math.Float64bits(m.first))
		put(math.Float64bits(m.last))
		put(uint64(m.count))
	}
	put(uint64(b.times.Len()))
	for i := range b.times.Len() {
		put(math.Float64bits(*b.times.At(i)))
	}
	return out
}

// Restore goes back to a snapshot of a bank of the same variant. The bank is unchanged if it cannot. Banks that share a
// memory all go back, but after Mark this one alone does: it has a memory of its own until it is rewound.
func (b *Bank) Restore(state []tensor.Named) error {
	back := newLedger(b.keepsTimes)
	if state != nil {
		found, ok := tensor.Find(state, "pairs")
		if !ok {
			return fmt.Errorf("restore %s: the snapshot has no pairs", b.config)
		}
		if err := back.read(found.Bytes); err != nil {
			return fmt.Errorf("restore %s: %w", b.config, err)
		}
	}
	back.version = b.version + 1
	if b.journal != nil {
		b.ledger = back
		return nil
	}
	*b.ledger = *back
	return nil
}

func (l *ledger) read(state []byte) error {
	short := errors.New("the snapshot is cut off")
	next := func() (x uint64) {
		x = binary.LittleEndian.Uint64(state)
		state = state[8:]
		return x
	}
	if len(state) < 8 {
		return short
	}
	count := next()
	if count > uint64(len(state))/pairSize {
		return short
	}
	var number [1]int32
	for i := range int(count) {
		ends := next()
		u, v := int32(ends), int32(ends>>32)
		var m meetings
		m.first, m.last = math.Float64frombits(next()), math.Float64frombits(next())
		m.count = int(next())
		if m.count < 1 || !(-event.MaxTime <= m.first && m.first <= m.last && m.last <= event.MaxTime) {
			return fmt.Errorf("pair (%d, %d) met %d times from %v to %v", u, v, m.count, m.first, m.last)
		}
		if l.pairs.Add([]uint64{pairs.Key(u, v)}, number[:]); int(number[0]) != i {
			return fmt.Errorf("pair (%d, %d) is repeated", u, v)
		}
		l.met.Append(m)
		l.intervals.replace(0, m.interval())
		l.events += m.count
		l.latest = max(l.latest, m.last)
	}
	if len(state) < 8 {
		return short
	}
	times := next()
	want := uint64(0)
	if l.keepsTimes {
		want = uint64(l.events)
	}
	if times != want || uint64(len(state)) != 8*times {
		return fmt.Errorf("the snapshot has %d times in %d bytes, want %d", times, len(state), want)
	}
	for range times {
		t := math.Float64frombits(next())
		if !(math.Abs(t) <= event.MaxTime) || l.times.Len() > 0 && t < *l.times.At(l.times.Len() - 1) {
			return fmt.Errorf("event %d was at %v, want ascending times", l.times.Len(), t)
		}
		l.times.Append(t)
	}
	return nil
}
