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
	"github.com/dygmamba/dygmamba/internal/idset"
	"github.com/dygmamba/dygmamba/protocol"
)

// Open opens a file made by Import or Save; see dataset.OpenNative.
func Open(path string) (*data.Set, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() < headerSize {
		return nil, input.FileError(path, fmt.Sprintf("%d bytes", info.Size()),
			fmt.Sprintf("a native .dgm file, at least %d", headerSize))
	}
	raw, release, err := mapFile(f, info.Size())
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	s, err := decode(path, raw)
	if err != nil {
		release()
		return nil, err
	}
	s.OnClose(release)
	return s, nil
}

// decode makes a set of the bytes of a native file without copying columns. The bytes must be aligned to 8.
func decode(path string, raw []byte) (*data.Set, error) {
	h, secs, err := readTable(path, raw)
	if err != nil {
		return nil, err
	}
	d := &decoder{path: path, data: raw, header: h, sections: secs}
	return d.set()
}

// readTable reads the header and the table of sections, and checks all checksums.
func readTable(path string, raw []byte) (h header, secs map[uint32]section, err error) {
	bad := func(found, want string) (header, map[uint32]section, error) {
		return header{}, nil, input.FileError(path, found, want)
	}
	le := binary.LittleEndian
	if len(raw) < headerSize || string(raw[:len(input.NativeMagic)]) != input.NativeMagic {
		return bad(fmt.Sprintf("%q at the beginning", raw[:min(len(raw), len(input.NativeMagic))]),
			"a native .dgm file: dataset.Import makes one")
	}
	if v := le.Uint32(raw[8:]); v != version && v != versionLater {
		return bad(fmt.Sprintf("format version %d", v),
			fmt.Sprintf("version %d or %d: import the data again with this program", version, versionLater))
	}
	if got, want := crc32.Checksum(raw[:headerSize-4], castagnoli), le.Uint32(raw[headerSize-4:]); got != want {
		return bad(fmt.Sprintf("a header with checksum %08x", got), fmt.Sprintf("%08x: the file is damaged", want))
	}
	at := func(i int) int64 { return int64(min(le.Uint64(raw[16+8*i:]), math.MaxInt64)) }
	h = header{flags: le.Uint32(raw[12:]), events: at(0), nodes: at(1), sources: at(2), table: at(3), length: at(4),
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
	secs = make(map[uint32]section, h.sections)
	for ; len(table) > 0; table = table[entrySize:] {
		s := decodeSection(table)
		name := sectionName(s.kind)
		if s.offset%sectionAlign != 0 || s.offset < headerSize || s.offset > h.table || s.length > h.table-s.offset {
			return bad(fmt.Sprintf("section %s at bytes %d to %d", name, s.offset, s.offset+s.length),
				fmt.Sprintf("multiples of %d between %d and %d", sectionAlign, headerSize, h.table))
		}
		if got := crc32.Checksum(raw[s.offset:s.offset+s.length], castagnoli); got != s.crc {
			return bad(fmt.Sprintf("section %s with checksum %08x", name, got),
				fmt.Sprintf("%08x: the file is damaged", s.crc))
		}
		if _, twice := secs[s.kind]; twice {
			return bad(fmt.Sprintf("section %s twice", name), "it once")
		}
		secs[s.kind] = s
	}
	return h, secs, nil
}

func sectionName(kind uint32) string {
	if name, ok := sectionNames[kind]; ok {
		return name
	}
	return fmt.Sprint(kind)
}

// decoder makes a set of checked sections. Checksums keep accidents out; the checks here are for files made by other
// programs.
type decoder struct {
	path     string
	data     []byte
	header   header
	sections map[uint32]section
	err      error // about the first thing that was wrong
}

// bad notes what is wrong with a value, of row −1 and column "" for a section or the file.
func (d *decoder) bad(row int, column string, found any, want string) {
	if d.err == nil {
		d.err = &input.Error{File: d.path, Row: row, Column: column, Found: fmt.Sprint(found), Want: want}
	}
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
	for _, read := range []func(*data.Set){d.log, d.edges, d.nodes, d.names, d.about, d.recipe} {
		if d.err == nil {
			read(s)
		}
	}
	if d.err != nil {
		return nil, d.err
	}
	return s, nil
}

func (d *decoder) log(s *data.Set) {
	n := int(d.header.events)
	c := event.Columns{Src: column[event.Node](d, Source, n, true), Dst: column[event.Node](d, Destination, n, true),
		Time: column[event.Time](d, Time, n, true), Label: column[float32](d, Label, n, false),
		Edge: column[event.Edge](d, Edge, n, false)}
	if d.err != nil {
		return
	}
	log, err := event.FromColumns(c)
	if err != nil {
		d.bad(-1, "", err, "events that a log accepts")
		return
	}
	s.Log = log
	d.check(log.Sorted(), "times that decrease", "events in the order of time")
	d.check(log.NumNodes() <= int(d.header.nodes)+1, fmt.Sprintf("node %d", log.NumNodes()-1),
		fmt.Sprintf("nodes up to %d, as the header says", d.header.nodes))
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

// edges checks that every edge id occurs once and has a row of features.
func (d *decoder) edges(s *data.Set) {
	s.Edge = d.features(EdgeFeatures)
	all := s.Log.All()
	if _, ok := d.sections[Edge]; !ok {
		d.check(s.Edge.Rows > all.Len(), fmt.Sprintf("%d rows of edge features", s.Edge.Rows),
			fmt.Sprintf("%d, one for each event and one for padding", all.Len()+1))
		return
	}
	var seen idset.Set
	for i := range all.Len() {
		if e := all.Edge(i); int(e) >= s.Edge.Rows || !seen.Add(e) {
			d.bad(i+1, "edge", e, fmt.Sprintf("every edge id once, and below %d", s.Edge.Rows))
			return
		}
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
	last := int64(0)
	for i, end := range c.Ends {
		if end < last || end > int64(len(c.Text)) {
			d.bad(i+1, "name ends", end, fmt.Sprintf("ends that ascend to %d", len(c.Text)))
			return
		}
		last = end
	}
	if c.Later = d.later(); d.err == nil {
		s.Names = data.NamesFrom(c, int(d.header.sources))
	}
}

// later are the sources beyond the first ones.
func (d *decoder) later() []event.Node {
	s, ok := d.sections[LaterSources]
	if !ok {
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
	if !ok {
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
	if !d.check(ok, "no section about", "it") {
		return
	}
	err := json.Unmarshal(d.bytes(sec), &a)
	d.check(err == nil, fmt.Sprintf("section about that is not JSON: %v", err), "a JSON object")
	s.Name, s.From = a.Name, a.From
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
