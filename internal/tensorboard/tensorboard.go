// Package tensorboard writes scalar curves as TensorBoard event files.
//
// A file is a sequence of records: length (uint64), masked CRC-32C of the length, data, masked CRC-32C of the data. The
// data is an Event message of TensorFlow's event.proto; the few fields needed here are encoded by hand.
package tensorboard

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// Writer appends to one event file.
type Writer struct {
	file *os.File
	now  func() time.Time
}

// New starts a file in dir. TensorBoard reads all files of a directory as one run, so a resumed run starts another.
func New(dir string) (*Writer, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("tensorboard: %w", err)
	}
	now := time.Now()
	name := fmt.Sprintf("events.out.tfevents.%010d.dygmamba.%d.%d", now.Unix(), os.Getpid(), now.Nanosecond())
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("tensorboard: %w", err)
	}
	w := &Writer{file: f, now: time.Now}
	return w, w.write(appendString(nil, 3, "brain.Event:2"), 0)
}

// Scalars writes values of one step, in order of their names.
func (w *Writer) Scalars(step int64, values map[string]float64) error {
	var summary []byte
	for _, name := range slices.Sorted(maps.Keys(values)) {
		var v []byte
		v = appendString(v, 1, name)
		v = binary.LittleEndian.AppendUint32(append(v, 2<<3|5), math.Float32bits(float32(values[name])))
		summary = appendBytes(summary, 1, v)
	}
	return w.write(appendBytes(nil, 5, summary), step)
}

// Close ends the file.
func (w *Writer) Close() error { return w.file.Close() }

// write adds one event with wall time (field 1, double), step (field 2, varint) and the given field.
func (w *Writer) write(field []byte, step int64) error {
	event := binary.LittleEndian.AppendUint64([]byte{1<<3 | 1}, math.Float64bits(float64(w.now().UnixNano())/1e9))
	event = binary.AppendUvarint(append(event, 2<<3), uint64(step))
	event = append(event, field...)
	if _, err := w.file.Write(record(event)); err != nil {
		return fmt.Errorf("tensorboard: %w", err)
	}
	return nil
}

func record(data []byte) []byte {
	r := binary.LittleEndian.AppendUint64(nil, uint64(len(data)))
	r = binary.LittleEndian.AppendUint32(r, masked(r))
	r = append(r, data...)
	return binary.LittleEndian.AppendUint32(r, masked(data))
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func masked(b []byte) uint32 {
	c := crc32.Checksum(b, castagnoli)
	return (c>>15 | c<<17) + 0xa282ead8
}

func appendBytes(b []byte, field int, data []byte) []byte {
	b = binary.AppendUvarint(append(b, byte(field<<3|2)), uint64(len(data)))
	return append(b, data...)
}

func appendString(b []byte, field int, s string) []byte { return appendBytes(b, field, []byte(s)) }
