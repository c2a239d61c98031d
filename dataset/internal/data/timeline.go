package data

import (
	"encoding/binary"
	"fmt"
	"hash"
	"math"

	"github.com/dygmamba/dygmamba/event"
)

// Timeline is features of nodes that change over time. A row holds for its node from after its time on, until the
// node's next row: a query at t sees the latest one strictly before t, and zeros where there is none.
type Timeline struct {
	NodeTimes          // of equal times of a node the last row holds
	Features  Features // row i belongs to Node[i]: there is no padding
}

// NewTimeline sorts rows by time. Rows of the same time stay in their order.
func NewTimeline(node []event.Node, time []event.Time, rows []float32, width int) *Timeline {
	t := &Timeline{Features: Features{Rows: len(node), Cols: width, Data: make([]float32, 0, len(rows))}}
	for _, i := range byTime(time) {
		t.add(node[i], time[i])
		t.Features.Data = append(t.Features.Data, rows[i*width:(i+1)*width]...)
	}
	return t
}

// Len is the number of rows; a nil *Timeline has none.
func (t *Timeline) Len() int {
	if t == nil {
		return 0
	}
	return len(t.Node)
}

// Nodes is how many nodes have a row.
func (t *Timeline) Nodes() int {
	if t == nil {
		return 0
	}
	seen := map[event.Node]bool{}
	for _, n := range t.Node {
		seen[n] = true
	}
	return len(seen)
}

// Check says what is wrong with rows that came from a file, in which nodes go up to last: row −1 where it is none of
// them in particular.
func (t *Timeline) Check(last event.Node) (row int, err error) {
	if row, err := t.check(last); err != nil {
		return row, err
	}
	for i, x := range t.Features.Data {
		if x-x != 0 {
			return i / t.Features.Cols, fmt.Errorf("feature %v, must be a finite number", x)
		}
	}
	return -1, nil
}

// renumbered is the rows of nodes that have a new number; 0 is none.
func (t *Timeline) renumbered(number func(event.Node) event.Node) *Timeline {
	if t == nil {
		return nil
	}
	out := &Timeline{Features: Features{Cols: t.Features.Cols, Data: []float32{}}}
	for i, n := range t.Node {
		if to := number(n); to > 0 {
			out.add(to, t.Time[i])
			out.Features.Data = append(out.Features.Data, t.Features.Row(i)...)
		}
	}
	out.Features.Rows = len(out.Node)
	return out
}

// hashTimeline feeds the rows, and nothing where there are none: older sets keep their hash.
func hashTimeline(h hash.Hash, t *Timeline) {
	if t == nil {
		return
	}
	buf := make([]byte, 0, 64<<10)
	buf = append(buf, "timeline"...)
	for i, n := range t.Node {
		if len(buf)+12 > cap(buf) {
			h.Write(buf)
			buf = buf[:0]
		}
		buf = binary.LittleEndian.AppendUint32(buf, uint32(n))
		buf = binary.LittleEndian.AppendUint64(buf, math.Float64bits(t.Time[i]))
	}
	h.Write(buf)
	hashFeatures(h, t.Features)
}
