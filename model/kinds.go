package model

import "github.com/dygmamba/dygmamba/event"

// Kinds is how many kinds of events a model tells apart, 0 for none. A kind is a row of Width numbers: a 1 in its
// place, or two of them, for its two digits, where there are many kinds. One that is not known, as one that came after
// training, is a row of zeros.
type Kinds int

// kindPlaces is how many kinds have a place each. With more of them, digits to this half have.
const kindPlaces, kindBase = 64, 32

// Width is how many numbers tell a kind.
func (k Kinds) Width() int { return int(min(k, kindPlaces)) }

// Put writes the numbers of a kind to out, which has room for Width and is zero.
func (k Kinds) Put(kind event.Kind, out []float32) {
	switch {
	case kind == 0 || Kinds(kind) > k:
	case k <= kindPlaces:
		out[kind-1] = 1
	default: // at most 1000 kinds: two digits tell all of them apart
		out[(kind-1)%kindBase], out[kindBase+(kind-1)/kindBase] = 1, 1
	}
}

// AppendRow appends the features of an event, nil for zeros, and its kind.
func (k Kinds) AppendRow(rows, features []float32, width int, kind event.Kind) []float32 {
	at := len(rows)
	rows = append(rows, features...)
	rows = append(rows, make([]float32, at+width+k.Width()-len(rows))...)
	k.Put(kind, rows[at+width:])
	return rows
}

// KindsByEdge are the kinds of a log's events by edge id, nil where they have none.
func KindsByEdge(log *event.Log) []event.Kind {
	all := log.All()
	if !all.HasKinds() {
		return nil
	}
	var list []event.Kind
	for i := range all.Len() {
		if e := int(all.Edge(i)); e >= len(list) {
			list = append(list, make([]event.Kind, max(e+1, all.Len()+1)-len(list))...)
		}
		list[all.Edge(i)] = all.Kind(i)
	}
	return list
}
