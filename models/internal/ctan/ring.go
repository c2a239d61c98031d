package ctan

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/tensor"
)

// link is an event as one of its nodes remembers it: with whom, which one, and when. Node 0 stands for none.
type link struct {
	node, edge int32
	time       float64
}

// ring holds each node's latest events, newest first, and the time of its last one. Only events that were remembered
// are in it.
type ring struct {
	each  int       // K: events kept of a node
	links []link    // [nodes, K]
	last  []float64 // [nodes]
	start float64   // last of a node that nothing has happened to
	age   int       // changes with the content
}

func newRing(nodes, each int, start float64) ring {
	r := ring{each: each, start: start}
	r.grow(nodes)
	return r
}

// nodes is how many there is room for.
func (r *ring) nodes() int { return len(r.last) }

func (r *ring) grow(nodes int) {
	fresh := nodes - r.nodes()
	if fresh <= 0 {
		return
	}
	r.links = append(r.links, make([]link, fresh*r.each)...)
	r.last = append(r.last, slices.Repeat([]float64{r.start}, fresh)...)
	r.age++
}

// of lists what is kept of a node, newest first; node 0 ends the list early.
func (r *ring) of(n int32) []link {
	if int(n) >= r.nodes() {
		return nil
	}
	return r.links[int(n)*r.each : (int(n)+1)*r.each]
}

// push remembers an event of a node, and forgets the oldest if there are too many.
func (r *ring) push(n int32, l link) {
	list := r.of(n)
	if list[0].node == 0 || l.time > r.last[n] {
		r.last[n] = l.time
	}
	copy(list[1:], list)
	list[0] = l
}

// remember takes events in order, each with both of its nodes; cut turns their times into those that are kept.
func (r *ring) remember(events event.Span, cut func(float64) float64) {
	for i, u := range events.Src {
		v, edge, t := events.Dst[i], events.Edge(i), cut(events.Time[i])
		r.push(u, link{v, edge, t})
		r.push(v, link{u, edge, t})
	}
	r.age++
}

// reset forgets everything.
func (r *ring) reset() {
	clear(r.links)
	for i := range r.last {
		r.last[i] = r.start
	}
	r.age++
}

// Names of the ring's tables in a snapshot: exact bytes, as times may have more digits than 32 bits hold.
const (
	linksName = "neighbors"   // [nodes, K·16]: node, event, time
	lastName  = "last_update" // [nodes, 8]
	linkBytes = 4 + 4 + 8
	timeBytes = 8
)

// snapshot copies everything out.
func (r *ring) snapshot() []tensor.Named {
	links := make([]byte, 0, len(r.links)*linkBytes)
	for _, l := range r.links {
		links = binary.LittleEndian.AppendUint32(links, uint32(l.node))
		links = binary.LittleEndian.AppendUint32(links, uint32(l.edge))
		links = binary.LittleEndian.AppendUint64(links, math.Float64bits(l.time))
	}
	last := make([]byte, 0, len(r.last)*timeBytes)
	for _, t := range r.last {
		last = binary.LittleEndian.AppendUint64(last, math.Float64bits(t))
	}
	return []tensor.Named{
		{Name: linksName, Shape: []int{r.nodes(), r.each * linkBytes}, Bytes: links},
		{Name: lastName, Shape: []int{r.nodes(), timeBytes}, Bytes: last},
	}
}

// restored is the ring of a snapshot, with room for as many nodes as that had.
func (r *ring) restored(list []tensor.Named) (ring, error) {
	links, err := table(list, linksName, r.each*linkBytes)
	if err != nil {
		return ring{}, err
	}
	last, err := table(list, lastName, timeBytes)
	if err != nil {
		return ring{}, err
	}
	nodes := len(last) / timeBytes
	if n := len(links) / (r.each * linkBytes); n != nodes {
		return ring{}, fmt.Errorf("memory %s is of %d nodes, %s of %d", linksName, n, lastName, nodes)
	}
	back := newRing(nodes, r.each, r.start)
	back.age = r.age + 1
	for i := range back.links {
		b := links[i*linkBytes:]
		l := link{int32(binary.LittleEndian.Uint32(b)), int32(binary.LittleEndian.Uint32(b[4:])), number(b[8:])}
		if l.node < 0 || int(l.node) >= nodes || l.edge < 0 || !finite(l.time) {
			return ring{}, fmt.Errorf("memory %s, row %d is node %d, event %d at %v, want a node below %d",
				linksName, i/r.each, l.node, l.edge, l.time, nodes)
		}
		back.links[i] = l
	}
	for n := range back.last {
		back.last[n] = number(last[n*timeBytes:])
		if !finite(back.last[n]) {
			return ring{}, fmt.Errorf("memory %s, row %d is %v, must be a finite number", lastName, n, back.last[n])
		}
	}
	return back, nil
}

// table finds the bytes of a table of a snapshot.
func table(list []tensor.Named, name string, cols int) ([]byte, error) {
	t, ok := tensor.Find(list, name)
	if !ok || len(t.Shape) != 2 || t.Shape[1] != cols || len(t.Bytes) != t.Shape[0]*cols {
		return nil, fmt.Errorf("memory %s has shape %v, must be [nodes, %d] bytes", name, t.Shape, cols)
	}
	return t.Bytes, nil
}

func number(b []byte) float64 { return math.Float64frombits(binary.LittleEndian.Uint64(b)) }

func finite(x float64) bool { return x-x == 0 }
