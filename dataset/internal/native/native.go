// Package native answers: how does this program keep a data set on disk?
//
// In one file of columns that is mapped into memory rather than read, with a checksum for every block, and with an
// index of the events by node. Save writes a set, a Writer one that is never in memory as a whole, and Open opens
// either. Nothing but the table of sections is read before somebody asks for it.
package native

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"hash/crc32"
	"math"

	"github.com/dygmamba/dygmamba/dataset/internal/data"
	"github.com/dygmamba/dygmamba/dataset/internal/input"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/internal/atomicfile"
	"github.com/dygmamba/dygmamba/protocol"
)

// The native file: a header, sections at multiples of 64 bytes, and a table of them. docs/FORMATS.md has it byte by
// byte.
const (
	version      = 3 // with checksums by block, and with what is expensive to derive
	versionPlain = 1 // a checksum for each section, nothing derived; still read
	versionLater = 2 // as 1, with sources among the later nodes; still read
	headerSize   = 128
	entrySize    = 48
	sectionAlign = 64
	maxSections  = 1024

	flagBipartite = 1 << 0
)

// Kinds of sections.
const (
	Source       = 1  // int32 per event
	Destination  = 2  // int32 per event
	Time         = 3  // float64 per event, never decreasing
	Label        = 4  // float32 per event; absent: all 0
	Edge         = 5  // int32 per event; absent: 1, 2, 3, …
	EdgeFeatures = 6  // float32, rows × columns; no bytes: all zero
	NodeFeatures = 7  // float32, rows × columns; no bytes: all zero
	NameNumbers  = 8  // int64 per node, where all names are whole numbers
	NameText     = 9  // all names one after another
	NameEnds     = 10 // int64 per node: where its name ends in the text
	about        = 11 // JSON
	recipe       = 12 // JSON; absent: the set did not come from tables
	LaterSources = 13 // int32, ascending: nodes named as sources beyond the first ones
	starts       = 14 // uint32 per node and one: where its entries in the histories begin
	histories    = 15 // node by node: times, other ends, edge ids; 16 bytes an entry
	facts        = 16 // JSON: what was counted
	checksums    = 17 // uint32 for each block of all other sections
	idText       = 19 // bytes: ids of events one after another; absent: they have none
	idEnds       = 20 // int64 by edge id: where each ends
	Value        = 28 // float64 by edge id, 0 first; absent: events have none
	Kind         = 18 // uint16 per event, a place in the list of kinds from 1; absent: all 0

	// Features of nodes that change over time, a row each; absent: they do not.
	TimelineNode     = 24 // int32
	TimelineTime     = 25 // float64, never decreasing
	TimelineFeatures = 26 // float32, rows × columns

	// Labels of nodes with times of their own, a row each; absent: there are none.
	NodeLabelNode  = 30 // int32
	NodeLabelTime  = 31 // float64, never decreasing
	NodeLabelClass = 32 // uint16, a place in the list of classes from 0
	nodeClasses    = 33 // JSON: the list of their names
)

var sectionNames = map[uint32]string{Source: "source", Destination: "destination", Time: "time",
	Label: "label", Edge: "edge", EdgeFeatures: "edge features", NodeFeatures: "node features",
	NameNumbers: "name numbers", NameText: "name text", NameEnds: "name ends", about: "about", recipe: "recipe",
	LaterSources: "later sources", starts: "starts", histories: "histories", facts: "facts", checksums: "checksums",
	Kind: "kind", idText: "id text", idEnds: "id ends", Value: "value", TimelineNode: "timeline node",
	TimelineTime: "timeline time", TimelineFeatures: "timeline features",
	NodeLabelNode: "node label node", NodeLabelTime: "node label time", NodeLabelClass: "node label class",
	nodeClasses: "node classes"}

// About is what a native file says about itself in words.
type About struct {
	Name       string            `json:"name"`
	TimeFormat string            `json:"time_format"`
	TimeUnit   string            `json:"time_unit,omitempty"` // of Unix times
	Sampling   protocol.Sampling `json:"sampling"`
	From       []string          `json:"from,omitempty"`    // the imported files
	Kinds      []string          `json:"kinds,omitempty"`   // names of the kinds of events 1, 2, …
	Classes    []string          `json:"classes,omitempty"` // names of the classes of labels 1, 2, …; none: numbers
}

// header is the header without magic, version and checksums.
type header struct {
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

func (h header) encode(version, tableCRC uint32) []byte {
	le := binary.LittleEndian
	b := make([]byte, headerSize)
	copy(b, input.NativeMagic)
	le.PutUint32(b[8:], version)
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

// Counts is what the header says of the events and nodes of a file.
type Counts struct {
	Events, Nodes int
	Sources       int // nodes named as sources; 0: one id space
	Bipartite     bool
}

// Writer writes a native file section by section.
type Writer struct {
	file     store
	end      int64 // of what is written or promised
	sections []*Section
}

// Create begins a file; without a path, one that is checked and thrown away.
func Create(path string) (*Writer, error) {
	if path == "" {
		return &Writer{file: nowhere{}, end: headerSize}, nil
	}
	file, err := atomicfile.Create(path)
	if err != nil {
		return nil, err
	}
	return &Writer{file: file, end: headerSize}, nil
}

// Section begins a section of length bytes, to be written while others are. Length −1: as many as will be written,
// before any other begins.
func (w *Writer) Section(kind uint32, rows, cols int, length int64) *Section {
	w.sealLast()
	w.end = (w.end + sectionAlign - 1) / sectionAlign * sectionAlign
	s := &Section{file: w, section: section{
		kind: kind, offset: w.end, length: length, rows: int64(rows), cols: int64(cols),
	}}
	w.sections = append(w.sections, s)
	w.end += max(0, length)
	return s
}

// sealLast ends the last section if its length was not known.
func (w *Writer) sealLast() {
	if n := len(w.sections); n > 0 && w.sections[n-1].length < 0 {
		w.sections[n-1].Seal()
	}
}

// Discard forgets the file.
func (w *Writer) Discard() { w.file.Discard() }

// Commit derives what is expensive to derive, writes table and header, and gives the file its name.
func (w *Writer) Commit(ctx context.Context, c Counts) error {
	w.sealLast()
	for _, s := range w.sections {
		if err := s.flush(); err != nil {
			return err
		}
	}
	if err := w.derive(ctx, c); err != nil {
		return err
	}
	h := header{events: int64(c.Events), nodes: int64(c.Nodes), sources: int64(c.Sources)}
	if c.Bipartite {
		h.flags |= flagBipartite
	}
	var sums []uint32
	for _, s := range w.sections {
		if err := s.flush(); err != nil {
			return err
		}
		sums = append(sums, s.sealed()...)
	}
	put(w, checksums, sums)
	last := w.sections[len(w.sections)-1]
	tail := w.Section(0, 0, 0, -1) // the table itself; it takes no part in the table
	w.sections = w.sections[:len(w.sections)-1]
	if err := last.flush(); err != nil {
		return err
	}
	last.crc = crc32.Checksum(Bytes(sums), castagnoli)
	var table []byte
	for _, s := range w.sections {
		table = s.section.encode(table)
	}
	if _, err := w.file.WriteAt(table, tail.offset); err != nil {
		return err
	}
	h.table, h.sections, h.length = tail.offset, uint32(len(w.sections)), tail.offset+int64(len(table))
	if _, err := w.file.WriteAt(h.encode(version, crc32.Checksum(table, castagnoli)), 0); err != nil {
		return err
	}
	return w.file.Commit()
}

// Save writes the set as one native file. The file appears whole or not at all.
func Save(path string, s *data.Set) error {
	w, err := Create(path)
	if err != nil {
		return err
	}
	if err := w.set(s); err != nil {
		w.Discard()
		return err
	}
	return nil
}

func (w *Writer) set(s *data.Set) error {
	w.Events(s.Log)
	w.features(EdgeFeatures, s.Edge)
	node := s.Node
	node.Rows = max(1, node.Rows) // padding, also where there are no nodes
	w.features(NodeFeatures, node)
	w.Timeline(s.Timeline)
	w.Names(s.Names)
	w.IDs(s.IDs)
	w.Values(s.Values)
	if err := cmp.Or(w.NodeLabels(s.NodeLabels), w.Recipe(s.Recipe),
		w.About(About{s.Name, s.TimeFormat, s.TimeUnit, s.Sampling, s.From, s.Kinds, s.Classes})); err != nil {
		return err
	}
	return w.Commit(context.Background(), Counts{
		Events: s.Log.Len(), Nodes: max(0, s.NumNodes()-1), Sources: s.Names.Sources(), Bipartite: s.Bipartite,
	})
}

// Events writes the columns of a log, which is in the order of time.
func (w *Writer) Events(log *event.Log) {
	all := log.All()
	n := all.Len()
	put(w, Source, all.Src)
	put(w, Destination, all.Dst)
	put(w, Time, all.Time)
	labels, edges := make([]float32, n), make([]event.Edge, n)
	labelled, jumbled := false, false
	for i := range n {
		labels[i], edges[i] = all.Label(i), all.Edge(i)
		labelled = labelled || labels[i] != 0
		jumbled = jumbled || int(edges[i]) != i+1
	}
	if labelled {
		put(w, Label, labels)
	}
	if jumbled {
		put(w, Edge, edges)
	}
	if all.HasKinds() {
		kinds := make([]event.Kind, n)
		for i := range kinds {
			kinds[i] = all.Kind(i)
		}
		put(w, Kind, kinds)
	}
}

// Names writes a dictionary, if there is one.
func (w *Writer) Names(names *data.Names) {
	columns := names.Columns()
	if columns.Numbers != nil {
		put(w, NameNumbers, columns.Numbers)
	} else if names != nil {
		put(w, NameText, columns.Text)
		put(w, NameEnds, columns.Ends)
	}
	if len(columns.Later) > 0 {
		put(w, LaterSources, columns.Later)
	}
}

// IDs writes the ids of events, if there are any.
func (w *Writer) IDs(ids *data.IDs) {
	if ids != nil {
		put(w, idText, ids.Text)
		put(w, idEnds, ids.Ends)
	}
}

// Values writes the values of events, by edge id, if there are any.
func (w *Writer) Values(values []float64) {
	if values != nil {
		put(w, Value, values)
	}
}

func (w *Writer) features(kind uint32, f data.Features) {
	s := w.Section(kind, f.Rows, f.Cols, int64(4*len(f.Data)))
	s.Write(Bytes(f.Data))
}

// About writes what the file says about itself.
func (w *Writer) About(a About) error { return w.json(about, a) }

// Recipe writes how tables became the set, if they did.
func (w *Writer) Recipe(r *data.Recipe) error {
	if r == nil {
		return nil
	}
	return w.json(recipe, r)
}

func (w *Writer) json(kind uint32, v any) error {
	text, err := json.Marshal(v)
	if err == nil {
		put(w, kind, text)
	}
	return err
}

// put writes a whole column.
func put[T scalar](w *Writer, kind uint32, col []T) {
	raw := Bytes(col)
	s := w.Section(kind, len(col), 1, int64(len(raw)))
	s.Write(raw)
}
