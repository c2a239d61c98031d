package table

import (
	"bytes"
	"fmt"
	"hash/maphash"
	"math"
	"strconv"

	"github.com/dygmamba/dygmamba/dataset/internal/data"
	"github.com/dygmamba/dygmamba/dataset/internal/input"
	"github.com/dygmamba/dygmamba/dataset/internal/native"
	"github.com/dygmamba/dygmamba/event"
)

// side is what nodes are called as sources, or as destinations.
type side struct {
	names *dict        // nil: by their ids
	ids   []event.Node // by the dictionary's number, where these are given; nil: the numbers themselves, from shift on
	shift event.Node
	known int // names that have an id
}

// id is that of a number of the dictionary.
func (s *side) id(local event.Node) event.Node {
	if s.ids == nil {
		return local + s.shift
	}
	return s.ids[local-1]
}

// find is the node of a name, 0 if nobody up to the last is called so.
func (s *side) find(k key, last event.Node) event.Node {
	if s.names == nil {
		if k.text != nil || k.num < 1 || k.num > int64(last) {
			return 0
		}
		return event.Node(k.num)
	}
	if local := s.names.find(k); local > 0 {
		return s.id(local)
	}
	return 0
}

// number is the id of a name, a new one if nobody has it.
func (im *importer) number(s *side, k key) event.Node {
	if s.names == nil {
		im.last = max(im.last, event.Node(k.num))
		return event.Node(k.num)
	}
	local := s.names.id(k)
	if int(local) > s.known {
		s.known++
		im.last++
		if s.ids != nil {
			s.ids = append(s.ids, im.last)
		}
	}
	if s.ids == nil { // shifted in the end
		return local
	}
	return s.ids[local-1]
}

// nameOld lists the names that nodes of the old set have.
func (im *importer) nameOld() {
	names := im.old.Names
	im.last = im.lastOld()
	im.Bipartite = names.Sources() > 0
	list := func(is func(event.Node) bool) *side {
		if names == nil {
			return &side{}
		}
		s := &side{names: newDict(), ids: []event.Node{}}
		for id := event.Node(1); int(id) <= names.Len(); id++ {
			if !is(id) {
				continue
			}
			if local := s.names.id(newKey([]byte(names.Name(id)))); int(local) > s.known {
				s.known++
				s.ids = append(s.ids, id)
			}
		}
		return s
	}
	im.sources = list(func(id event.Node) bool { return !im.Bipartite || names.IsSource(id) })
	im.targets = im.sources
	if im.Bipartite {
		im.targets = list(func(id event.Node) bool { return !names.IsSource(id) })
	}
}

// checkIDs complains about names of a block that are no ids, where nodes are called by those.
func (im *importer) checkIDs(b *importBlock) {
	if im.sources.names != nil {
		return
	}
	most := max(int64(im.last)+1, 64*int64(im.table.n+len(b.spot)+1), 1<<24)
	for i := range b.spot {
		for _, k := range []key{b.src[i], b.dst[i]} {
			if k.text != nil || k.num < 1 || k.num > min(most, math.MaxInt32-1) {
				b.place(im.reader.path, i).Bad("", "node "+input.Quote(k.String()),
					fmt.Sprintf("an id from 1 to %d, as nodes of these data have no names", most))
			}
		}
	}
}

// eachName visits the names of all nodes in the order of their ids.
func (im *importer) eachName(visit func(name []byte)) {
	sides := [2]struct {
		*side
		next int
	}{{side: im.sources}, {side: im.targets}}
	for id := event.Node(1); id <= im.last; id++ {
		var name []byte
		for i := range sides {
			if s := &sides[i]; s.next < s.known && s.id(event.Node(s.next+1)) == id {
				name = s.names.name(s.next)
				s.next++
				break
			}
		}
		visit(name)
	}
}

// writeNames writes the dictionary: as numbers while all names are numbers.
func (im *importer) writeNames() {
	if im.sources.names == nil {
		return
	}
	nodes := int(im.last)
	if im.sources.names.words || im.targets.names.words {
		text := im.out.Section(native.NameText, 0, 1, -1)
		im.eachName(func(name []byte) { text.Write(name) })
		text.Seal()
		text.Shape(int(text.Size()), 1)
		ends, end := im.out.Section(native.NameEnds, nodes, 1, int64(8*nodes)), int64(0)
		im.eachName(func(name []byte) {
			end += int64(len(name))
			native.Append(ends, end)
		})
	} else {
		s := im.out.Section(native.NameNumbers, nodes, 1, int64(8*nodes))
		im.eachName(func(name []byte) { native.Append(s, newKey(name).num) })
	}
	if im.old == nil || !im.Bipartite {
		return
	}
	later := im.old.Names.Columns().Later
	for _, id := range im.sources.ids {
		if id > im.lastOld() {
			later = append(later[:len(later):len(later)], id)
		}
	}
	if len(later) > 0 {
		s := im.out.Section(native.LaterSources, len(later), 1, int64(4*len(later)))
		s.Write(native.Bytes(later))
	}
}

// key is a node's name as read: a whole number in its plain form, or text.
type key struct {
	num  int64
	text []byte // nil for a number
}

// newKey takes the characters of a name. They are not copied.
func newKey(b []byte) key {
	if v, ok := input.ParseInt(b); ok {
		return key{num: v}
	}
	return key{text: b}
}

// String is the name as it was written.
func (k key) String() string {
	if k.text != nil {
		return string(k.text)
	}
	return strconv.FormatInt(k.num, 10)
}

// dict numbers names 1, 2, … in the order of their first appearance. It keeps numbers as numbers until the first name
// that is none.
type dict struct {
	data.NameColumns      // Numbers while all names are numbers, afterwards Text and Ends
	words            bool // some name is none

	table []event.Node // open addressing; 0: free
	seed  maphash.Seed
	digit [20]byte
}

func newDict() *dict { return &dict{table: make([]event.Node, 1024), seed: maphash.MakeSeed()} }

// id is the number of a name, a new one if need be.
func (d *dict) id(k key) event.Node {
	if k.text != nil && !d.words {
		d.toWords()
	}
	if 4*d.Len() >= 3*len(d.table) {
		d.rehash(2 * len(d.table))
	}
	at, id := d.slot(k)
	if id > 0 {
		return id
	}
	if d.words {
		d.Text = append(d.Text, d.bytes(k)...)
		d.Ends = append(d.Ends, int64(len(d.Text)))
	} else {
		d.Numbers = append(d.Numbers, k.num)
	}
	d.table[at] = event.Node(d.Len())
	return d.table[at]
}

// find is the number of a name, 0 if it never appeared.
func (d *dict) find(k key) event.Node {
	if k.text != nil && !d.words {
		return 0
	}
	_, id := d.slot(k)
	return id
}

// lookalikes warns of whole numbers that occur with and without ".0", as they do where some program made floating-point
// numbers of one column.
func (d *dict) lookalikes() []string {
	count, last := 0, ""
	for i := range d.Ends { // none while all names are numbers
		if name, ok := bytes.CutSuffix(d.name(i), []byte(".0")); ok && len(name) > 0 && d.find(newKey(name)) > 0 {
			count++
			last = string(name)
		}
	}
	switch count {
	case 0:
		return nil
	case 1:
		return []string{fmt.Sprintf("%s and %s.0 are different nodes", last, last)}
	}
	return []string{fmt.Sprintf("%d names occur with and without .0 and are different nodes, such as %s and %s.0",
		count, last, last)}
}

// slot is where a name is in the table, or would be: then the id is 0.
func (d *dict) slot(k key) (uint64, event.Node) {
	mask := uint64(len(d.table) - 1)
	if !d.words {
		at := mix(k.num) & mask
		for ; d.table[at] != 0; at = (at + 1) & mask {
			if id := d.table[at]; d.Numbers[id-1] == k.num {
				return at, id
			}
		}
		return at, 0
	}
	b := d.bytes(k)
	at := maphash.Bytes(d.seed, b) & mask
	for ; d.table[at] != 0; at = (at + 1) & mask {
		if id := d.table[at]; string(d.name(int(id)-1)) == string(b) {
			return at, id
		}
	}
	return at, 0
}

func (d *dict) bytes(k key) []byte {
	if k.text != nil {
		return k.text
	}
	return strconv.AppendInt(d.digit[:0], k.num, 10)
}

// name is the name of node i+1. It is overwritten by the next call while names are numbers.
func (d *dict) name(i int) []byte { return d.At(i, &d.digit) }

func (d *dict) toWords() {
	d.Ends = make([]int64, 0, len(d.Numbers)+1)
	for _, v := range d.Numbers {
		d.Text = strconv.AppendInt(d.Text, v, 10)
		d.Ends = append(d.Ends, int64(len(d.Text)))
	}
	d.Numbers, d.words = nil, true
	d.rehash(len(d.table))
}

func (d *dict) rehash(size int) {
	d.table = make([]event.Node, size)
	mask := uint64(size - 1)
	for i := range d.Len() {
		var h uint64
		if d.words {
			h = maphash.Bytes(d.seed, d.name(i))
		} else {
			h = mix(d.Numbers[i])
		}
		at := h & mask
		for d.table[at] != 0 {
			at = (at + 1) & mask
		}
		d.table[at] = event.Node(i + 1)
	}
}

// mix spreads the bits of a number.
func mix(v int64) uint64 {
	x := uint64(v)
	x = (x ^ x>>32) * 0x9e3779b97f4a7c15
	x = (x ^ x>>29) * 0xbf58476d1ce4e5b9
	return x ^ x>>32
}
