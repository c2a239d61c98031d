package native

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"math"
	"os"
	"slices"

	"github.com/dygmamba/dygmamba/dataset/internal/data"
	"github.com/dygmamba/dygmamba/dataset/internal/input"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/protocol"
)

// Open opens a file made by Import or Save; see dataset.OpenNative.
func Open(path string) (*data.Set, error) {
	s, _, err := open(path)
	return s, err
}

func open(path string) (*data.Set, *decoder, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, nil, err
	}
	if info.Size() < headerSize {
		return nil, nil, input.FileError(path, fmt.Sprintf("%d bytes", info.Size()),
			fmt.Sprintf("a native .dgm file, at least %d", headerSize))
	}
	raw, release, err := mapFile(f, info.Size())
	if err != nil {
		return nil, nil, fmt.Errorf("open %s: %w", path, err)
	}
	s, d, err := decode(path, raw)
	if err != nil {
		release()
		return nil, nil, err
	}
	s.OnClose(release)
	return s, d, nil
}

// decode makes a set of the bytes of a native file without copying columns. The bytes must be aligned to 8.
func decode(path string, raw []byte) (*data.Set, *decoder, error) {
	d, err := readTable(path, raw)
	if err != nil {
		return nil, nil, err
	}
	s, err := d.set()
	return s, d, err
}

// readTable reads the header and the table of sections. In versions without checksums of blocks it checks those of all
// sections, in later ones that of the list of checksums.
func readTable(path string, raw []byte) (*decoder, error) {
	bad := func(found, want string) (*decoder, error) { return nil, input.FileError(path, found, want) }
	le := binary.LittleEndian
	if len(raw) < headerSize || string(raw[:len(input.NativeMagic)]) != input.NativeMagic {
		return bad(fmt.Sprintf("%q at the beginning", raw[:min(len(raw), len(input.NativeMagic))]),
			"a native .dgm file: dataset.Import makes one")
	}
	v := le.Uint32(raw[8:])
	if v < versionPlain || v > version {
		return bad(fmt.Sprintf("format version %d", v),
			fmt.Sprintf("version %d to %d: import the data again with this program", versionPlain, version))
	}
	if got, want := crc32.Checksum(raw[:headerSize-4], castagnoli), le.Uint32(raw[headerSize-4:]); got != want {
		return bad(fmt.Sprintf("a header with checksum %08x", got), fmt.Sprintf("%08x: the file is damaged", want))
	}
	at := func(i int) int64 { return int64(min(le.Uint64(raw[16+8*i:]), math.MaxInt64)) }
	h := header{flags: le.Uint32(raw[12:]), events: at(0), nodes: at(1), sources: at(2), table: at(3), length: at(4),
		sections: le.Uint32(raw[56:])}
	if int64(len(raw)) != h.length {
		return bad(fmt.Sprintf("%d bytes", len(raw)),
			fmt.Sprintf("%d, as the header says: the file is cut off or was appended to", h.length))
	}
	size := int64(h.sections) * entrySize
	if h.sections > maxSections || h.table < headerSize || h.table > h.length-size {
		return bad(fmt.Sprintf("a table of %d sections at byte %d", h.sections, h.table),
			fmt.Sprintf("it within the %d bytes of the file", h.length))
	}
	table := raw[h.table : h.table+size]
	if got, want := crc32.Checksum(table, castagnoli), le.Uint32(raw[60:]); got != want {
		return bad(fmt.Sprintf("a section table with checksum %08x", got),
			fmt.Sprintf("%08x: the file is damaged", want))
	}
	d := &decoder{path: path, data: raw, header: h, sections: make(map[uint32]section, h.sections)}
	for ; len(table) > 0; table = table[entrySize:] {
		s := decodeSection(table)
		name := sectionName(s.kind)
		if s.offset%sectionAlign != 0 || s.offset < headerSize || s.offset > h.table || s.length > h.table-s.offset {
			return bad(fmt.Sprintf("section %s at bytes %d to %d", name, s.offset, s.offset+s.length),
				fmt.Sprintf("multiples of %d between %d and %d", sectionAlign, headerSize, h.table))
		}
		if _, twice := d.sections[s.kind]; twice {
			return bad(fmt.Sprintf("section %s twice", name), "it once")
		}
		d.sections[s.kind] = s
		d.order = append(d.order, s.kind)
	}
	if v < version {
		return d, d.checkSections()
	}
	return d, d.readChecksums()
}

func sectionName(kind uint32) string {
	if name, ok := sectionNames[kind]; ok {
		return name
	}
	return fmt.Sprint(kind)
}

// decoder makes a set of sections. Checksums keep accidents out; the other checks are for files made by other programs.
type decoder struct {
	path     string
	data     []byte
	header   header
	sections map[uint32]section
	order    []uint32           // of the sections in the table
	blocks   map[uint32]*blocks // by section; nil: all are checked
	err      error              // about the first thing that was wrong
}

// bad notes what is wrong with a value, of row −1 and column "" for a section or the file.
func (d *decoder) bad(row int, column string, found any, want string) {
	if d.err == nil {
		d.err = d.wrong(row, column, found, want)
	}
}

// wrong is a complaint about a value.
func (d *decoder) wrong(row int, column string, found any, want string) error {
	return &input.Error{File: d.path, Row: row, Column: column, Found: fmt.Sprint(found), Want: want}
}

// check notes what is wrong with a section or the file, unless it is fine.
func (d *decoder) check(fine bool, found, want string) bool {
	if !fine {
		d.bad(-1, "", found, want)
	}
	return fine
}

func (d *decoder) set() (*data.Set, error) {
	h := d.header
	d.check(h.events <= math.MaxInt32 && h.nodes <= math.MaxInt32 && h.sources <= h.nodes,
		fmt.Sprintf("%d events, %d nodes, %d of them sources", h.events, h.nodes, h.sources),
		fmt.Sprintf("at most %d of each", math.MaxInt32))
	s := &data.Set{Bipartite: h.flags&flagBipartite != 0, Sampling: protocol.Native, TimeFormat: input.TimeNumber}
	for _, read := range []func(*data.Set){d.about, d.edges, d.nodes, d.timeline, d.nodeLabels, d.log, d.index,
		d.names, d.ids, d.values, d.recipe} {
		if d.err == nil {
			read(s)
		}
	}
	if d.err != nil {
		return nil, d.err
	}
	return s, nil
}

// columns are those of the events.
func (d *decoder) columns() event.Columns {
	n := int(d.header.events)
	return event.Columns{Src: column[event.Node](d, Source, n, true), Dst: column[event.Node](d, Destination, n, true),
		Time: column[event.Time](d, Time, n, true), Label: column[float32](d, Label, n, false),
		Edge: column[event.Edge](d, Edge, n, false), Kind: column[event.Kind](d, Kind, n, false)}
}

func (d *decoder) log(s *data.Set) {
	c := d.columns()
	if d.err != nil {
		return
	}
	if d.blocks == nil {
		if err := d.checkEvents(c, s.Edge.Rows, len(s.Kinds)); err != nil {
			d.err = err
			return
		}
		s.Log = event.FromFile(c, lastNode(c)+1, func() error { return nil })
		return
	}
	known := d.facts()
	if d.err != nil {
		return
	}
	edgeRows, kinds := s.Edge.Rows, len(s.Kinds)
	s.Log = event.FromFile(c, known.LastNode+1, func() error {
		for _, kind := range []uint32{Source, Destination, Time, Label, Edge, Kind, EdgeFeatures, NodeFeatures, Value,
			TimelineNode, TimelineTime, TimelineFeatures, NodeLabelNode, NodeLabelTime, NodeLabelClass} {
			if err := d.blocks[kind].all(); err != nil {
				return err
			}
		}
		return d.checkEvents(c, edgeRows, kinds)
	})
	if len(c.Src) == 0 {
		s.Log = event.NewLog(0)
	}
	s.Know(known.Hash)
}

// facts are what the file says of its events.
func (d *decoder) facts() (known counted) {
	sec, ok := d.sections[facts]
	if !d.check(ok, "no section facts", "it") || !d.read(facts) {
		return known
	}
	err := json.Unmarshal(d.bytes(sec), &known)
	d.check(err == nil, fmt.Sprintf("section facts that is not JSON: %v", err), "a JSON object")
	d.check(known.LastNode >= 0 && int64(known.LastNode) <= d.header.nodes, fmt.Sprintf("node %d", known.LastNode),
		fmt.Sprintf("nodes up to %d, as the header says", d.header.nodes))
	return known
}

func (d *decoder) bytes(s section) []byte { return d.data[s.offset : s.offset+s.length] }

// column is the section of one value for each of n rows; nil where it is missing and may be.
func column[T scalar](d *decoder, kind uint32, n int, must bool) []T {
	s, ok := d.sections[kind]
	if !ok && !must || ok && s.length == 0 && n == 0 {
		return nil
	}
	col := columnOf[T](d.bytes(s))
	d.check(ok && len(col) == n && len(Bytes(col)) == int(s.length),
		fmt.Sprintf("section %s of %d bytes", sectionName(kind), s.length), fmt.Sprintf("%d values", n))
	return col
}

func (d *decoder) features(kind uint32) data.Features {
	s, ok := d.sections[kind]
	d.check(ok, "no section "+sectionName(kind), "it, with no bytes where all are zero")
	if !d.check(s.rows <= math.MaxInt32+1 && s.cols <= math.MaxInt32 && (s.length == 0 ||
		s.length%4 == 0 && s.cols > 0 && s.length/4/s.cols == s.rows && s.length/4%s.cols == 0),
		fmt.Sprintf("section %s of %d bytes", sectionName(kind), s.length),
		fmt.Sprintf("%d rows of %d values", s.rows, s.cols)) {
		return data.Features{}
	}
	return data.Features{Rows: int(s.rows), Cols: int(s.cols), Data: columnOf[float32](d.bytes(s))}
}

// edges reads the features of events: a row for each.
func (d *decoder) edges(s *data.Set) {
	s.Edge = d.features(EdgeFeatures)
	if _, ok := d.sections[Edge]; !ok {
		d.check(int64(s.Edge.Rows) > d.header.events, fmt.Sprintf("%d rows of edge features", s.Edge.Rows),
			fmt.Sprintf("%d, one for each event and one for padding", d.header.events+1))
	}
}

func (d *decoder) nodes(s *data.Set) {
	s.Node = d.features(NodeFeatures)
	d.check(s.Node.Rows == int(d.header.nodes)+1, fmt.Sprintf("%d rows of node features", s.Node.Rows),
		fmt.Sprintf("%d, one for each node and one for padding", d.header.nodes+1))
}

func (d *decoder) names(s *data.Set) {
	n := int(d.header.nodes)
	c := data.NameColumns{Numbers: column[int64](d, NameNumbers, n, false), Ends: column[int64](d, NameEnds, n, false)}
	if d.err != nil || c.Numbers == nil && c.Ends == nil {
		return
	}
	c.Text = d.bytes(d.sections[NameText])
	if c.Later = d.later(); d.err != nil {
		return
	}
	if d.blocks == nil {
		if d.err = d.checkNames(c); d.err == nil {
			s.Names = data.NamesFrom(c, int(d.header.sources))
		}
		return
	}
	s.Names = data.NamesInFile(c, int(d.header.sources), func() error {
		for _, kind := range []uint32{NameNumbers, NameText, NameEnds} {
			if err := d.blocks[kind].all(); err != nil {
				return err
			}
		}
		return d.checkNames(c)
	})
}

// ids are those of events, by edge id.
func (d *decoder) ids(s *data.Set) {
	ends := column[int64](d, idEnds, max(0, s.Edge.Rows-1), false)
	if d.err != nil || ends == nil {
		return
	}
	text := d.bytes(d.sections[idText])
	s.IDs = data.IDsInFile(text, ends, func() error {
		for _, kind := range []uint32{idText, idEnds} {
			if err := d.blocks[kind].all(); d.blocks != nil && err != nil {
				return err
			}
		}
		last := int64(0)
		for i, end := range ends {
			if end < last || end > int64(len(text)) {
				return d.wrong(i+1, "id ends", end, fmt.Sprintf("ends that ascend to %d", len(text)))
			}
			last = end
		}
		return nil
	})
}

// values are those of events, by edge id.
func (d *decoder) values(s *data.Set) {
	s.Values = column[float64](d, Value, s.Edge.Rows, false)
}

// checkNames says whether names end within the text, one after another.
func (d *decoder) checkNames(c data.NameColumns) error {
	last := int64(0)
	for i, end := range c.Ends {
		if end < last || end > int64(len(c.Text)) {
			return d.wrong(i+1, "name ends", end, fmt.Sprintf("ends that ascend to %d", len(c.Text)))
		}
		last = end
	}
	return nil
}

// later are the sources beyond the first ones.
func (d *decoder) later() []event.Node {
	s, ok := d.sections[LaterSources]
	if !ok || !d.read(LaterSources) {
		return nil
	}
	ids := column[event.Node](d, LaterSources, int(min(s.rows, math.MaxInt32)), true)
	last := event.Node(d.header.sources)
	for i, id := range ids {
		if id <= last || int64(id) > d.header.nodes || d.header.sources == 0 {
			d.bad(i+1, "later sources", id,
				fmt.Sprintf("ids that ascend from %d to %d", d.header.sources+1, d.header.nodes))
			return nil
		}
		last = id
	}
	return ids
}

// recipe reads how tables became the set.
func (d *decoder) recipe(s *data.Set) {
	sec, ok := d.sections[recipe]
	if !ok || !d.read(recipe) {
		return
	}
	s.Recipe = new(data.Recipe)
	err := json.Unmarshal(d.bytes(sec), s.Recipe)
	if err == nil {
		err = s.Recipe.Check(s.Edge.Cols, s.Node.Cols)
	}
	d.check(err == nil, fmt.Sprintf("section recipe that does not fit: %v", err),
		"how the features of the file were made")
}

func (d *decoder) about(s *data.Set) {
	var a About
	sec, ok := d.sections[about]
	if !d.check(ok, "no section about", "it") || !d.read(about) {
		return
	}
	err := json.Unmarshal(d.bytes(sec), &a)
	d.check(err == nil, fmt.Sprintf("section about that is not JSON: %v", err), "a JSON object")
	s.Name, s.From, s.Kinds, s.Classes = a.Name, a.From, a.Kinds, a.Classes
	if err := data.CheckClasses(a.Classes); err != nil {
		d.bad(-1, "", err, "classes of labels with different names")
	}
	if err := data.CheckKinds(a.Kinds); err != nil {
		d.bad(-1, "", err, "kinds of events with different names")
	}
	if a.TimeFormat == input.TimeDate {
		s.TimeFormat = input.TimeDate
	}
	if slices.Contains(data.Units, a.TimeUnit) {
		s.TimeUnit = a.TimeUnit
	}
	if a.Sampling == protocol.Reference {
		s.Sampling = protocol.Reference
	}
}
