package table

import (
	"fmt"
	"math"
	"slices"
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

// number is the id of a name, a new one if nobody has it. Local is its number in the dictionary, 0 if nobody knows.
func (im *importer) number(s *side, k key, local event.Node) event.Node {
	if s.names == nil {
		im.last = max(im.last, event.Node(k.num))
		return event.Node(k.num)
	}
	if local == 0 {
		local = s.names.id(k)
	}
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

// numbered lists the names of nodes that have their numbers, up to the last.
func (im *importer) numbered(names *data.Names, last event.Node) {
	im.names, im.given, im.last = names, last, last
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

// resolve looks up the names of a block that were there when it is called, on the goroutine that read the block.
func (im *importer) resolve(b *importBlock) {
	find := func(s *side, keys []key, locals []event.Node) []event.Node {
		locals = slices.Grow(locals[:0], len(keys))[:len(keys)]
		if s.names == nil {
			clear(locals)
		} else {
			s.names.shown.Load().findAll(keys, locals)
		}
		return locals
	}
	b.srcLocal = find(im.sources, b.src, b.srcLocal)
	b.dstLocal = find(im.targets, b.dst, b.dstLocal)
}

// publish shows the names of all blocks that were merged to those who read the next ones.
func (im *importer) publish() {
	for _, s := range []*side{im.sources, im.targets} {
		if s.names != nil {
			s.names.publish()
		}
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
	var digits [20]byte
	for id := event.Node(1); id <= im.last; id++ {
		var name []byte
		for i := range sides {
			if s := &sides[i]; s.next < s.known && s.id(event.Node(s.next+1)) == id {
				name = s.names.At(s.next, &digits)
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
	if im.names == nil || !im.Bipartite {
		return
	}
	later := im.names.Columns().Later
	for _, id := range im.sources.ids {
		if id > im.given {
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
