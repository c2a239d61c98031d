package native

import (
	"encoding/json"
	"fmt"
	"math"

	"github.com/dygmamba/dygmamba/dataset/internal/data"
	"github.com/dygmamba/dygmamba/event"
)

// Timeline writes features of nodes that change over time, if there are any.
func (w *Writer) Timeline(t *data.Timeline) {
	if t == nil {
		return
	}
	put(w, TimelineNode, t.Node)
	put(w, TimelineTime, t.Time)
	w.features(TimelineFeatures, t.Features)
}

// timeline reads them. They are few beside the events, and are checked at once.
func (d *decoder) timeline(s *data.Set) {
	sec, ok := d.sections[TimelineNode]
	if !ok {
		return
	}
	for _, kind := range []uint32{TimelineNode, TimelineTime, TimelineFeatures} {
		if !d.read(kind) {
			return
		}
	}
	n := int(min(sec.rows, math.MaxInt32))
	t := &data.Timeline{NodeTimes: d.nodeTimes(TimelineNode, TimelineTime, n), Features: d.features(TimelineFeatures)}
	if d.err != nil {
		return
	}
	found := fmt.Sprintf("section timeline features of %d rows and %d columns", t.Features.Rows, t.Features.Cols)
	fits := t.Features.Rows == n && t.Features.Cols == s.Node.Cols && (t.Features.Data != nil || n*s.Node.Cols == 0)
	if !d.check(fits, found, fmt.Sprintf("%d rows of %d columns", n, s.Node.Cols)) {
		return
	}
	if row, err := t.Check(event.Node(d.header.nodes)); err != nil {
		d.bad(row+1, "timeline", err, "rows of features of nodes in the order of time")
		return
	}
	s.Timeline = t
}

// NodeLabels writes labels of nodes with times of their own, if there are any.
func (w *Writer) NodeLabels(l *data.NodeLabels) error {
	if l == nil {
		return nil
	}
	put(w, NodeLabelNode, l.Node)
	put(w, NodeLabelTime, l.Time)
	put(w, NodeLabelClass, l.Class)
	return w.json(nodeClasses, l.Names)
}

// nodeLabels reads them, and checks them at once.
func (d *decoder) nodeLabels(s *data.Set) {
	sec, ok := d.sections[NodeLabelNode]
	if !ok {
		return
	}
	for _, kind := range []uint32{NodeLabelNode, NodeLabelTime, NodeLabelClass, nodeClasses} {
		if !d.read(kind) {
			return
		}
	}
	n := int(min(sec.rows, math.MaxInt32))
	l := &data.NodeLabels{NodeTimes: d.nodeTimes(NodeLabelNode, NodeLabelTime, n),
		Class: column[uint16](d, NodeLabelClass, n, true)}
	if d.err != nil {
		return
	}
	err := json.Unmarshal(d.bytes(d.sections[nodeClasses]), &l.Names)
	if !d.check(err == nil, fmt.Sprintf("section node classes that is not JSON: %v", err), "a list of names") {
		return
	}
	if row, err := l.Check(event.Node(d.header.nodes)); err != nil {
		d.bad(row+1, "node label", err, "labels of nodes in the order of time")
		return
	}
	s.NodeLabels = l
}

// nodeTimes are n rows of two sections.
func (d *decoder) nodeTimes(nodes, times uint32, n int) data.NodeTimes {
	return data.NodeTimes{Node: column[event.Node](d, nodes, n, true), Time: column[event.Time](d, times, n, true)}
}
