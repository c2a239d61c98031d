package eventlog

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
)

// Limits of one batch. Whatever is larger is refused with ErrTooLarge before anything is written.
const (
	MaxEvents = 1 << 20 // of a batch
	MaxKey    = 1 << 10 // bytes of an idempotency key
	MaxName   = 1 << 16 // bytes of a node's name
	MaxRecord = 64 << 20
)

// A record begins with its version and ends with the CRC32C of all before. docs/FORMATS.md has every byte.
const (
	version      = 1
	withLabels   = 1 // flags of the second byte
	withFeatures = 2
	withKinds    = 4
	withIDs      = 8
	withErased   = 16
	checksum     = 4
	leastEvent   = 1 + 1 + 8 // two lengths and a time
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Encode appends a batch as a record to dst. Every bit of its numbers is kept.
func Encode(dst []byte, b Batch) ([]byte, error) {
	flags, size, err := measure(b)
	if err != nil {
		return dst, err
	}
	start := len(dst)
	if cap(dst)-start < size {
		dst = append(make([]byte, 0, start+size), dst...)
	}
	dst = append(dst, version, flags)
	dst = binary.AppendUvarint(dst, b.Last)
	dst = binary.AppendUvarint(dst, uint64(len(b.Key)))
	dst = append(dst, b.Key...)
	dst = binary.AppendUvarint(dst, uint64(len(b.Events)))
	for i := range b.Events {
		dst = binary.AppendUvarint(dst, uint64(len(b.Events[i].Src)))
		dst = binary.AppendUvarint(dst, uint64(len(b.Events[i].Dst)))
	}
	for i := range b.Events {
		dst = append(dst, b.Events[i].Src...)
		dst = append(dst, b.Events[i].Dst...)
	}
	for i := range b.Events {
		dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(b.Events[i].Time))
	}
	if flags&withLabels != 0 {
		for i := range b.Events {
			dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(b.Events[i].Label))
		}
	}
	if flags&withFeatures != 0 {
		dst = appendFeatures(dst, b.Events)
	}
	if flags&withKinds != 0 {
		dst = appendKinds(dst, b.Events)
	}
	dst = appendMarks(dst, flags, b.Events)
	return binary.LittleEndian.AppendUint32(dst, crc32.Checksum(dst[start:], castagnoli)), nil
}

// appendFeatures writes how many each event has, plus one, or 0 for none; then all of them.
func appendFeatures(dst []byte, events []Event) []byte {
	for i := range events {
		count := uint64(0)
		if events[i].Features != nil {
			count = uint64(len(events[i].Features)) + 1
		}
		dst = binary.AppendUvarint(dst, count)
	}
	for i := range events {
		for _, f := range events[i].Features {
			dst = binary.LittleEndian.AppendUint32(dst, math.Float32bits(f))
		}
	}
	return dst
}

// appendKinds writes the different kinds, in the order in which they first occur, and which of them each event has,
// counted from 1; 0: none.
func appendKinds(dst []byte, events []Event) []byte {
	places, names := map[string]uint64{"": 0}, []string(nil)
	for i := range events {
		kind := events[i].Kind
		if _, known := places[kind]; !known {
			names = append(names, kind)
			places[kind] = uint64(len(names))
		}
	}
	dst = binary.AppendUvarint(dst, uint64(len(names)))
	for _, name := range names {
		dst = binary.AppendUvarint(dst, uint64(len(name)))
		dst = append(dst, name...)
	}
	for i := range events {
		dst = binary.AppendUvarint(dst, places[events[i].Kind])
	}
	return dst
}

// measure says which columns a batch needs and how many bytes it takes at most, or why it is refused.
func measure(b Batch) (flags byte, size int, err error) {
	switch {
	case len(b.Events) > MaxEvents:
		return 0, 0, refuse(ErrTooLarge, "a batch has %d events, at most %d are taken at once",
			len(b.Events), MaxEvents)
	case len(b.Key) > MaxKey:
		return 0, 0, refuse(ErrTooLarge, "an idempotency key has %d bytes, at most %d are taken", len(b.Key), MaxKey)
	}
	const length, perEvent = 3, 2*3 + 8 // of MaxName, with its time
	size = 2 + binary.MaxVarintLen64 + length + len(b.Key) + length + perEvent*len(b.Events) + checksum
	features, kinds := 0, 0
	for i := range b.Events {
		e := &b.Events[i]
		flags |= marksOf(e)
		if n := max(len(e.Src), len(e.Dst), len(e.Kind), len(e.ID)); n > MaxName {
			return 0, 0, refuse(ErrTooLarge, "event %d has a name of %d bytes, at most %d are taken", i+1, n, MaxName)
		}
		if math.Float64bits(e.Label) != 0 {
			flags |= withLabels
		}
		if e.Features != nil {
			flags |= withFeatures
		}
		if e.Kind != "" {
			flags |= withKinds
			if i == 0 || e.Kind != b.Events[i-1].Kind { // more than they take where kinds come again
				kinds += length + len(e.Kind)
			}
		}
		size += len(e.Src) + len(e.Dst) + len(e.ID)
		features += len(e.Features)
	}
	if flags&withLabels != 0 {
		size += 8 * len(b.Events)
	}
	if flags&withFeatures != 0 {
		size += binary.MaxVarintLen32*len(b.Events) + 4*features
	}
	if flags&withKinds != 0 {
		size += kinds + length*(1+len(b.Events))
	}
	size += sizeOfMarks(flags, len(b.Events))
	if size > MaxRecord {
		return 0, 0, refuse(ErrTooLarge,
			"a batch of %d events takes %d bytes, at most %d are taken at once: send it in parts",
			len(b.Events), size, MaxRecord)
	}
	return flags, size, nil
}

// refuse is an error of a kind with what was found.
func refuse(kind error, format string, args ...any) error {
	return fmt.Errorf("%w: %s", kind, fmt.Sprintf(format, args...))
}

// Decode reads a record. Nothing of the result lies in record, and all names lie in one piece of memory: whoever keeps
// a few of them for long clones those. What is no record is ErrDamaged; its size bounds what is allocated.
func Decode(record []byte) (Batch, error) {
	if len(record) < 2+checksum {
		return Batch{}, refuse(ErrDamaged, "%d bytes, a record has at least %d", len(record), 2+checksum)
	}
	body := record[:len(record)-checksum]
	flags := body[1]
	found, want := crc32.Checksum(body, castagnoli), binary.LittleEndian.Uint32(record[len(body):])
	switch {
	case found != want:
		return Batch{}, refuse(ErrDamaged, "its %d bytes have checksum %08x instead of %08x", len(record), found, want)
	case body[0] != version:
		return Batch{}, refuse(ErrDamaged, "version %d, this program reads version %d", body[0], version)
	case flags&^(withLabels|withFeatures|withKinds|withIDs|withErased) != 0:
		return Batch{}, refuse(ErrDamaged, "unknown flags %#x", flags)
	}
	r := reader{rest: body[2:]}
	b := Batch{Last: r.uvarint()}
	b.Key = string(r.bytes(int(r.bounded(MaxKey))))
	n := int(r.bounded(uint64(min(MaxEvents, len(r.rest)/leastEvent))))
	if r.short || uint64(n) > b.Last && b.Last != 0 {
		return Batch{}, refuse(ErrDamaged, "its beginning makes no sense")
	}
	b.Events = make([]Event, n)
	r.names(b.Events)
	for i := range b.Events {
		b.Events[i].Time = math.Float64frombits(r.uint64())
	}
	if flags&withLabels != 0 {
		for i := range b.Events {
			b.Events[i].Label = math.Float64frombits(r.uint64())
		}
	}
	if flags&withFeatures != 0 {
		r.features(b.Events)
	}
	if flags&withKinds != 0 {
		r.kinds(b.Events)
	}
	r.marks(flags, b.Events)
	if r.short || len(r.rest) != 0 {
		return Batch{}, refuse(ErrDamaged, "it does not end with its %d events", n)
	}
	return b, nil
}

// reader takes fields off the front of rest; short is set once one was not there or out of bounds.
type reader struct {
	rest  []byte
	short bool
}

func (r *reader) uvarint() uint64 {
	if len(r.rest) > 0 && r.rest[0] < 0x80 {
		v := r.rest[0]
		r.rest = r.rest[1:]
		return uint64(v)
	}
	v, n := binary.Uvarint(r.rest)
	if n <= 0 {
		r.fail()
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

func (r *reader) bounded(most uint64) uint64 {
	v := r.uvarint()
	if v > most {
		r.fail()
		return 0
	}
	return v
}

func (r *reader) bytes(n int) []byte {
	if n > len(r.rest) {
		r.fail()
		return nil
	}
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b
}

func (r *reader) uint64() uint64 {
	if b := r.bytes(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

func (r *reader) fail() { r.short, r.rest = true, nil }

// names cuts one string into the names of all events.
func (r *reader) names(events []Event) {
	lengths, total := r.rest, 0
	for range 2 * len(events) {
		total += int(r.bounded(MaxName))
	}
	text := string(r.bytes(total))
	if r.short {
		return
	}
	again := reader{rest: lengths}
	for i := range events {
		n := again.uvarint()
		events[i].Src, text = text[:n], text[n:]
		n = again.uvarint()
		events[i].Dst, text = text[:n], text[n:]
	}
}

// features cuts one slice into those of all events.
func (r *reader) features(events []Event) {
	counts, total := r.rest, 0
	for range events {
		if n := int(r.bounded(MaxRecord/4 + 1)); n > 0 {
			total += n - 1
		}
	}
	raw := r.bytes(4 * total)
	if r.short {
		return
	}
	all := make([]float32, total)
	for i := range all {
		all[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
	}
	again := reader{rest: counts}
	for i := range events {
		if n := int(again.uvarint()); n > 0 {
			events[i].Features, all = all[:n-1:n-1], all[n-1:]
		}
	}
}

// kinds reads the different kinds and gives each event its own.
func (r *reader) kinds(events []Event) {
	names := make([]string, 1+r.bounded(uint64(min(len(events), len(r.rest)))))
	for i := range names[1:] {
		names[i+1] = string(r.bytes(int(r.bounded(MaxName))))
	}
	for i := range events {
		events[i].Kind = names[r.bounded(uint64(len(names)-1))]
	}
}
