package data

import (
	"fmt"
	"hash/maphash"
	"math"
	"slices"
	"strconv"
	"sync"

	"github.com/dygmamba/dygmamba/dataset/internal/input"
	"github.com/dygmamba/dygmamba/event"
)

// Names is the dictionary of a data set: what its nodes were called where they came from. A nil *Names calls every
// node by its id.
//
// In a bipartite set the two sides are named apart, and one name may be on both: nodes 1 … Sources are sources, the
// others destinations, but for sources that came later, when these numbers were given. Methods are safe for
// concurrent use.
type Names struct {
	sources int // 0: one id space
	names   NameColumns
	check   func() error // called once before names are read; nil: they are fine

	once  sync.Once
	table []int32 // open addressing, node ids or 0; made at the first look-up
	seed  maphash.Seed
}

// NewNames makes a dictionary of the names of nodes 1, 2, …. The first sources of them are sources and the others
// destinations; sources 0 means one id space. A name may not occur twice on one side.
func NewNames(names []string, sources int) (*Names, error) {
	return newNames(names, sources, nil)
}

// newNames is NewNames where some sources came later.
func newNames(names []string, sources int, later []event.Node) (*Names, error) {
	if sources < 0 || sources > len(names) {
		return nil, fmt.Errorf("names: %d sources among %d nodes", sources, len(names))
	}
	last := event.Node(sources)
	for _, id := range later {
		if sources == 0 || id <= last || int(id) > len(names) {
			return nil, fmt.Errorf("names: node %d is a later source, behind %d of %d nodes", id, last, len(names))
		}
		last = id
	}
	n := &Names{sources: sources, names: NameColumns{Ends: make([]int64, 0, len(names)), Later: later}}
	for _, name := range names {
		n.names.Text = append(n.names.Text, name...)
		n.names.Ends = append(n.names.Ends, int64(len(n.names.Text)))
	}
	for i, name := range names {
		if got, _ := n.find(name, sources > 0 && n.IsSource(event.Node(i+1))); got != event.Node(i+1) {
			return nil, fmt.Errorf("names: nodes %d and %d are both called %q", got, i+1, name)
		}
	}
	return n, nil
}

// NameColumns is a dictionary as files keep it: Numbers where every name is a whole number, or else Text and Ends.
type NameColumns struct {
	Numbers []int64      // [nodes]
	Text    []byte       // all names one after another
	Ends    []int64      // [nodes], where each ends
	Later   []event.Node // in a bipartite set: sources beyond the first ones, ascending
}

// Len is the number of names.
func (c *NameColumns) Len() int { return max(len(c.Numbers), len(c.Ends)) }

// At is the name of node i+1: bytes of the text, or a number written to digits.
func (c *NameColumns) At(i int, digits *[20]byte) []byte {
	if c.Numbers != nil {
		return strconv.AppendInt(digits[:0], c.Numbers[i], 10)
	}
	from := int64(0)
	if i > 0 {
		from = c.Ends[i-1]
	}
	return c.Text[from:c.Ends[i]]
}

// NamesFrom makes a dictionary of checked columns, which it keeps: ends ascend within the text. The first sources of
// the nodes are sources, as in NewNames.
func NamesFrom(c NameColumns, sources int) *Names {
	return &Names{sources: sources, names: c}
}

// NamesInFile is NamesFrom of columns that are not checked yet: check is called once before a name is read. Where it
// finds fault, whatever reads names panics with an *event.DamageError.
func NamesInFile(c NameColumns, sources int, check func() error) *Names {
	return &Names{sources: sources, names: c, check: sync.OnceValue(check)}
}

// Columns is the dictionary's own memory, none for nil.
func (n *Names) Columns() NameColumns {
	if n == nil {
		return NameColumns{}
	}
	n.read()
	return n.names
}

// Verify checks the names, if nobody has.
func (n *Names) Verify() error {
	if n == nil || n.check == nil {
		return nil
	}
	return n.check()
}

// read is called before a name is.
func (n *Names) read() {
	if err := n.Verify(); err != nil {
		panic(&event.DamageError{Err: err})
	}
}

// Len is the number of named nodes.
func (n *Names) Len() int {
	if n == nil {
		return 0
	}
	return n.names.Len()
}

// Sources is the number of nodes that were sources from the beginning in a bipartite set, 0 where nodes share one id
// space.
func (n *Names) Sources() int {
	if n == nil {
		return 0
	}
	return n.sources
}

// Name is what node id was called.
func (n *Names) Name(id event.Node) string {
	if id < 1 || int(id) > n.Len() {
		return strconv.Itoa(int(id))
	}
	n.read()
	return string(n.names.At(int(id)-1, new([20]byte)))
}

// Source finds the node of that name among the sources.
func (n *Names) Source(name string) (event.Node, bool) { return n.find(name, true) }

// Target finds the node of that name among the destinations.
func (n *Names) Target(name string) (event.Node, bool) { return n.find(name, false) }

// IsSource says whether a node of a bipartite set is named as a source.
func (n *Names) IsSource(id event.Node) bool {
	if int(id) <= n.Sources() {
		return true
	}
	if n == nil {
		return false
	}
	_, later := slices.BinarySearch(n.names.Later, id)
	return later
}

// Sides of nodes: those of one side have different names.
const (
	SideSource   = iota // of a bipartite set; all nodes of others
	SideTarget          // the destinations of a bipartite set
	SideNameless        // nodes that a dictionary does not have: they are called by their ids
)

// Side is the one that a node is on.
func (n *Names) Side(id event.Node) uint8 {
	switch {
	case n != nil && (id < 1 || int(id) > n.Len()):
		return SideNameless
	case n.Sources() > 0 && !n.IsSource(id):
		return SideTarget
	}
	return SideSource
}

func (n *Names) find(name string, source bool) (event.Node, bool) {
	if n == nil {
		id, ok := input.ParseInt([]byte(name))
		return event.Node(id), ok && id >= 1 && id <= math.MaxInt32
	}
	n.read()
	n.once.Do(n.index)
	mask := uint64(len(n.table) - 1)
	var digits [20]byte
	for at := maphash.String(n.seed, name) & mask; n.table[at] != 0; at = (at + 1) & mask {
		id := n.table[at]
		if (n.sources == 0 || source == n.IsSource(id)) && string(n.names.At(int(id)-1, &digits)) == name {
			return id, true
		}
	}
	return 0, false
}

func (n *Names) index() {
	n.seed = maphash.MakeSeed()
	size := 8
	for size < 2*n.Len() {
		size *= 2
	}
	n.table = make([]int32, size)
	mask := uint64(size - 1)
	var digits [20]byte
	for i := range n.Len() {
		at := maphash.Bytes(n.seed, n.names.At(i, &digits)) & mask
		for n.table[at] != 0 {
			at = (at + 1) & mask
		}
		n.table[at] = int32(i + 1)
	}
}
