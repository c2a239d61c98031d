package edgebank

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/dygmamba/dygmamba/event"
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
	out := make([]byte, 0, 16+pairSize*len(b.pairs)+8*len(b.times))
	put := func(x uint64) { out = binary.LittleEndian.AppendUint64(out, x) }
	put(uint64(len(b.pairs)))
	for _, m := range b.pairs {
		out = binary.LittleEndian.AppendUint32(out, uint32(m.src))
		out = binary.LittleEndian.AppendUint32(out, uint32(m.dst))
		put(math.Float64bits(m.first))
		put(math.Float64bits(m.last))
		put(uint64(m.count))
	}
	put(uint64(len(b.times)))
	for _, t := range b.times {
		put(math.Float64bits(t))
	}
	return out
}

// Restore goes back to a snapshot of a bank of the same variant. The bank is unchanged if it cannot.
func (b *Bank) Restore(state []tensor.Named) error {
	back := Bank{config: b.config}
	back.forget()
	if state != nil {
		pairs, ok := tensor.Find(state, "pairs")
		if !ok {
			return fmt.Errorf("restore %s: the snapshot has no pairs", b.config)
		}
		if err := back.read(pairs.Bytes); err != nil {
			return fmt.Errorf("restore %s: %w", b.config, err)
		}
	}
	*b = back
	return nil
}

func (b *Bank) forget() {
	*b = Bank{config: b.config, number: map[uint64]int32{}, latest: math.Inf(-1)}
}

func (b *Bank) read(state []byte) error {
	short := errors.New("the snapshot is cut off")
	next := func() (x uint64) {
		x = binary.LittleEndian.Uint64(state)
		state = state[8:]
		return x
	}
	if len(state) < 8 {
		return short
	}
	pairs := next()
	if pairs > uint64(len(state))/pairSize {
		return short
	}
	for range pairs {
		ends := next()
		m := meetings{src: int32(ends), dst: int32(ends >> 32)}
		m.first, m.last = math.Float64frombits(next()), math.Float64frombits(next())
		m.count = int(next())
		if m.count < 1 || !(-event.MaxTime <= m.first && m.first <= m.last && m.last <= event.MaxTime) {
			return fmt.Errorf("pair (%d, %d) met %d times from %v to %v", m.src, m.dst, m.count, m.first, m.last)
		}
		b.number[key(m.src, m.dst)] = int32(len(b.pairs))
		b.pairs = append(b.pairs, m)
		b.events += m.count
		b.latest = max(b.latest, m.last)
	}
	if len(b.number) != len(b.pairs) {
		return fmt.Errorf("%d of %d pairs are repeated", len(b.pairs)-len(b.number), len(b.pairs))
	}
	if len(state) < 8 {
		return short
	}
	times := next()
	want := uint64(0)
	if b.keepsTimes() {
		want = uint64(b.events)
	}
	if times != want || uint64(len(state)) != 8*times {
		return fmt.Errorf("the snapshot has %d times in %d bytes, want %d", times, len(state), want)
	}
	for range times {
		t := math.Float64frombits(next())
		if !(math.Abs(t) <= event.MaxTime) || len(b.times) > 0 && t < b.times[len(b.times)-1] {
			return fmt.Errorf("event %d was at %v, want ascending times", len(b.times), t)
		}
		b.times = append(b.times, t)
	}
	b.stale = len(b.pairs) > 0
	return nil
}
