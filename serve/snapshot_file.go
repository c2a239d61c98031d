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
	Data   string `json:"data"`            // hash of the data set
	Known  int    `json:"known"`           // events of the data set
	Nodes  int    `json:"nodes"`           // of the data set
	Events int    `json:"events"`          // received after those
	Last   uint64 `json:"last"`            // sequence of the last of them
	Names  int    `json:"names"`           // of nodes that are not in the data set
	Apart  bool   `json:"apart"`           // sources and destinations have separate names
	Width  int    `json:"width"`           // features of an event
	Zeros  int    `json:"zeros"`           // events before the first with features
	Kinds  int    `json:"kinds,omitempty"` // of events

	Removals uint64 `json:"removals,omitempty"` // of the log: number of the last one that it has
	Places   int    `json:"places,omitempty"`   // runs of events with consecutive sequences
	IDs      int    `json:"ids,omitempty"`      // events with an id

	Cut *event.Time `json:"cut,omitempty"` // events before it were dropped; nil: none were

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

// snapshot is a file whose checksums are right. Columns of events stay in the file until they are needed.
type snapshot struct {
	snapshotHeader
	src, dst, time  section
	label, features section
	places          places
	ids             []idPlace
	kind            section  // no bytes: events have no kinds
	ends            []uint32 // of the names in text
	text            string
	sides           []byte
	memory          *modelMemory
}

// section is a column in the file.
type section struct {
	r     io.ReaderAt
	at    int64
	bytes int64
}

// rows reads the values lo … hi−1 of a section into a buffer.
func rows[T uint16 | int32 | float32 | float64](s section, lo, hi int, buf []T) ([]T, error) {
	var one T
	size := int64(unsafe.Sizeof(one))
	buf = slices.Grow(buf[:0], hi-lo)[:hi-lo]
	if _, err := s.r.ReadAt(bytesOf(buf), s.at+int64(lo)*size); err != nil && hi > lo {
		return nil, fmt.Errorf("%w: %v", errSnapshot, err)
	}
	return buf, nil
}

// cut is the time before which events were dropped, −Inf if none were.
func (h *snapshotHeader) cut() event.Time {
	if h.Cut == nil {
		return math.Inf(-1)
	}
	return *h.Cut
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// bytesOf is a slice as bytes. All machines that this runs on are little-endian.
func bytesOf[T uint16 | int32 | uint32 | float32 | float64](s []T) []byte {
	if len(s) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), len(s)*int(unsafe.Sizeof(s[0])))
}

// writeSnapshot writes a state and the model's memory, which may be nil.
func writeSnapshot(w io.Writer, e *engine, at *state, m *modelMemory, data string) (int64, error) {
	known := at.Known()
	events := at.Events().Slice(known, at.Len())
	h := snapshotHeader{Data: data, Known: known, Nodes: at.epoch.names.known, Events: events.Len(), Last: at.Last,
		Apart: at.epoch.names.apart, Width: e.width, Removals: at.epoch.removals}
	if cut := at.epoch.cut; !math.IsInf(cut, -1) {
		h.Cut = &cut
	}
	h.Names = max(0, at.NumNodes()-1-at.epoch.names.known)
	list, sides := at.epoch.names.newcomers(h.Names)
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
	if len(e.set.Kinds) > 0 {
		kinds := make([]event.Kind, events.Len())
		for i := range kinds {
			kinds[i] = events.Kind(i)
		}
		h.Kinds = len(e.set.Kinds)
		h.Columns = append(h.Columns, snapshotColumn{"kind", 0, bytesOf(kinds)})
	}
	h.Columns = append(h.Columns, placeColumns(&h, e, at)...)
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

// openSnapshot opens a file and checks all of it. The caller closes the file when it is done with the snapshot.
func openSnapshot(path string) (*snapshot, *os.File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil {
		var s *snapshot
		if s, err = parseSnapshot(f, info.Size()); err == nil {
			return s, f, nil
		}
	}
	f.Close()
	return nil, nil, err
}

// parseSnapshot reads what a snapshot has besides columns of events. It allocates no more bytes than the file has.
func parseSnapshot(r io.ReaderAt, size int64) (*snapshot, error) {
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
		s.Places < 0 || s.Places > s.Events || s.IDs < 0 || s.IDs > s.Events ||
		n > math.MaxInt32 || names > math.MaxInt32 || s.Width > 1<<20 {
		return fmt.Errorf("%w: its header counts %d events with %d features, and %d names",
			errSnapshot, s.Events, s.Width, s.Names)
	}
	sides := int64(0)
	if s.Apart {
		sides = names
	}
	features := (n - int64(s.Zeros)) * int64(s.Width) * 4
	type column struct {
		name  string
		bytes int64                        // -1: any
		keep  func(n int64, column string) // reads the column
	}
	want := []column{
		{"src", 4 * n, in.into(&s.src)},
		{"dst", 4 * n, in.into(&s.dst)},
		{"time", 8 * n, in.into(&s.time)},
		{"label", 4 * n, in.into(&s.label)},
		{"features", features, in.into(&s.features)},
		{"ends", 4 * names, func(n int64, what string) { s.ends = from[uint32](in.summed(n, what)) }},
		{"names", -1, func(n int64, what string) { text = in.summed(n, what) }},
		{"sides", sides, func(n int64, what string) { s.sides = in.summed(n, what) }},
	}
	if s.Kinds > 0 {
		want = append(want, column{"kind", 2 * n, in.into(&s.kind)})
	}
	if s.Places > 0 {
		want = append(want, column{"places", 16 * int64(s.Places), func(n int64, what string) {
			s.places = readPlaces(in.summed(n, what))
		}})
	}
	if s.IDs > 0 {
		want = append(want, column{"ids", 24 * int64(s.IDs), func(n int64, what string) {
			s.ids = readIDs(in.summed(n, what))
		}})
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
		c.keep(has.Bytes, "column "+has.Name)
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
	for i, run := range s.places {
		if i == 0 && run.number != 0 || run.number >= s.Events || i > 0 && (run.number <= s.places[i-1].number ||
			run.sequence <= s.places[i-1].sequence) {
			return fmt.Errorf("%w: run %d of sequences makes no sense", errSnapshot, i+1)
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

// columnReader reads columns of a file, one after another. It refuses one that is longer than the rest of the file.
type columnReader struct {
	r    io.ReaderAt
	at   int64
	left int64
	err  error
}

// has says whether n bytes are left.
func (c *columnReader) has(n int64, what string) bool {
	if c.err == nil && (n < 0 || n > c.left) {
		c.err = fmt.Errorf("%w: it ends within %s: %d bytes are wanted, %d are left", errSnapshot, what, n, c.left)
	}
	return c.err == nil
}

// plain reads n bytes into a buffer that is aligned to 8 bytes.
func (c *columnReader) plain(n int64, what string) []byte {
	if !c.has(n, what) {
		return nil
	}
	words := make([]uint64, (n+7)/8)
	buf := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), len(words)*8)[:n]
	if _, err := c.r.ReadAt(buf, c.at); err != nil && n > 0 {
		c.err = fmt.Errorf("%w: read %s: %v", errSnapshot, what, err)
		return nil
	}
	c.at, c.left = c.at+n, c.left-n
	return buf
}

func (c *columnReader) summed(n int64, what string) []byte {
	buf := c.plain(n, what)
	c.sum(crc32.Checksum(buf, castagnoli), what)
	return buf
}

// sum reads the checksum of what was read last.
func (c *columnReader) sum(found uint32, what string) {
	want := c.plain(4, "the checksum of "+what)
	if c.err == nil && binary.LittleEndian.Uint32(want) != found {
		c.err = fmt.Errorf("%w: the checksum of %s is wrong", errSnapshot, what)
	}
}

// into checks a column and leaves it in the file.
func (c *columnReader) into(s *section) func(n int64, what string) {
	return func(n int64, what string) {
		if !c.has(n, what) {
			return
		}
		*s = section{c.r, c.at, n}
		h := crc32.New(castagnoli)
		if _, err := io.Copy(h, bufio.NewReaderSize(io.NewSectionReader(c.r, c.at, n), 1<<20)); err != nil {
			c.err = fmt.Errorf("%w: read %s: %v", errSnapshot, what, err)
			return
		}
		c.at, c.left = c.at+n, c.left-n
		c.sum(h.Sum32(), what)
	}
}

// fits says why a snapshot does not belong to this server.
func (s *snapshot) fits(e *engine, data string, which selection) error {
	known, names := 0, e.names()
	which.cut = s.cut()
	keeps := which.keeps(e.set)
	for i := range e.set.Log.Len() {
		if keeps(i) {
			known++
		}
	}
	switch {
	case s.Data == data && s.Removals < which.removals:
		return fmt.Errorf("%w: it has %d removals of events, the log %d", errStale, s.Removals, which.removals)
	case s.Data == data && s.Events > 0 && s.Places == 0 && (s.Cut != nil || s.Last != uint64(s.Events)):
		return fmt.Errorf("%w: an earlier version wrote it, without the sequences of its events", errStale)
	case s.Removals > which.removals:
		return fmt.Errorf("%w: it has %d removals of events, the log %d", errSnapshot, s.Removals, which.removals)
	case s.Data != data || s.Known != known || s.Nodes != names.known:
		return fmt.Errorf("%w: one of %d events with hash %.12s, this one has %d and %.12s", errOtherData,
			s.Known, s.Data, known, data)
	case s.Width != e.width || s.Apart != names.apart:
		return fmt.Errorf("%w: its events have %d features, those of the data set %d", errSnapshot, s.Width, e.width)
	case s.Kinds != len(e.set.Kinds):
		return fmt.Errorf("%w: its events have %d kinds, those of the data set %d", errSnapshot, s.Kinds,
			len(e.set.Kinds))
	case s.Last < uint64(s.Events):
		return fmt.Errorf("%w: %d events until sequence %d", errSnapshot, s.Events, s.Last)
	}
	most := event.Node(s.Nodes + s.Names)
	return s.each(context.Background(), func(lo int, list []event.Event, _ [][]float32) error {
		for i, x := range list {
			if int(x.Kind) > s.Kinds {
				return fmt.Errorf("%w: event %d is of kind %d, there are %d", errSnapshot, lo+i+1, x.Kind, s.Kinds)
			}
			if x.Src < 1 || x.Dst < 1 || x.Src > most || x.Dst > most {
				return fmt.Errorf("%w: event %d is of nodes %d and %d, there are %d", errSnapshot, lo+i+1, x.Src, x.Dst,
					most)
			}
		}
		return nil
	})
}

// errStale says that a snapshot cannot be used any more, and must not be kept.
var errStale = errors.New("the snapshot is out of date")

// errOtherData says that a snapshot belongs to another data set.
var errOtherData = errors.New("it was made with another data set")

// each reads the events of a snapshot, some at a time, with their features if there are any.
func (s *snapshot) each(ctx context.Context, do func(lo int, events []event.Event, features [][]float32) error) error {
	const step = 1 << 16
	var src, dst []int32
	var label, row []float32
	var times []float64
	var kind []event.Kind
	events := make([]event.Event, 0, min(step, s.Events))
	for lo := 0; lo < s.Events; lo += step {
		hi := min(lo+step, s.Events)
		var errs [6]error
		src, errs[0] = rows(s.src, lo, hi, src)
		dst, errs[1] = rows(s.dst, lo, hi, dst)
		times, errs[2] = rows(s.time, lo, hi, times)
		label, errs[3] = rows(s.label, lo, hi, label)
		if s.features.bytes > 0 {
			row, errs[4] = rows(s.features, max(0, lo-s.Zeros)*s.Width, max(0, hi-s.Zeros)*s.Width, row)
		}
		if s.kind.bytes > 0 {
			kind, errs[5] = rows(s.kind, lo, hi, kind)
		}
		if err := errors.Join(append(errs[:], ctx.Err())...); err != nil {
			return err
		}
		events = events[:0]
		var features [][]float32
		for i := range hi - lo {
			events = append(events, event.Event{Src: src[i], Dst: dst[i], Time: times[i], Label: label[i]})
			if s.kind.bytes > 0 {
				events[i].Kind = kind[i]
			}
			if s.features.bytes == 0 {
				continue
			}
			var one []float32
			if k := lo + i - s.Zeros; k >= 0 {
				k -= max(0, lo-s.Zeros)
				one = row[k*s.Width : (k+1)*s.Width]
			}
			features = append(features, one)
		}
		if err := do(lo, events, features); err != nil {
			return err
		}
	}
	return nil
}

// latest is the time of the latest event, −Inf if there is none.
func (s *snapshot) latest(ctx context.Context) (last event.Time, err error) {
	last = math.Inf(-1)
	return last, s.each(ctx, func(_ int, list []event.Event, _ [][]float32) error {
		for _, x := range list {
			last = max(last, x.Time)
		}
		return nil
	})
}

// restore fills an engine that has only events of the data set, with what is not before the engine's cut.
func (s *snapshot) restore(ctx context.Context, e *engine) error {
	ep := e.epoch.Load()
	start := uint32(0)
	for i, end := range s.ends {
		id := ep.names.add(s.text[start:end], !s.Apart || s.sides[i] != 0)
		if int(id) != s.Nodes+i+1 {
			return fmt.Errorf("%w: the name %q is there twice", errSnapshot, clip(s.text[start:end]))
		}
		start = end
	}
	counts := make([]int32, s.Nodes+s.Names+1)
	kept := 0
	if err := s.each(ctx, func(_ int, list []event.Event, _ [][]float32) error {
		for _, x := range list {
			if x.Time >= ep.cut {
				counts[x.Src]++
				counts[x.Dst]++
				kept++
			}
		}
		return nil
	}); err != nil {
		return err
	}
	ep.past.ExpectCounts(counts, kept)
	if s.Places == 0 && s.Events > 0 {
		s.places = places{{0, 1}}
	}
	err := s.each(ctx, func(lo int, list []event.Event, features [][]float32) error {
		n, known := 0, ep.past.Now().Len()-ep.past.Now().Known()
		for i, x := range list {
			if x.Time < ep.cut {
				continue
			}
			ep.places = ep.places.add(known+n, s.places.sequence(lo+i))
			if list[n] = x; features != nil {
				features[n] = features[i]
			}
			n++
		}
		if features != nil {
			features = features[:n]
		}
		if err := ep.past.Add(list[:n], features); err != nil {
			return fmt.Errorf("%w: %v", errSnapshot, err)
		}
		return nil
	})
	if err == nil {
		e.ids.restore(s.ids)
		ep.advance(s.Last, ep.now().at)
		e.tail.Advance(s.Last)
	}
	return err
}
