package serve

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"net"
	"os"
	"slices"
	"unsafe"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/predict"
	"github.com/dygmamba/dygmamba/tensor"
)

// A snapshot is a magic word with the version, the length of the header (4 bytes), the header as JSON, and the columns
// that the header lists. The header and each column end with their CRC-32C (4 bytes). Numbers are little-endian.
const snapshotMagic = "DYGSNAP1"

var errSnapshot = errors.New("damaged snapshot")

type snapshotHeader struct {
	Data   string `json:"data"`   // hash of the data set
	Known  int    `json:"known"`  // events of the data set
	Nodes  int    `json:"nodes"`  // of the data set
	Events int    `json:"events"` // received after those
	Last   uint64 `json:"last"`   // sequence of the last of them
	Names  int    `json:"names"`  // of nodes that are not in the data set
	Apart  bool   `json:"apart"`  // sources and destinations have separate names
	Width  int    `json:"width"`  // features of an event
	Zeros  int    `json:"zeros"`  // events before the first with features

	Columns []snapshotColumn `json:"columns"`
	Memory  *snapshotMemory  `json:"memory,omitempty"`
}

type snapshotColumn struct {
	Name  string `json:"name"`
	Bytes int64  `json:"bytes"`
	data  []byte // to write
}

type snapshotMemory struct {
	Hash    string           `json:"checkpoint"`
	Events  int              `json:"events"`
	Tensors []snapshotTensor `json:"tensors"`
}

type snapshotTensor struct {
	Name  string `json:"name"`
	Shape []int  `json:"shape"`
	Raw   bool   `json:"raw,omitempty"` // bytes, not floats
}

type snapshot struct {
	snapshotHeader
	src, dst []int32
	time     []float64
	label    []float32
	features []float32
	ends     []uint32 // of the names in text
	text     string
	sides    []byte
	memory   *modelMemory
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// bytesOf is a slice as bytes. All machines that this runs on are little-endian.
func bytesOf[T int32 | uint32 | float32 | float64](s []T) []byte {
	if len(s) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), len(s)*int(unsafe.Sizeof(s[0])))
}

// writeSnapshot writes a state and the model's memory, which may be nil.
func writeSnapshot(w io.Writer, e *engine, at *state, m *modelMemory, data string) (int64, error) {
	known := at.Known()
	events := at.Events().Slice(known, at.Len())
	h := snapshotHeader{Data: data, Known: known, Nodes: e.names.known, Events: events.Len(), Last: at.Last,
		Apart: e.names.apart, Width: e.width}
	h.Names = max(0, at.NumNodes()-1-e.names.known)
	list, sides := e.names.newcomers(h.Names)
	var ends []uint32
	var text []byte
	for _, name := range list {
		text = append(text, name...)
		if len(text) > math.MaxUint32 {
			return 0, errors.New("the names of nodes have more than 4 GiB")
		}
		ends = append(ends, uint32(len(text)))
	}
	labels := make([]float32, events.Len())
	for i := range labels {
		labels[i] = events.Label(i)
	}
	var rows []float32
	rows, h.Zeros = at.FeatureRows()
	h.Columns = []snapshotColumn{{"src", 0, bytesOf(events.Src)}, {"dst", 0, bytesOf(events.Dst)},
		{"time", 0, bytesOf(events.Time)}, {"label", 0, bytesOf(labels)}, {"features", 0, bytesOf(rows)},
		{"ends", 0, bytesOf(ends)}, {"names", 0, text}, {"sides", 0, sides}}
	if m != nil {
		h.Memory = &snapshotMemory{Hash: m.Hash, Events: m.Events}
		for _, t := range m.State {
			h.Memory.Tensors = append(h.Memory.Tensors, snapshotTensor{t.Name, t.Shape, t.Bytes != nil})
			raw := t.Bytes
			if raw == nil {
				raw = bytesOf(t.Data)
			}
			h.Columns = append(h.Columns, snapshotColumn{"memory/" + t.Name, 0, raw})
		}
	}
	for i, c := range h.Columns {
		h.Columns[i].Bytes = int64(len(c.data))
	}
	head, err := json.Marshal(h)
	if err != nil {
		return 0, err
	}
	file := net.Buffers{binary.LittleEndian.AppendUint32([]byte(snapshotMagic), uint32(len(head)))}
	for _, c := range slices.Concat([]snapshotColumn{{data: head}}, h.Columns) {
		sum := crc32.Checksum(c.data, castagnoli)
		file = append(file, c.data, binary.LittleEndian.AppendUint32(nil, sum))
	}
	return file.WriteTo(w)
}

// readSnapshot reads a file. It allocates no more bytes than the file has.
func readSnapshot(path string) (*snapshot, int64, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, 0, err
	}
	s, err := parseSnapshot(bufio.NewReaderSize(f, 1<<20), info.Size())
	return s, info.Size(), err
}

func parseSnapshot(r io.Reader, size int64) (*snapshot, error) {
	in := &columnReader{r: r, left: size}
	if magic := in.plain(int64(len(snapshotMagic)), "its first word"); in.err == nil && string(magic) != snapshotMagic {
		return nil, fmt.Errorf("%w: it begins with %q, want %q", errSnapshot, magic, snapshotMagic)
	}
	length := in.plain(4, "the length of its header")
	if in.err != nil {
		return nil, in.err
	}
	head := in.summed(int64(binary.LittleEndian.Uint32(length)), "its header")
	if in.err != nil {
		return nil, in.err
	}
	s := &snapshot{}
	if err := json.Unmarshal(head, &s.snapshotHeader); err != nil {
		return nil, fmt.Errorf("%w: its header: %v", errSnapshot, err)
	}
	if err := s.fill(in); err != nil {
		return nil, err
	}
	if in.err == nil && in.left != 0 {
		return nil, fmt.Errorf("%w: %d bytes follow its end", errSnapshot, in.left)
	}
	return s, in.err
}

// fill reads the columns, in their order.
func (s *snapshot) fill(in *columnReader) error {
	var text []byte
	n, names := int64(s.Events), int64(s.Names)
	if n < 0 || names < 0 || s.Known < 0 || s.Nodes < 0 || s.Width < 0 || s.Zeros < 0 || s.Zeros > s.Events ||
		n > math.MaxInt32 || names > math.MaxInt32 || s.Width > 1<<20 {
		return fmt.Errorf("%w: its header counts %d events with %d features, and %d names",
			errSnapshot, s.Events, s.Width, s.Names)
	}
	sides := int64(0)
	if s.Apart {
		sides = names
	}
	features := (n - int64(s.Zeros)) * int64(s.Width) * 4
	want := []struct {
		name  string
		bytes int64 // -1: any
		keep  func([]byte)
	}{
		{"src", 4 * n, func(b []byte) { s.src = from[int32](b) }},
		{"dst", 4 * n, func(b []byte) { s.dst = from[int32](b) }},
		{"time", 8 * n, func(b []byte) { s.time = from[float64](b) }},
		{"label", 4 * n, func(b []byte) { s.label = from[float32](b) }},
		{"features", features, func(b []byte) { s.features = from[float32](b) }},
		{"ends", 4 * names, func(b []byte) { s.ends = from[uint32](b) }},
		{"names", -1, func(b []byte) { text = b }},
		{"sides", sides, func(b []byte) { s.sides = b }},
	}
	if len(s.Columns) < len(want) {
		return fmt.Errorf("%w: it has %d columns, want %d", errSnapshot, len(s.Columns), len(want))
	}
	for i, c := range want {
		has := s.Columns[i]
		if none := c.name == "features" && has.Bytes == 0; has.Name != c.name || !none && c.bytes >= 0 &&
			has.Bytes != c.bytes {
			return fmt.Errorf("%w: column %d is %q with %d bytes, want %q with %d",
				errSnapshot, i+1, has.Name, has.Bytes, c.name, c.bytes)
		}
		c.keep(in.summed(has.Bytes, "column "+has.Name))
		if in.err != nil {
			return in.err
		}
	}
	s.text = string(text)
	for i, end := range s.ends {
		if i > 0 && end < s.ends[i-1] || int(end) > len(s.text) {
			return fmt.Errorf("%w: name %d ends at byte %d", errSnapshot, i+1, end)
		}
	}
	return s.fillMemory(in, s.Columns[len(want):])
}

func (s *snapshot) fillMemory(in *columnReader, columns []snapshotColumn) error {
	var tensors []snapshotTensor
	if s.Memory != nil {
		tensors = s.Memory.Tensors
		s.memory = &modelMemory{Hash: s.Memory.Hash, Remembered: predict.Remembered{Events: s.Memory.Events}}
	}
	if len(columns) != len(tensors) {
		return fmt.Errorf("%w: %d columns of memory, want %d", errSnapshot, len(columns), len(tensors))
	}
	for i, t := range tensors {
		raw := in.summed(columns[i].Bytes, "the memory "+t.Name)
		if in.err != nil {
			return in.err
		}
		named, size := tensor.Named{Name: t.Name, Shape: t.Shape}, int64(4)
		if t.Raw {
			named.Bytes, size = raw, 1
		} else {
			named.Data = from[float32](raw)
		}
		for _, d := range t.Shape {
			if d < 0 || size > 0 && int64(d) > int64(len(raw))/size+1 {
				size = -1 // and not a product that overflows
				break
			}
			size *= int64(d)
		}
		if size != int64(len(raw)) {
			return fmt.Errorf("%w: the memory %s has shape %v and %d bytes", errSnapshot, t.Name, t.Shape, len(raw))
		}
		s.memory.State = append(s.memory.State, named)
	}
	return nil
}

// from is the reverse of bytesOf. The bytes must be aligned: see columnReader.plain.
func from[T int32 | uint32 | float32 | float64](b []byte) []T {
	var one T
	n := len(b) / int(unsafe.Sizeof(one))
	if n == 0 {
		return nil
	}
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), n)
}

// columnReader reads columns of a file. It refuses a column that is longer than the rest of the file.
type columnReader struct {
	r    io.Reader
	left int64
	err  error
}

// plain reads n bytes into a buffer that is aligned to 8 bytes.
func (c *columnReader) plain(n int64, what string) []byte {
	if c.err != nil {
		return nil
	}
	if n < 0 || n > c.left {
		c.err = fmt.Errorf("%w: it ends within %s: %d bytes are wanted, %d are left", errSnapshot, what, n, c.left)
		return nil
	}
	words := make([]uint64, (n+7)/8)
	buf := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), len(words)*8)[:n]
	if _, err := io.ReadFull(c.r, buf); err != nil {
		c.err = fmt.Errorf("%w: read %s: %v", errSnapshot, what, err)
		return nil
	}
	c.left -= n
	return buf
}

func (c *columnReader) summed(n int64, what string) []byte {
	buf := c.plain(n, what)
	sum := c.plain(4, "the checksum of "+what)
	if c.err == nil && binary.LittleEndian.Uint32(sum) != crc32.Checksum(buf, castagnoli) {
		c.err = fmt.Errorf("%w: the checksum of %s is wrong", errSnapshot, what)
	}
	return buf
}

// fits says why a snapshot does not belong to this server.
func (s *snapshot) fits(e *engine, data string) error {
	known := e.now().Len()
	switch {
	case s.Data != data || s.Known != known || s.Nodes != e.names.known:
		return fmt.Errorf("it was made with another data set: one of %d events with hash %.12s, "+
			"this one has %d and %.12s", s.Known, s.Data, known, data)
	case s.Width != e.width || s.Apart != e.names.apart:
		return fmt.Errorf("%w: its events have %d features, those of the data set %d", errSnapshot, s.Width, e.width)
	case s.Last < uint64(s.Events):
		return fmt.Errorf("%w: %d events until sequence %d", errSnapshot, s.Events, s.Last)
	}
	most := event.Node(s.Nodes + s.Names)
	for i := range s.src {
		if s.src[i] < 1 || s.dst[i] < 1 || s.src[i] > most || s.dst[i] > most {
			return fmt.Errorf("%w: event %d is of nodes %d and %d, there are %d",
				errSnapshot, i+1, s.src[i], s.dst[i], most)
		}
	}
	return nil
}

// restore fills an engine that has only the events of the data set.
func (s *snapshot) restore(ctx context.Context, e *engine) error {
	start := uint32(0)
	for i, end := range s.ends {
		id := e.names.add(s.text[start:end], !s.Apart || s.sides[i] != 0)
		if int(id) != s.Nodes+i+1 {
			return fmt.Errorf("%w: the name %q is there twice", errSnapshot, clip(s.text[start:end]))
		}
		start = end
	}
	e.past.Expect(s.src, s.dst)
	const step = 1 << 16
	events := make([]event.Event, 0, step)
	for lo := 0; lo < s.Events; lo += step {
		if err := ctx.Err(); err != nil {
			return err
		}
		hi := min(lo+step, s.Events)
		events = events[:0]
		var features [][]float32
		for i := lo; i < hi; i++ {
			events = append(events, event.Event{Src: s.src[i], Dst: s.dst[i], Time: s.time[i], Label: s.label[i]})
			if s.features != nil {
				var row []float32
				if k := i - s.Zeros; k >= 0 {
					row = s.features[k*s.Width : (k+1)*s.Width]
				}
				features = append(features, row)
			}
		}
		if err := e.past.Add(events, features); err != nil {
			return fmt.Errorf("%w: %v", errSnapshot, err)
		}
	}
	e.advance(s.Last, e.now().at)
	return nil
}
