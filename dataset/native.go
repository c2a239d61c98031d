package dataset

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"math"

	"github.com/dygmamba/dygmamba/dataset/data"
	"github.com/dygmamba/dygmamba/dataset/input"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/internal/whole"
)

// The native file: a header, sections at multiples of 64 bytes, and a table of them. docs/FORMATS.md has it byte by byte.
const (
	nativeVersion = 1
	headerSize    = 128
	entrySize     = 48
	sectionAlign  = 64
	maxSections   = 1024

	flagBipartite = 1 << 0
)

// Kinds of sections.
const (
	secSource       = 1  // int32 per event
	secDestination  = 2  // int32 per event
	secTime         = 3  // float64 per event, never decreasing
	secLabel        = 4  // float32 per event; absent: all 0
	secEdge         = 5  // int32 per event; absent: 1, 2, 3, …
	secEdgeFeatures = 6  // float32, rows × columns; no bytes: all zero
	secNodeFeatures = 7  // float32, rows × columns; no bytes: all zero
	secNameNumbers  = 8  // int64 per node, where all names are whole numbers
	secNameText     = 9  // all names one after another
	secNameEnds     = 10 // int64 per node: where its name ends in the text
	secAbout        = 11 // JSON
)

var sectionNames = map[uint32]string{secSource: "source", secDestination: "destination", secTime: "time", secLabel: "label", secEdge: "edge",
	secEdgeFeatures: "edge features", secNodeFeatures: "node features", secNameNumbers: "name numbers", secNameText: "name text",
	secNameEnds: "name ends", secAbout: "about"}

// about is what a native file says about itself in words.
type about struct {
	Name       string   `json:"name"`
	TimeFormat string   `json:"time_format"`
	Sampling   string   `json:"sampling"`
	From       []string `json:"from,omitempty"` // the imported files
}

// nativeHeader is the header without magic, version and checksums.
type nativeHeader struct {
	flags    uint32
	events   int64
	nodes    int64 // the largest node id
	sources  int64 // nodes named as sources; 0: one id space
	table    int64 // offset
	length   int64 // of the file
	sections uint32
}

// section is an entry of the table.
type section struct {
	kind       uint32
	crc        uint32
	offset     int64
	length     int64 // bytes
	rows, cols int64
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func (h nativeHeader) encode(tableCRC uint32) []byte {
	le := binary.LittleEndian
	b := make([]byte, headerSize)
	copy(b, input.NativeMagic)
	le.PutUint32(b[8:], nativeVersion)
	le.PutUint32(b[12:], h.flags)
	for i, v := range []int64{h.events, h.nodes, h.sources, h.table, h.length} {
		le.PutUint64(b[16+8*i:], uint64(v))
	}
	le.PutUint32(b[56:], h.sections)
	le.PutUint32(b[60:], tableCRC)
	le.PutUint32(b[headerSize-4:], crc32.Checksum(b[:headerSize-4], castagnoli))
	return b
}

func (s section) encode(b []byte) []byte {
	le := binary.LittleEndian
	b = le.AppendUint32(b, s.kind)
	b = le.AppendUint32(b, s.crc)
	for _, v := range []int64{s.offset, s.length, s.rows, s.cols, 0} {
		b = le.AppendUint64(b, uint64(v))
	}
	return b
}

func decodeSection(b []byte) section {
	le := binary.LittleEndian
	at := func(i int) int64 { return int64(min(le.Uint64(b[8+8*i:]), math.MaxInt64)) }
	return section{kind: le.Uint32(b), crc: le.Uint32(b[4:]), offset: at(0), length: at(1), rows: at(2), cols: at(3)}
}

// counts is what the header says of the events and nodes of a file.
type counts struct {
	events, nodes int
	sources       int // nodes named as sources; 0: one id space
	bipartite     bool
}

// nativeWriter writes a native file section by section.
type nativeWriter struct {
	file     store
	end      int64 // of what is written or promised
	sections []*sectionWriter
}

// createNative begins a file; without a path, one that is checked and thrown away.
func createNative(path string) (*nativeWriter, error) {
	if path == "" {
		return &nativeWriter{file: nowhere{}, end: headerSize}, nil
	}
	file, err := whole.Create(path)
	if err != nil {
		return nil, err
	}
	return &nativeWriter{file: file, end: headerSize}, nil
}

// section begins a section of length bytes, to be written while others are. Length −1: as many as will be written, before any other begins.
func (w *nativeWriter) section(kind uint32, rows, cols int, length int64) *sectionWriter {
	if n := len(w.sections); n > 0 && w.sections[n-1].length < 0 {
		w.sections[n-1].seal()
	}
	w.end = (w.end + sectionAlign - 1) / sectionAlign * sectionAlign
	s := &sectionWriter{file: w, section: section{kind: kind, offset: w.end, length: length, rows: int64(rows), cols: int64(cols)}}
	w.sections = append(w.sections, s)
	w.end += max(0, length)
	return s
}

// discard forgets the file.
func (w *nativeWriter) discard() { w.file.Discard() }

// commit writes table and header, and gives the file its name.
func (w *nativeWriter) commit(c counts) error {
	h := nativeHeader{events: int64(c.events), nodes: int64(c.nodes), sources: int64(c.sources)}
	if c.bipartite {
		h.flags |= flagBipartite
	}
	tail := w.section(0, 0, 0, -1) // the table itself; it takes no part in the table
	w.sections = w.sections[:len(w.sections)-1]
	var table []byte
	for _, s := range w.sections {
		if err := s.flush(); err != nil {
			return err
		}
		table = s.section.encode(table)
	}
	if _, err := w.file.WriteAt(table, tail.offset); err != nil {
		return err
	}
	h.table, h.sections, h.length = tail.offset, uint32(len(w.sections)), tail.offset+int64(len(table))
	if _, err := w.file.WriteAt(h.encode(crc32.Checksum(table, castagnoli)), 0); err != nil {
		return err
	}
	return w.file.Commit()
}

// sectionWriter writes one section, from its beginning to its end by Write or in any order by WriteAt.
type sectionWriter struct {
	file *nativeWriter
	section
	buf  []byte
	done int64 // bytes in the file
	err  error
}

// Write never fails before flush does.
func (s *sectionWriter) Write(p []byte) (int, error) {
	const most = 256 << 10
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

func (s *sectionWriter) flush() error {
	s.put(s.buf)
	s.buf = s.buf[:0]
	return s.err
}

func (s *sectionWriter) put(p []byte) {
	if s.err != nil || len(p) == 0 {
		return
	}
	s.crc = crc32.Update(s.crc, castagnoli, p)
	_, s.err = s.file.file.WriteAt(p, s.offset+s.done)
	s.done += int64(len(p))
}

// size is how many bytes have been written.
func (s *sectionWriter) size() int64 { return s.done + int64(len(s.buf)) }

// shape sets rows and columns that were not known when the section began.
func (s *sectionWriter) shape(rows, cols int) { s.rows, s.cols = int64(rows), int64(cols) }

// seal ends a section whose length was not known.
func (s *sectionWriter) seal() {
	s.flush()
	s.length = s.done
	s.file.end = s.offset + s.done
}

// drop takes the bytes of a sealed section back, before any other begins: their room is used again.
func (s *sectionWriter) drop() {
	s.file.end = s.offset
	s.err = s.file.file.Truncate(s.offset)
	s.length, s.crc = 0, 0
}

// WriteAt writes to a place in a section of known length. A section written so ends with readBack.
func (s *sectionWriter) WriteAt(p []byte, at int64) (int, error) {
	return s.file.file.WriteAt(p, s.offset+at)
}

// readBack reads a section that was written in any order, for its checksum. What was never written is zero.
func (s *sectionWriter) readBack() error {
	if err := s.file.file.Truncate(s.offset + s.length); err != nil {
		return err
	}
	buf := make([]byte, 256<<10)
	for s.done < s.length {
		k, err := s.file.file.ReadAt(buf[:min(int64(len(buf)), s.length-s.done)], s.offset+s.done)
		if err != nil {
			return fmt.Errorf("read back %s: %w", sectionName(s.kind), err)
		}
		s.crc = crc32.Update(s.crc, castagnoli, buf[:k])
		s.done += int64(k)
	}
	return nil
}

// Save writes the set as one native file. The file appears whole or not at all.
func Save(path string, s *data.Set) error {
	w, err := createNative(path)
	if err != nil {
		return err
	}
	if err := w.set(s); err != nil {
		w.discard()
		return err
	}
	return nil
}

func (w *nativeWriter) set(s *data.Set) error {
	all := s.Log.All()
	n := all.Len()
	put(w, secSource, all.Src)
	put(w, secDestination, all.Dst)
	put(w, secTime, all.Time)
	labels, edges := make([]float32, n), make([]event.Edge, n)
	labelled, jumbled := false, false
	for i := range n {
		labels[i], edges[i] = all.Label(i), all.Edge(i)
		labelled = labelled || labels[i] != 0
		jumbled = jumbled || int(edges[i]) != i+1
	}
	if labelled {
		put(w, secLabel, labels)
	}
	if jumbled {
		put(w, secEdge, edges)
	}
	w.features(secEdgeFeatures, s.Edge)
	w.features(secNodeFeatures, s.Node)
	if names := s.Names.Columns(); names.Numbers != nil {
		put(w, secNameNumbers, names.Numbers)
	} else if s.Names != nil {
		put(w, secNameText, names.Text)
		put(w, secNameEnds, names.Ends)
	}
	if err := w.about(about{Name: s.Name, TimeFormat: s.TimeFormat, Sampling: s.Sampling}); err != nil {
		return err
	}
	return w.commit(counts{events: n, nodes: max(0, s.NumNodes()-1), sources: s.Names.Sources(), bipartite: s.Bipartite})
}

func (w *nativeWriter) features(kind uint32, f data.Features) {
	s := w.section(kind, f.Rows, f.Cols, int64(4*len(f.Data)))
	s.Write(bytesOf(f.Data))
}

func (w *nativeWriter) about(a about) error {
	text, err := json.Marshal(a)
	if err != nil {
		return err
	}
	put(w, secAbout, text)
	return nil
}

// put writes a whole column.
func put[T scalar](w *nativeWriter, kind uint32, col []T) {
	raw := bytesOf(col)
	s := w.section(kind, len(col), 1, int64(len(raw)))
	s.Write(raw)
}
