package native

import (
	"fmt"
	"hash/crc32"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/dygmamba/dygmamba/dataset/internal/data"
	"github.com/dygmamba/dygmamba/dataset/internal/input"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/index"
	"github.com/dygmamba/dygmamba/internal/parallel"
)

// blocks is a section whose checksums are checked block by block, each before it is first read. Any number of
// goroutines may ask.
type blocks struct {
	path  string
	kind  uint32
	bytes []byte
	sums  []uint32
	fine  []atomic.Bool // checked
}

// check compares a block with its checksum, unless that was done.
func (b *blocks) check(i int) error {
	if b.fine[i].Load() {
		return nil
	}
	lo := i * blockSize
	hi := min(lo+blockSize, len(b.bytes))
	if got := crc32.Checksum(b.bytes[lo:hi], castagnoli); got != b.sums[i] {
		found := fmt.Sprintf("section %s, block %d (bytes %d to %d of the section) with checksum %08x",
			sectionName(b.kind), i, lo, hi, got)
		return input.FileError(b.path, found, fmt.Sprintf("%08x: the file is damaged", b.sums[i]))
	}
	b.fine[i].Store(true)
	return nil
}

// all checks every block. The error is about the first that is wrong. A section that is not there is fine.
func (b *blocks) all() error {
	if b == nil {
		return nil
	}
	errs := b.wrong()
	if i := slices.IndexFunc(errs, func(err error) bool { return err != nil }); i >= 0 {
		return errs[i]
	}
	return nil
}

// wrong checks every block, and has an error for each.
func (b *blocks) wrong() []error {
	errs := make([]error, len(b.sums))
	parallel.Each(len(b.sums), func(i int) { errs[i] = b.check(i) })
	return errs
}

// checkSections compares sections with their checksums, in versions that have one for each.
func (d *decoder) checkSections() error {
	got := make([]uint32, len(d.order))
	parallel.Each(len(got), func(i int) { got[i] = crc32.Checksum(d.bytes(d.sections[d.order[i]]), castagnoli) })
	for i, kind := range d.order {
		if want := d.sections[kind].crc; got[i] != want {
			return input.FileError(d.path, fmt.Sprintf("section %s with checksum %08x", sectionName(kind), got[i]),
				fmt.Sprintf("%08x: the file is damaged", want))
		}
	}
	return nil
}

// readChecksums reads the list of checksums, in versions that have one for each block.
func (d *decoder) readChecksums() error {
	list, ok := d.sections[checksums]
	if !d.check(ok, "no section checksums", "it") {
		return d.err
	}
	if got := crc32.Checksum(d.bytes(list), castagnoli); got != list.crc {
		return input.FileError(d.path, fmt.Sprintf("section checksums with checksum %08x", got),
			fmt.Sprintf("%08x: the file is damaged", list.crc))
	}
	sums := columnOf[uint32](d.bytes(list))
	d.blocks = make(map[uint32]*blocks, len(d.order))
	for _, kind := range d.order {
		if kind == checksums {
			continue
		}
		s := d.sections[kind]
		n := numBlocks(s.length)
		if n > len(sums) {
			break
		}
		d.blocks[kind] = &blocks{d.path, kind, d.bytes(s), sums[:n], make([]atomic.Bool, n)}
		sums = sums[n:]
	}
	found := fmt.Sprintf("section checksums of %d bytes", list.length)
	d.check(len(sums) == 0 && len(d.blocks) == len(d.order)-1, found,
		fmt.Sprintf("4 for each block of %d bytes", blockSize))
	return d.err
}

// read checks a small section that is used at once.
func (d *decoder) read(kind uint32) bool {
	if err := d.blocks[kind].all(); err != nil && d.err == nil {
		d.err = err
	}
	return d.err == nil
}

// checkEvents looks at every value of the columns, on all processors: nodes and edge ids in their ranges, numbers that
// are finite, times that do not decrease, kinds that have a name. In versions without checksums of blocks, edge ids may
// not occur twice.
func (d *decoder) checkEvents(c event.Columns, edgeRows, kinds int) error {
	n := len(c.Src)
	errs := make([]error, parallel.Chunks(n, rowChunk))
	parallel.Ranges(n, rowChunk, func(part, lo, hi int) { errs[part] = d.checkRows(c, edgeRows, lo, hi) })
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	for i, k := range c.Kind {
		if int(k) > kinds {
			return d.wrong(i+1, "kind", k, fmt.Sprintf("kinds up to %d, as many as have names", kinds))
		}
	}
	if d.blocks == nil {
		return d.checkEdges(c, edgeRows)
	}
	return nil
}

// checkRows does that for rows lo to hi−1. The message about a row is made only where one is wrong.
func (d *decoder) checkRows(c event.Columns, edgeRows, lo, hi int) error {
	last := math.Inf(-1)
	if lo > 0 {
		last = c.Time[lo-1]
	}
	most := event.Node(d.header.nodes)
	for i := lo; i < hi; i++ {
		u, v, at := c.Src[i], c.Dst[i], c.Time[i]
		if u < 1 || v < 1 || u > most || v > most || !(math.Abs(at) <= event.MaxTime) || at < last ||
			c.Label != nil && c.Label[i]-c.Label[i] != 0 ||
			c.Edge != nil && (c.Edge[i] < 1 || int(c.Edge[i]) >= edgeRows) {
			return d.wrongRow(c, edgeRows, i, last)
		}
		last = at
	}
	return nil
}

// wrongRow says what is wrong with a row.
func (d *decoder) wrongRow(c event.Columns, edgeRows, i int, last event.Time) error {
	e := event.Event{Src: c.Src[i], Dst: c.Dst[i], Time: c.Time[i], Edge: event.Edge(i + 1)}
	if c.Label != nil {
		e.Label = c.Label[i]
	}
	if err := e.Check(); err != nil {
		return d.wrong(-1, "", fmt.Errorf("row %d: %w", i, err), "events that a log accepts")
	}
	if most := max(e.Src, e.Dst); int64(most) > d.header.nodes {
		return d.wrong(-1, "", fmt.Sprintf("node %d", most),
			fmt.Sprintf("nodes up to %d, as the header says", d.header.nodes))
	}
	if e.Time < last {
		return d.wrong(-1, "", "times that decrease", "events in the order of time")
	}
	return d.wrong(i+1, "edge", c.Edge[i], fmt.Sprintf("every edge id once, and below %d", edgeRows))
}

// checkEdges looks for edge ids that occur twice.
func (d *decoder) checkEdges(c event.Columns, edgeRows int) error {
	seen := make([]uint64, edgeRows/64+1)
	for i, e := range c.Edge {
		if seen[e/64]&(1<<(e%64)) != 0 {
			return d.wrong(i+1, "edge", e, fmt.Sprintf("every edge id once, and below %d", edgeRows))
		}
		seen[e/64] |= 1 << (e % 64)
	}
	return nil
}

// index gives the log the histories of the file, where it has them.
func (d *decoder) index(s *data.Set) {
	first, ok := d.sections[starts]
	all, both := d.sections[histories]
	if d.blocks == nil || !ok || !both || !littleEndian || s.Log.Len() == 0 {
		return
	}
	h := &storedHistories{decoder: d, edges: s.Edge.Rows, starts: columnOf[uint32](d.bytes(first)),
		words: columnOf[event.Time](d.bytes(all))}
	if !d.check(len(h.starts) == s.Log.NumNodes()+1 && int64(len(h.starts))*4 == first.length &&
		all.length == 2*entryBytes*d.header.events,
		fmt.Sprintf("sections starts and histories of %d and %d bytes", first.length, all.length),
		fmt.Sprintf("%d and %d", 4*(s.Log.NumNodes()+1), 2*entryBytes*d.header.events)) {
		return
	}
	h.ready = sync.OnceValue(h.checkStarts)
	h.fine = make([]atomic.Bool, numBlocks(all.length))
	s.Log.SetIndex(&index.File{Start: h.starts, Words: h.words, Ready: h.ready, Check: h.check})
}

// storedHistories are those of a file, checked when they are first read.
type storedHistories struct {
	*decoder
	edges  int // ids are below
	starts []uint32
	words  []event.Time
	ready  func() error  // checks the starts
	fine   []atomic.Bool // for each block: the histories that begin in it were checked
}

const blockEntries = blockSize / entryBytes

// checkStarts checks where histories begin.
func (h *storedHistories) checkStarts() error {
	if err := h.blocks[starts].all(); err != nil {
		return err
	}
	if end := h.starts[len(h.starts)-1]; h.starts[0] != 0 || int64(end) != 2*h.header.events ||
		!slices.IsSorted(h.starts) {
		return h.wrong(-1, "", "section starts that does not ascend to the number of entries",
			fmt.Sprintf("numbers from 0 to %d", 2*h.header.events))
	}
	return nil
}

// check checks the block that a node's history begins in: its checksum, those of the blocks behind it as far as its
// last history goes, and the values of all of its histories.
func (h *storedHistories) check(n event.Node) error {
	block := int(h.starts[n] / blockEntries)
	if h.starts[n] == h.starts[n+1] || h.fine[block].Load() {
		return nil
	}
	lo, _ := slices.BinarySearch(h.starts, uint32(block*blockEntries))
	hi := len(h.starts) - 1 // the first that begins behind the block
	if end := uint64(block+1) * blockEntries; end <= uint64(h.starts[len(h.starts)-1]) {
		hi, _ = slices.BinarySearch(h.starts, uint32(end))
	}
	last := int(h.starts[hi]-1) / blockEntries
	for i := block; i <= last; i++ {
		if err := h.blocks[histories].check(i); err != nil {
			return err
		}
	}
	for n := lo; n < hi; n++ {
		if err := h.checkHistory(event.Node(n)); err != nil {
			return err
		}
	}
	h.fine[block].Store(true)
	return nil
}

// checkHistory looks at the values of one node's history.
func (h *storedHistories) checkHistory(n event.Node) error {
	own := index.HistoryIn(h.words, h.starts[n], h.starts[n+1])
	last := math.Inf(-1)
	for i, at := range own.Time {
		if other, edge := own.Node[i], own.Edge[i]; !(at >= last) || other < 1 || int64(other) > h.header.nodes ||
			edge < 1 || int(edge) >= h.edges {
			found := fmt.Sprintf("section histories, node %d: edge %d to node %d at %v, after %v",
				n, edge, other, at, last)
			return h.wrong(-1, "", found, fmt.Sprintf("nodes up to %d, edge ids below %d, times that ascend",
				h.header.nodes, h.edges))
		}
		last = at
	}
	return nil
}
