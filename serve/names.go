package serve

import (
	"strconv"
	"strings"
	"sync"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/event"
)

// names maps names of nodes to ids. New events add names to those of the data set. If the set has no names, numbers are
// names: numbers of the set are its ids, others get the next free id, so that a large number costs no more than a small
// one. Only one goroutine adds names.
type names struct {
	base   *dataset.Names
	known  int                 // nodes of the data set: ids 1 … known
	erased map[event.Node]bool // of these: their names are not known; where nodes have no names, a number is a node
	apart  bool                // sources and destinations have separate names

	mu     sync.RWMutex             // guards what follows
	nodes  [2]map[string]event.Node // sources and destinations if they are separate, otherwise only the first
	added  []string                 // the name of node known+1+i
	source []byte                   // 1 if that is a source, otherwise 0; only if they are separate
}

func newNames(set *dataset.Set, erased map[event.Node]bool) *names {
	return &names{base: set.Names, erased: erased, known: max(0, set.NumNodes()-1), apart: set.Names.Sources() > 0,
		nodes: [2]map[string]event.Node{{}, {}}}
}

func (n *names) find(name string, source bool) (id event.Node, ok bool) {
	if source {
		id, ok = n.base.Source(name)
	} else {
		id, ok = n.base.Target(name)
	}
	if ok && int(id) <= n.known && (n.base == nil || !n.erased[id]) {
		return id, true
	}
	n.mu.RLock()
	defer n.mu.RUnlock()
	id, ok = n.nodes[n.side(source)][name]
	return id, ok
}

// add is the node of a name, a new one if the name is unknown.
func (n *names) add(name string, source bool) event.Node {
	if id, ok := n.find(name, source); ok {
		return id
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	name = strings.Clone(name) // it may be a part of a long request
	n.added = append(n.added, name)
	if n.apart {
		n.source = append(n.source, byte(1-n.side(source)))
	}
	id := event.Node(n.known + len(n.added))
	n.nodes[n.side(source)][name] = id
	return id
}

func (n *names) side(source bool) int {
	if n.apart && !source {
		return 1
	}
	return 0
}

func (n *names) count() int {
	n.mu.RLock()
	defer n.mu.RUnlock()
	return n.known + len(n.added)
}

// Name is the name of a node.
func (n *names) Name(id event.Node) string {
	if int(id) <= n.known {
		return n.base.Name(id)
	}
	n.mu.RLock()
	defer n.mu.RUnlock()
	if i := int(id) - n.known - 1; i < len(n.added) {
		return n.added[i]
	}
	if n.base != nil { // a node that is asked about and not known is called as it would be without erased ones
		id -= event.Node(len(n.erased))
	}
	return strconv.Itoa(int(id))
}

// Side is the side that a node is named on, as in a set that has all nodes: see dataset.Names.
func (n *names) Side(id event.Node) uint8 {
	if int(id) <= n.known {
		return n.base.Side(id)
	}
	n.mu.RLock()
	defer n.mu.RUnlock()
	i := int(id) - n.known - 1
	switch {
	case i >= len(n.added) && n.base != nil:
		return dataset.SideNameless
	case n.apart && n.source[i] == 0:
		return dataset.SideTarget
	}
	return dataset.SideSource
}

// numbers says whether names are numbers because the data set has none.
func (n *names) numbers() bool { return n.base == nil }

// newcomers are the names and sides of the first nodes that were added. These do not change.
func (n *names) newcomers(count int) (list []string, source []byte) {
	n.mu.RLock()
	defer n.mu.RUnlock()
	if n.apart {
		source = n.source[:count:count]
	}
	return n.added[:count:count], source
}
