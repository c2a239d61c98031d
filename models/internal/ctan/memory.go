package ctan

import (
	"fmt"

	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/sample"
	"github.com/dygmamba/dygmamba/tensor"
)

// UnitPlan asks for nothing but the events: Commit finds their states itself where nobody has asked for them.
func (m *Model) UnitPlan() sample.Plan { return sample.Plan{} }

// Commit remembers events: where the states of their nodes have arrived, and then the events themselves as the latest
// of both nodes. A node of several events has one state, and it does not matter which of them it is taken from.
func (m *Model) Commit(tp *grad.Tape, b *sample.Batch, e *model.Embedding) {
	if e == nil {
		said := m.Embed(tp, b)
		e = &said
	}
	m.assign(tp, b, e.Src, func(q sample.Query) int32 { return q.Src })
	m.assign(tp, b, e.Dst, func(q sample.Query) int32 { return q.Dst })
	m.ring.remember(b.Events, m.shift.cut)
}

// assign writes the states of one side's nodes, those of the first queries, which are about the events.
func (m *Model) assign(tp *grad.Tape, b *sample.Batch, z *tensor.Tensor, node func(sample.Query) int32) {
	m.commit = m.commit[:0]
	for _, q := range b.Queries[:b.Positives] {
		n := node(q)
		if int(n) >= m.state.Rows() {
			want := fmt.Sprintf("nodes below %d: Grow makes room for more", m.state.Rows())
			panic(tensor.Mismatch("commit", want, []int{int(n)}))
		}
		m.commit = append(m.commit, n)
	}
	arrived := grad.Rows(tp, tp.Detach(z), 0, b.Positives) // [positives, width]
	grad.Assign(tp, m.memory.Tensor, arrived, tp.Ints(m.commit))
}

// Shape tells steps apart that compute on graphs of different sizes, or on tables that have moved.
func (m *Model) Shape(b *sample.Batch) uint64 {
	moves := grad.Key(uint64(m.state.Moves()), grad.Key(uint64(m.Node.Moves()), uint64(m.Edge.Moves())))
	return grad.Key(uint64(m.look(b).rows()), moves)
}

// Snapshot copies out all that is remembered, and the numbers that times are normalised with.
func (m *Model) Snapshot() []tensor.Named {
	return append(append(m.state.Snapshot(), m.ring.snapshot()...), m.shift.snapshot())
}

// Restore puts back what Snapshot copied out; nil forgets everything that happened.
func (m *Model) Restore(list []tensor.Named) error {
	if list == nil {
		m.state.Reset()
		m.ring.reset()
		return nil
	}
	ring, err := m.ring.restored(list)
	if err != nil {
		return err
	}
	shift, err := m.shift.restored(list)
	if err != nil {
		return err
	}
	if err := m.state.Restore(list); err != nil {
		return err
	}
	m.ring, m.shift = ring, shift
	m.ring.start = shift.Start
	m.Grow(max(m.state.Rows(), m.ring.nodes()))
	return nil
}

// Grow makes room for node ids below nodes.
func (m *Model) Grow(nodes int) {
	m.state.Grow(nodes)
	m.ring.grow(m.state.Rows())
	m.drawFeatures()
}
