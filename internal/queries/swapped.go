package queries

import "github.com/dygmamba/dygmamba/event"

// Swapped are the questions whose source only ever was a destination and whose destination only a source, where nodes
// are of two kinds: those who ask may have mixed up the columns.
func (k *Reader) Swapped(questions []Question) (list []Question) {
	if !k.set.Bipartite {
		return nil
	}
	if k.set.Names.Sources() == 0 {
		return k.swappedRoles(questions)
	}
	for _, q := range questions {
		_, asSource := k.set.Names.Source(q.I)
		_, asTarget := k.set.Names.Target(q.U)
		if asSource && asTarget && k.stranger(q.Src) && k.stranger(q.Dst) {
			list = append(list, q)
		}
	}
	return list
}

// swappedRoles is Swapped where both kinds of nodes share one set of names.
func (k *Reader) swappedRoles(questions []Question) (list []Question) {
	const source, target = 1, 2
	roles := map[event.Node]uint8{} // of those asked about
	for _, q := range questions {
		roles[q.Src], roles[q.Dst] = 0, 0
	}
	note := func(n event.Node, role uint8) {
		if was, asked := roles[n]; asked {
			roles[n] = was | role
		}
	}
	all := k.set.Log.All()
	for i := range all.Len() {
		note(all.Src[i], source)
		note(all.Dst[i], target)
	}
	for _, q := range questions {
		if roles[q.Src] == target && roles[q.Dst] == source {
			list = append(list, q)
		}
	}
	return list
}

// stranger says whether a node was made up for a name that the set does not have.
func (k *Reader) stranger(n event.Node) bool { return int(n) >= k.set.NumNodes() }
