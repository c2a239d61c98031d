package data

import (
	"fmt"
	"slices"
	"sync"

	"github.com/dygmamba/dygmamba/event"
)

// MaxID is how many bytes the id of an event may have.
const MaxID = 200

// IDs are what events were called, by edge id: no two have the same, and "" is none. A nil *IDs has none.
type IDs struct {
	Text []byte  // all ids one after another
	Ends []int64 // where the id of the event with edge id i+1 ends

	check func() error // called before one is read; nil: they are fine
}

// IDsInFile are ids in columns that are not checked yet: check is called once before one is read. Where it finds fault,
// whatever reads them panics with an *event.DamageError.
func IDsInFile(text []byte, ends []int64, check func() error) *IDs {
	return &IDs{Text: text, Ends: ends, check: sync.OnceValue(check)}
}

// At is the id of the event with an edge id.
func (x *IDs) At(edge int) string {
	if x == nil || edge < 1 || edge > len(x.Ends) {
		return ""
	}
	if x.check != nil {
		if err := x.check(); err != nil {
			panic(&event.DamageError{Err: err})
		}
	}
	from := int64(0)
	if edge > 1 {
		from = x.Ends[edge-2]
	}
	return string(x.Text[from:x.Ends[edge-1]])
}

// Positions are the places in the log of the events with ids. The error names those that no event has.
func (s *Set) Positions(ids []string) ([]int, error) {
	want := make(map[string]bool, len(ids))
	for _, id := range ids {
		want[id] = true
	}
	var list []int
	all := s.Log.All()
	for i := range all.Len() {
		if id := s.IDs.At(int(all.Edge(i))); id != "" && want[id] {
			list = append(list, i)
			delete(want, id)
		}
	}
	if len(want) > 0 {
		for _, id := range ids { // in the order in which they were asked for
			if want[id] {
				more := ""
				if n := len(want) - 1; n > 0 {
					more = fmt.Sprintf(" (and %d more)", n)
				}
				return nil, fmt.Errorf("the id %q%s, which no event of %s has", id, more, s.Name)
			}
		}
	}
	return list, nil
}

// Without is a set that never had some events, given by their places in the log, nor some nodes and their events. Nodes
// that have no events any more are left out with them, where nodes have names; others are numbered anew. Where nodes
// have no names a node keeps its number, and an erased one loses its features. What was fitted to columns stays.
func Without(s *Set, drop func(i int) bool, erase map[event.Node]bool) *Set {
	all := s.Log.All()
	var kept []int
	before, after := make([]bool, s.NumNodes()), make([]bool, s.NumNodes())
	for i := range all.Len() {
		before[all.Src[i]], before[all.Dst[i]] = true, true
		if !drop(i) && !erase[all.Src[i]] && !erase[all.Dst[i]] {
			kept = append(kept, i)
			after[all.Src[i]], after[all.Dst[i]] = true, true
		}
	}
	part := pick(s, kept)
	if s.Names == nil {
		stays := func(n event.Node) event.Node {
			if erase[n] {
				return 0
			}
			return n
		}
		part.Timeline, part.NodeLabels = s.Timeline.renumbered(stays), s.NodeLabels.renumbered(stays)
		if s.Node.Data != nil {
			part.Node.Data = slices.Clone(s.Node.Data)
			for n := range erase {
				clear(part.Node.Row(int(n)))
			}
		}
		return part
	}
	number := make([]event.Node, s.NumNodes())
	next := event.Node(1)
	for n := 1; n < len(number); n++ {
		if !erase[event.Node(n)] && (after[n] || !before[n]) {
			number[n] = next
			next++
		}
	}
	part.Names = s.Names.renumbered(number)
	part.Node = Features{Rows: int(next), Cols: s.Node.Cols}
	if s.Node.Data != nil {
		part.Node.Data = make([]float32, part.Node.Rows*part.Node.Cols)
	}
	for n, to := range number {
		if to > 0 && s.Node.Data != nil && n < s.Node.Rows {
			copy(part.Node.Row(int(to)), s.Node.Row(n))
		}
	}
	renumber := func(n event.Node) event.Node { return number[n] }
	part.Timeline, part.NodeLabels = s.Timeline.renumbered(renumber), s.NodeLabels.renumbered(renumber)
	part.Log = part.Log.Renumbered(func(n event.Node) event.Node { return number[n] })
	return part
}

// renumbered is a dictionary of the nodes that have a new number, which ascend.
func (n *Names) renumbered(number []event.Node) *Names {
	n.read()
	out := NameColumns{}
	sources := 0
	for i := 1; i < len(number) && i <= n.Len(); i++ {
		if number[i] == 0 {
			continue
		}
		id := event.Node(i)
		if n.names.Numbers != nil {
			out.Numbers = append(out.Numbers, n.names.Numbers[i-1])
		} else {
			out.Text = append(out.Text, n.names.At(i-1, new([20]byte))...)
			out.Ends = append(out.Ends, int64(len(out.Text)))
		}
		switch {
		case n.sources == 0:
		case i <= n.sources:
			sources++
		case n.IsSource(id):
			out.Later = append(out.Later, number[i])
		}
	}
	if n.names.Numbers != nil && out.Numbers == nil {
		out.Numbers = []int64{}
	}
	return NamesFrom(out, sources)
}
