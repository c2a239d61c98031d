package table

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/dygmamba/dygmamba/dataset/internal/data"
	"github.com/dygmamba/dygmamba/dataset/internal/input"
	"github.com/dygmamba/dygmamba/event"
)

// side is what nodes are called as sources, or as destinations.
type side struct {
	names *dict        // nil: by their ids
	ids   []event.Node // by the dictionary's number
}

// newSide lists the names that nodes have already.
func newSide(set *data.Set, is func(event.Node) bool) *side {
	s := &side{}
	if set.Names == nil {
		return s
	}
	s.names = newDict()
	for id := event.Node(1); int(id) <= set.Names.Len(); id++ {
		if is(id) {
			if local := s.names.id(newKey([]byte(set.Names.Name(id)))); int(local) > len(s.ids) {
				s.ids = append(s.ids, id)
			}
		}
	}
	return s
}

// each visits the nodes behind a number, in order.
func (s *side) each(last event.Node, visit func(id event.Node, name []byte)) {
	for local, id := range s.ids {
		if id > last {
			visit(id, slices.Clone(s.names.name(local)))
		}
	}
}

// number is the id of a name, a new one if nobody has it. Where nodes are called by their ids, these must be such.
func (ap *appender) number(p place, s *side, k key) event.Node {
	if s.names == nil {
		most := max(int64(ap.set.NumNodes()), 64*int64(ap.set.Log.Len()+len(ap.events)+1), 1<<24)
		if k.text != nil || k.num < 1 || k.num > min(most, math.MaxInt32-1) {
			p.Bad("", "node "+input.Quote(k.String()),
				fmt.Sprintf("an id from 1 to %d, as nodes of these data have no names", most))
			return 1
		}
		ap.last = max(ap.last, event.Node(k.num))
		return event.Node(k.num)
	}
	local := s.names.id(k)
	if int(local) > len(s.ids) {
		ap.last++
		s.ids = append(s.ids, ap.last)
	}
	return s.ids[local-1]
}

// names is the dictionary of all nodes: as numbers while all are numbers.
func (ap *appender) names() *data.Names {
	old := ap.set.Names
	if old == nil {
		return nil
	}
	columns := old.Columns()
	all := data.NameColumns{Numbers: slices.Clone(columns.Numbers), Text: slices.Clone(columns.Text),
		Ends: slices.Clone(columns.Ends), Later: slices.Clone(columns.Later)}
	added := make([][]byte, int(ap.last)-old.Len())
	ap.sources.each(event.Node(old.Len()), func(id event.Node, name []byte) {
		added[int(id)-old.Len()-1] = name
		if ap.Bipartite {
			all.Later = append(all.Later, id)
		}
	})
	if ap.Bipartite {
		ap.targets.each(event.Node(old.Len()), func(id event.Node, name []byte) { added[int(id)-old.Len()-1] = name })
	}
	if all.Numbers != nil && (ap.sources.names.words || ap.targets.names.words) {
		for _, v := range all.Numbers {
			all.Text = strconv.AppendInt(all.Text, v, 10)
			all.Ends = append(all.Ends, int64(len(all.Text)))
		}
		all.Numbers = nil
	}
	for _, name := range added {
		if all.Numbers != nil {
			all.Numbers = append(all.Numbers, newKey(name).num)
			continue
		}
		all.Text = append(all.Text, name...)
		all.Ends = append(all.Ends, int64(len(all.Text)))
	}
	return data.NamesFrom(all, old.Sources())
}
