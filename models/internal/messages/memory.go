// Package messages answers: what does a node remember, and what has it been told since?
//
// It is the memory of TGN (Rossi et al., Temporal Graph Networks for Deep Learning on Dynamic Graphs, 2020) in the
// form that TGN, JODIE and DyRep share: every event leaves a message with both of its nodes, and a cell makes a
// node's new memory of the last message and the old memory when the node occurs again. What is asked about a node in
// between sees the memory that it would have, see Now.
package messages

import (
	"fmt"
	"math"

	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/nn"
	"github.com/dygmamba/dygmamba/sample"
	"github.com/dygmamba/dygmamba/tensor"
)

// Which of the messages that a node gets in one batch is its last.
const (
	ByRole = "role" // those to sources come first, then those to destinations, as in the reference programs
	ByTime = "time" // the latest event's
)

// Config says what messages are made of.
type Config struct {
	Node, Edge, Time int    // widths of a memory, of what describes an event, and of a time code
	Last             string // ByRole or ByTime
	ExactTimes       bool   // otherwise times are rounded to float32, as in the reference programs
}

// Message is the width of one: both nodes, the time since the receiver's last, the event.
func (c Config) Message() int { return 2*c.Node + c.Time + c.Edge }

// Check says what is wrong with c, under the names of settings.
func (c Config) Check() error {
	if c.Last != ByRole && c.Last != ByTime {
		return fmt.Errorf("last_message is %q, must be %s or %s", c.Last, ByRole, ByTime)
	}
	return model.CheckTimeDim(c.Time)
}

// Cell makes a new memory [n, node] of a message x [n, message] and the old memory h [n, node].
type Cell interface {
	Forward(tp *grad.Tape, x, h *tensor.Tensor) *tensor.Tensor
}

// Memory is what is remembered of every node. One goroutine at a time may use it.
type Memory struct {
	cfg  Config
	cell Cell
	time nn.TimeEncoder
	edge *nn.Features

	state   *nn.State
	memory  *nn.Table // [nodes, node]
	updated *nn.Table // [nodes, 2] when the memory was last made new, see split
	message *nn.Table // [nodes, message] the last that waits
	sent    *nn.Table // [nodes, 2] and its time
	waiting *nn.Table // [nodes, 1] 1 where there is one

	rows   device.Ints    // [distinct] of the batch's nodes in the tables
	now    *tensor.Tensor // [distinct, node] tentative memories, once Now was called
	nowAt  *tensor.Tensor // [distinct, 2] and the times they would be of
	events events
	host   []int32
}

// New makes room for what is remembered of nodes below a number.
func New(dev device.Device, nodes int, c Config, cell Cell, time nn.TimeEncoder, edge *nn.Features) *Memory {
	m := &Memory{cfg: c, cell: cell, time: time, edge: edge, state: nn.NewState(dev, nodes)}
	m.memory = m.state.Add("memory", c.Node)
	m.updated = m.state.Add("last_updated", 2)
	m.message = m.state.Add("message", c.Message())
	m.sent = m.state.Add("message_time", 2)
	m.waiting = m.state.Add("has_message", 1)
	m.state.Touch(nil) // LoadEvents says which
	return m
}

// Snapshot, Written, Restore, Grow and Shape are those of model.Memory and model.Shaper: a model embeds its Memory.

// Snapshot copies everything out.
func (m *Memory) Snapshot() []tensor.Named { return m.state.Snapshot() }

// Written is Snapshot to be written to a file before the next step.
func (m *Memory) Written() []tensor.Named { return m.state.Written() }

// Restore puts back what Snapshot copied out; nil forgets everything.
func (m *Memory) Restore(list []tensor.Named) error { return m.state.Restore(list) }

// Grow makes room for node ids below nodes.
func (m *Memory) Grow(nodes int) { m.state.Grow(nodes) }

// Close gives the memory back.
func (m *Memory) Close() { m.state.Close() }

// Shape is what a step depends on beside the sizes of its batch.
func (m *Memory) Shape(b *sample.Batch) uint64 {
	return grad.Key(uint64(m.state.Moves()), uint64(b.Events.Len()))
}

// Load uploads which nodes the batch is about, and what will be told of its events. It comes before anything is
// computed.
func (m *Memory) Load(tp *grad.Tape, b *sample.Batch) {
	m.rows = m.loadRows(tp, b.Distinct.Nodes)
	m.LoadEvents(tp, b)
}

// loadRows uploads where nodes stand in the tables. One that is new to them counts as never seen, which is a row of
// zeros.
func (m *Memory) loadRows(tp *grad.Tape, nodes ...[]int32) device.Ints {
	m.host = m.host[:0]
	for _, list := range nodes {
		m.host = append(m.host, list...)
	}
	for i, n := range m.host {
		if int(n) >= m.state.Rows() {
			m.host[i] = -1
		}
	}
	return tp.Ints(m.host)
}

// Now is what the batch's distinct nodes would remember if they occurred now: memories [distinct, node] with the last
// message applied, and the time of that message, or of the last one applied before, [distinct, 2]. Nothing is
// changed; a gradient flows into the cell and no further.
func (m *Memory) Now(tp *grad.Tape) (memory, updated *tensor.Tensor) {
	m.now, m.nowAt = m.apply(tp, m.rows)
	return m.now, m.nowAt
}

// apply is what the nodes of some rows would remember. The reference updates all nodes that have messages each time, of
// which only these are looked at.
func (m *Memory) apply(tp *grad.Tape, rows device.Ints) (memory, updated *tensor.Tensor) {
	told := grad.Gather(tp, m.waiting.Tensor, rows, 1)    // [r, 1]
	old := grad.Gather(tp, m.memory.Tensor, rows, 1)      // [r, node]
	message := grad.Gather(tp, m.message.Tensor, rows, 1) // [r, message]
	memory = choose(tp, told, m.cell.Forward(tp, message, old), old)
	sent, before := grad.Gather(tp, m.sent.Tensor, rows, 1), grad.Gather(tp, m.updated.Tensor, rows, 1)
	return memory, choose(tp, told, sent, before)
}

// choose is x where told [r, 1] is 1 and y where it is 0, to the last bit.
func choose(tp *grad.Tape, told, x, y *tensor.Tensor) *tensor.Tensor {
	rest := grad.Sub(tp, y, grad.Mul(tp, y, told))
	return grad.Add(tp, grad.Mul(tp, x, told), rest)
}

// AppendTime appends a time in two parts: rounded to float32, and what is lost by that. The reference programs lose
// it, so unless times are exact the second part is 0. The difference of two times is the sum of the differences of
// their parts, so that it has the precision of the difference, not that of the times.
func (m *Memory) AppendTime(list []float32, t float64) []float32 {
	rounded, rest := float32(t), float32(0)
	if m.cfg.ExactTimes && !math.IsInf(float64(rounded), 0) {
		rest = float32(t - float64(rounded))
	}
	return append(list, rounded, rest)
}

// Since is how long after updated [r, 2] the times at [r, 2] are: [r, 1].
func Since(tp *grad.Tape, at, updated *tensor.Tensor) *tensor.Tensor {
	return grad.RowSum(tp, grad.Sub(tp, at, updated))
}
