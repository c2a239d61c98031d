package data

import (
	"encoding/binary"
	"fmt"
	"hash"
	"math"

	"github.com/dygmamba/dygmamba/event"
)

// NodeLabels say which class nodes have at times of their own, whether anything happens then or not. Who is asked for a
// class at t sees events strictly before t.
type NodeLabels struct {
	NodeTimes
	Class []uint16 // a place in Names
	Names []string // of the classes 0, 1, …
}

// NewNodeLabels sorts rows by time. Rows of the same time stay in their order.
func NewNodeLabels(node []event.Node, time []event.Time, class []uint16, names []string) *NodeLabels {
	l := &NodeLabels{Names: names}
	for _, i := range byTime(time) {
		l.add(node[i], time[i])
		l.Class = append(l.Class, class[i])
	}
	return l
}

// Len is the number of rows; a nil *NodeLabels has none.
func (l *NodeLabels) Len() int {
	if l == nil {
		return 0
	}
	return len(l.Node)
}

// Counts are how many rows each class has.
func (l *NodeLabels) Counts() []int {
	counts := make([]int, len(l.Names))
	for _, c := range l.Class {
		counts[c]++
	}
	return counts
}

// Log is the rows as questions: a node and itself at a time, labelled by 1 + its class and numbered from 1 on.
func (l *NodeLabels) Log() *event.Log {
	log := event.NewLog(l.Len())
	for i, n := range l.Node {
		e := event.Event{Src: n, Dst: n, Time: l.Time[i], Label: float32(1 + l.Class[i]), Edge: event.Edge(i + 1)}
		if _, err := log.Append(e); err != nil {
			panic(err) // rows were checked
		}
	}
	return log
}

// Check says what is wrong with rows that came from a file, in which nodes go up to last: row −1 where it is none of
// them in particular.
func (l *NodeLabels) Check(last event.Node) (row int, err error) {
	if err := CheckClasses(l.Names); err != nil {
		return -1, err
	}
	if row, err := l.check(last); err != nil {
		return row, err
	}
	for i, c := range l.Class {
		if int(c) >= len(l.Names) {
			return i, fmt.Errorf("class %d, must be below %d, as many as have names", c, len(l.Names))
		}
	}
	return -1, nil
}

// picked are the rows that are kept, of nodes that may have new numbers; 0 is none.
func (l *NodeLabels) picked(keep func(at event.Time) bool, number func(event.Node) event.Node) *NodeLabels {
	if l == nil {
		return nil
	}
	out := &NodeLabels{Names: l.Names}
	for i, n := range l.Node {
		if to := number(n); to > 0 && keep(l.Time[i]) {
			out.add(to, l.Time[i])
			out.Class = append(out.Class, l.Class[i])
		}
	}
	return out
}

// renumbered is the rows of nodes that have a new number; 0 is none.
func (l *NodeLabels) renumbered(number func(event.Node) event.Node) *NodeLabels {
	return l.picked(func(event.Time) bool { return true }, number)
}

// hashNodeLabels feeds the rows, and nothing where there are none: older sets keep their hash.
func hashNodeLabels(h hash.Hash, l *NodeLabels) {
	if l == nil {
		return
	}
	buf := make([]byte, 0, 64<<10)
	buf = append(buf, "node labels"...)
	for _, name := range l.Names {
		buf = append(binary.LittleEndian.AppendUint32(buf, uint32(len(name))), name...)
	}
	for i, n := range l.Node {
		if len(buf)+14 > cap(buf) {
			h.Write(buf)
			buf = buf[:0]
		}
		buf = binary.LittleEndian.AppendUint32(buf, uint32(n))
		buf = binary.LittleEndian.AppendUint64(buf, math.Float64bits(l.Time[i]))
		buf = binary.LittleEndian.AppendUint16(buf, l.Class[i])
	}
	h.Write(buf)
}
