package embedded

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"slices"
)

// bbolt trusts the pages of its file: it believes that as many are there as a commit says, and a damaged one that
// refers to a page above it would be followed in a circle for ever. What is in here reads them without trust, before
// bbolt does.

// mark is what bbolt writes at the end of a commit, by turns into the first and the second page.
type mark struct{ commit, pages, root, free uint64 }

// readMark reads the mark of a page: behind 16 bytes, 56 and the FNV-1a of these.
func readMark(page []byte) (mark, bool) {
	meta := page[16 : 16+64]
	sum := fnv.New64a()
	sum.Write(meta[:56])
	if binary.NativeEndian.Uint32(meta) != 0xED0CDAED || binary.NativeEndian.Uint64(meta[56:]) != sum.Sum64() {
		return mark{}, false
	}
	word := func(at int) uint64 { return binary.NativeEndian.Uint64(meta[at:]) }
	return mark{commit: word(48), pages: word(40), root: word(16), free: word(32)}, true
}

// examine finds the last commit of a file and holds the file's length against it. A crash in the middle of writing a
// mark leaves it torn, and bbolt goes on from the other one without a word: torn is what to say about that.
func examine(f *os.File) (latest mark, torn string, err error) {
	head := make([]byte, 2*pageSize)
	if n, err := f.ReadAt(head, 0); err != nil {
		return mark{}, "", damaged(0, "it has %d bytes, an empty log has %d", n, 4*pageSize)
	}
	latest, ok := readMark(head)
	second, okSecond := readMark(head[pageSize:])
	switch {
	case !ok && !okSecond:
		return mark{}, "", damaged(0,
			"none of its commit marks is whole: this is no event log, or its beginning was lost")
	case !ok || !okSecond:
		torn = "a commit that was interrupted while it was being marked as done"
	}
	if second.commit > latest.commit {
		latest = second
	}
	info, err := f.Stat()
	if err == nil && uint64(info.Size())/pageSize < latest.pages {
		err = damaged(0, "the file has %d bytes, its last commit needs %d: its end was lost",
			info.Size(), latest.pages*pageSize)
	}
	return latest, torn, err
}

// Kinds of pages, and the length of a page's header and of a branch's entry.
const (
	branchPage, leafPage, freePage = 1, 2, 16
	headerSize                     = 16
)

// pages are those of a file as its last commit has them.
type pages struct {
	file  io.ReaderAt
	count uint64
	free  map[uint64]bool // the next commit overwrites these
}

// readPages reads which pages are free.
func readPages(f io.ReaderAt, latest mark) (*pages, error) {
	p := &pages{file: f, count: latest.pages, free: map[uint64]bool{}}
	h, err := p.header(latest.free, freePage, freePage)
	if err != nil {
		return nil, err
	}
	n, from := h.entries, headerSize
	if n == 0xFFFF { // then the first entry says how many
		var word [8]byte
		if _, err := f.ReadAt(word[:], int64(h.id)*pageSize+headerSize); err != nil {
			return nil, err
		}
		n, from = binary.NativeEndian.Uint64(word[:]), headerSize+8
	}
	if n > (h.more+1)*pageSize/8 {
		return nil, damaged(0, "page %d lists %d free pages, more than it has room for", h.id, n)
	}
	ids := make([]byte, 8*n)
	if _, err := f.ReadAt(ids, int64(h.id)*pageSize+int64(from)); err != nil {
		return nil, err
	}
	for ; len(ids) > 0; ids = ids[8:] {
		id := binary.NativeEndian.Uint64(ids)
		if id < 2 || id >= p.count || p.free[id] {
			return nil, damaged(0, "page %d of %d cannot be free", id, p.count)
		}
		p.free[id] = true
	}
	return p, nil
}

// check walks a tree, level by level, and sees that branches lead down to leaves and nowhere else, and that no page of
// it is thought to be free.
func (p *pages) check(root uint64) error {
	branches := map[uint64]bool{}
	for level := []uint64{root}; len(level) > 0; {
		var next []uint64
		leaves := 0
		for _, id := range level {
			h, err := p.header(id, branchPage, leafPage)
			switch {
			case err != nil:
				return err
			case branches[id]:
				return damaged(0, "a page refers to page %d, which is not below it", id)
			case h.kind == leafPage:
				leaves++
				continue
			}
			branches[id] = true
			if next, err = p.children(next, h); err != nil {
				return err
			}
		}
		if leaves > 0 && leaves < len(level) {
			return damaged(0, "%d pages of one level are leaves, %d are not", leaves, len(level)-leaves)
		}
		level = next
	}
	return nil
}

// header is what a page says of itself: more pages belong to it.
type header struct {
	id, entries, more uint64
	kind              uint16
}

func (p *pages) header(id uint64, kinds ...uint16) (header, error) {
	if id < 2 || id >= p.count {
		return header{}, damaged(0, "a page refers to page %d of %d", id, p.count)
	}
	var b [headerSize]byte
	if _, err := p.file.ReadAt(b[:], int64(id)*pageSize); err != nil {
		return header{}, fmt.Errorf("page %d: %w", id, err)
	}
	h := header{
		id: binary.NativeEndian.Uint64(b[:]), kind: binary.NativeEndian.Uint16(b[8:]),
		entries: uint64(binary.NativeEndian.Uint16(b[10:])), more: uint64(binary.NativeEndian.Uint32(b[12:])),
	}
	if h.id != id || !slices.Contains(kinds, h.kind) || id+h.more >= p.count {
		return header{}, damaged(0, "page %d of %d says that it is page %d to %d, of kind %d",
			id, p.count, h.id, h.id+h.more, h.kind)
	}
	for n := id; n <= id+h.more; n++ {
		if p.free[n] {
			return header{}, damaged(0, "page %d is in use, but listed as free", n)
		}
	}
	return h, nil
}

// children appends the pages that a branch refers to.
func (p *pages) children(to []uint64, h header) ([]uint64, error) {
	entries := make([]byte, h.entries*headerSize) // position, length of the key, page
	if _, err := p.file.ReadAt(entries, int64(h.id)*pageSize+headerSize); err != nil || h.entries == 0 {
		return nil, damaged(0, "page %d refers to %d pages: %v", h.id, h.entries, err)
	}
	for ; len(entries) > 0; entries = entries[headerSize:] {
		to = append(to, binary.NativeEndian.Uint64(entries[8:]))
	}
	return to, nil
}
