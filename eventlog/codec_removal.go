package eventlog

import (
	"encoding/binary"
	"hash/crc32"
	"math"
	"slices"
)

// marksOf are the flags of the columns that say which events have an id, and which are erased.
func marksOf(e *Event) (flags byte) {
	if e.ID != "" {
		flags |= withIDs
	}
	if e.Erased {
		flags |= withErased
	}
	return flags
}

// sizeOfMarks is how many bytes the columns take at most, but for the text of ids.
func sizeOfMarks(flags byte, events int) (size int) {
	if flags&withIDs != 0 {
		size += 3 * events // a length up to MaxName
	}
	if flags&withErased != 0 {
		size += (events + 7) / 8
	}
	return size
}

// appendMarks writes the lengths of ids, their text, and a bit for each event that is erased.
func appendMarks(dst []byte, flags byte, events []Event) []byte {
	if flags&withIDs != 0 {
		for i := range events {
			dst = binary.AppendUvarint(dst, uint64(len(events[i].ID)))
		}
		for i := range events {
			dst = append(dst, events[i].ID...)
		}
	}
	if flags&withErased != 0 {
		bits := make([]byte, (len(events)+7)/8)
		for i := range events {
			if events[i].Erased {
				bits[i/8] |= 1 << (i % 8)
			}
		}
		dst = append(dst, bits...)
	}
	return dst
}

func (r *reader) marks(flags byte, events []Event) {
	if flags&withIDs != 0 {
		lengths, total := r.rest, 0
		for range events {
			total += int(r.bounded(MaxName))
		}
		text := string(r.bytes(total))
		if r.short {
			return
		}
		again := reader{rest: lengths}
		for i := range events {
			n := again.uvarint()
			events[i].ID, text = text[:n], text[n:]
		}
	}
	if flags&withErased != 0 {
		bits := r.bytes((len(events) + 7) / 8)
		for i := range events {
			events[i].Erased = !r.short && bits[i/8]&(1<<(i%8)) != 0
		}
	}
}

// Erase makes those events of a batch erased that a removal names. It says whether there was one that was not erased
// before. The events of the batch are replaced, not written to.
func (b *Batch) Erase(sequences []uint64) (changed bool) {
	first := b.Last - uint64(len(b.Events)) + 1
	at, _ := slices.BinarySearch(sequences, first)
	for _, s := range sequences[at:] {
		if s > b.Last {
			break
		}
		if i := s - first; !b.Events[i].Erased {
			if !changed {
				b.Events, changed = slices.Clone(b.Events), true
			}
			b.Events[i] = Event{Erased: true}
		}
	}
	return changed
}

// MaxNote is how many bytes the note of a removal may have.
const MaxNote = 16 << 20

// EncodeRemoval appends a removal as a record to dst. Its number is not in it.
func EncodeRemoval(dst []byte, r Removal) ([]byte, error) {
	if len(r.Note) > MaxNote {
		return dst, refuse(ErrTooLarge, "the note of a removal has %d bytes, at most %d are taken", len(r.Note),
			MaxNote)
	}
	start := len(dst)
	dst = append(dst, version)
	dst = binary.AppendUvarint(dst, r.Last)
	dst = binary.AppendUvarint(dst, uint64(len(r.Sequences)))
	before := uint64(0)
	for _, s := range r.Sequences {
		dst = binary.AppendUvarint(dst, s-before)
		before = s
	}
	dst = binary.AppendUvarint(dst, uint64(len(r.Note)))
	dst = append(dst, r.Note...)
	return binary.LittleEndian.AppendUint32(dst, crc32.Checksum(dst[start:], castagnoli)), nil
}

// DecodeRemoval reads a record that EncodeRemoval wrote. What is no record is ErrDamaged.
func DecodeRemoval(record []byte) (r Removal, err error) {
	if len(record) < 1+checksum {
		return r, refuse(ErrDamaged, "a removal of %d bytes", len(record))
	}
	body := record[:len(record)-checksum]
	if crc32.Checksum(body, castagnoli) != binary.LittleEndian.Uint32(record[len(body):]) || body[0] != version {
		return r, refuse(ErrDamaged, "a removal of %d bytes has another checksum or version", len(record))
	}
	in := reader{rest: body[1:]}
	r.Last = in.uvarint()
	n := in.bounded(uint64(len(in.rest)))
	r.Sequences = make([]uint64, n)
	before := uint64(0)
	for i := range r.Sequences {
		step := in.bounded(math.MaxUint64 - before)
		if step == 0 {
			in.fail()
		}
		before += step
		r.Sequences[i] = before
	}
	r.Note = string(in.bytes(int(in.bounded(MaxNote))))
	if in.short || len(in.rest) != 0 {
		return Removal{}, refuse(ErrDamaged, "a removal does not end with its %d sequences", n)
	}
	return r, nil
}

// CheckSequences says which of the sequences of a removal are not in a log that has those after one and up to another,
// or that they are not in order.
func (r *Removal) CheckSequences(after, last uint64) error {
	before := uint64(0)
	for _, s := range r.Sequences {
		if s <= before {
			return refuse(ErrUnknown, "sequence %d comes after %d, want them ascending", s, before)
		}
		if s <= after || s > last {
			return refuse(ErrUnknown, "sequence %d, the log has %d to %d", s, after+1, last)
		}
		before = s
	}
	return nil
}
