package native

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"unsafe"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/internal/parallel"
)

// Section writes one section, from its beginning to its end by Write or in any order by WriteAt.
type Section struct {
	file *Writer
	section
	buf  []byte
	done int64    // bytes in the file
	sums []uint32 // of the blocks that are full; crc is that of the last
	err  error
}

// blockSize is how many bytes of a section one checksum is for; the last block may be shorter.
const blockSize = 1 << 20

// numBlocks is how many blocks a section of that length has.
func numBlocks(length int64) int { return int((length + blockSize - 1) / blockSize) }

// most is how many bytes are written at once.
const most = 256 << 10

// Append writes one value.
func Append[T scalar](s *Section, v T) {
	if len(s.buf) > most {
		s.flush()
	}
	s.buf = append(s.buf, Bytes([]T{v})...)
}

// Write never fails before flush does.
func (s *Section) Write(p []byte) (int, error) {
	if len(s.buf)+len(p) > most {
		s.flush()
	}
	if len(p) >= most {
		s.put(p)
	} else {
		s.buf = append(s.buf, p...)
	}
	return len(p), s.err
}

func (s *Section) flush() error {
	s.put(s.buf)
	s.buf = s.buf[:0]
	return s.err
}

func (s *Section) put(p []byte) {
	if s.err != nil || len(p) == 0 {
		return
	}
	if _, s.err = s.file.file.WriteAt(p, s.offset+s.done); s.err != nil {
		return
	}
	for len(p) > 0 {
		n := min(int64(len(p)), blockSize-s.done%blockSize)
		s.crc = crc32.Update(s.crc, castagnoli, p[:n])
		p, s.done = p[n:], s.done+n
		if s.done%blockSize == 0 {
			s.sums, s.crc = append(s.sums, s.crc), 0
		}
	}
}

// sealed are the checksums of all blocks of a section that is written. It has none of its own then.
func (s *Section) sealed() []uint32 {
	if s.done%blockSize != 0 {
		s.sums = append(s.sums, s.crc)
	}
	s.crc = 0
	return s.sums
}

// Size is how many bytes have been written.
func (s *Section) Size() int64 { return s.done + int64(len(s.buf)) }

// Shape sets rows and columns that were not known when the section began.
func (s *Section) Shape(rows, cols int) { s.rows, s.cols = int64(rows), int64(cols) }

// Seal ends a section whose length was not known.
func (s *Section) Seal() {
	s.flush()
	s.length = s.done
	s.file.end = s.offset + s.done
}

// WriteAt writes to a place in a section of known length. A section written so ends with readBack.
func (s *Section) WriteAt(p []byte, at int64) (int, error) {
	return s.file.file.WriteAt(p, s.offset+at)
}

// ReadBack reads a section that was written in any order, for its checksums. What was never written is zero.
func (s *Section) ReadBack() error {
	if err := s.file.file.Truncate(s.file.end); err != nil {
		return err
	}
	s.sums = make([]uint32, numBlocks(s.length))
	errs := make([]error, len(s.sums))
	parallel.Each(len(s.sums), func(i int) {
		at := int64(i) * blockSize
		block := make([]byte, min(blockSize, s.length-at))
		_, errs[i] = s.file.file.ReadAt(block, s.offset+at)
		s.sums[i] = crc32.Checksum(block, castagnoli)
	})
	if n := len(s.sums); s.length%blockSize != 0 {
		s.sums, s.crc = s.sums[:n-1], s.sums[n-1]
	}
	s.done = s.length
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("read back %s: %w", sectionName(s.kind), err)
	}
	return nil
}

// store is where a file is written: an atomicfile.File, or nowhere.
type store interface {
	io.ReaderAt
	io.WriterAt
	Truncate(size int64) error
	Commit() error
	Discard()
}

// nowhere forgets what is written. It reads as zeros.
type nowhere struct{}

func (nowhere) WriteAt(p []byte, _ int64) (int, error) { return len(p), nil }
func (nowhere) ReadAt(p []byte, _ int64) (int, error)  { clear(p); return len(p), nil }
func (nowhere) Truncate(int64) error                   { return nil }
func (nowhere) Commit() error                          { return nil }
func (nowhere) Discard()                               {}

// scalar is what sections are made of.
type scalar interface {
	~byte | ~uint16 | ~int32 | ~uint32 | ~int64 | ~float32 | ~float64
}

// littleEndian says whether numbers lie in memory as they do in the file.
var littleEndian = binary.NativeEndian.Uint16([]byte{1, 0}) == 1

// Bytes is the little-endian bytes of a column, its own memory where possible.
func Bytes[T scalar](col []T) []byte {
	if len(col) == 0 {
		return nil
	}
	size := int(unsafe.Sizeof(col[0]))
	raw := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(col))), size*len(col))
	if littleEndian || size == 1 {
		return raw
	}
	return swapped(raw, size)
}

// rawWords is the memory of histories, which hold numbers of different sizes: only little-endian machines can keep them
// in a file.
func rawWords(words []event.Time) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), 8*len(words))
}

// columnOf is the column that little-endian bytes hold, in their own memory where possible. They must be aligned to 8
// bytes.
func columnOf[T scalar](raw []byte) []T {
	var zero T
	size := int(unsafe.Sizeof(zero))
	if len(raw) < size {
		return nil
	}
	if !littleEndian && size > 1 {
		raw = swapped(raw, size)
	}
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(raw))), len(raw)/size)
}

// swapped copies values of size bytes with their bytes turned round.
func swapped(raw []byte, size int) []byte {
	words := make([]int64, (len(raw)+7)/8) // for the alignment
	out := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), len(words)*8)[:len(raw)]
	for i := 0; i+size <= len(raw); i += size {
		for j := range size {
			out[i+j] = raw[i+size-1-j]
		}
	}
	return out
}
