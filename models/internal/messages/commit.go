package messages

import (
	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/sample"
	"github.com/dygmamba/dygmamba/tensor"
)

// events is what will be told of a batch's k events: to each of the 2k nodes that took part, sources first, then
// destinations.
type events struct {
	nodes device.Ints    // [2k] rows in the tables
	last  device.Ints    // [2k] the same, −1 where a node gets a later message
	slots device.Ints    // [2k] among the batch's distinct nodes
	times *tensor.Tensor // [2k, 2]
	edges device.Ints    // [2k] rows of event features
	one   *tensor.Tensor // [2k, 1]

	hostTimes []float32
	hostOne   []float32
	hostEdges []int32
	latest    map[event.Node]int // the row of each node's latest event
}

// LoadEvents uploads what will be told of the events of b, for a Commit without Now.
func (m *Memory) LoadEvents(tp *grad.Tape, b *sample.Batch) {
	e, span := &m.events, b.Events
	m.now, m.nowAt = nil, nil
	k := span.Len()
	e.nodes = m.loadRows(tp, span.Src, span.Dst)
	m.state.Touch(m.host)
	e.last = e.nodes
	if m.cfg.Last == ByTime {
		e.last = m.loadLatest(tp, span)
	}
	slots := min(k, len(b.Distinct.Src)) // none where Now is not asked
	m.host = append(append(m.host[:0], b.Distinct.Src[:slots]...), b.Distinct.Dst[:slots]...)
	e.slots = tp.Ints(m.host)
	e.hostTimes, e.hostEdges, e.hostOne = e.hostTimes[:0], e.hostEdges[:0], e.hostOne[:0]
	for range 2 {
		for i, t := range span.Time {
			e.hostTimes = m.AppendTime(e.hostTimes, t)
			e.hostEdges = append(e.hostEdges, span.Edge(i))
			e.hostOne = append(e.hostOne, 1)
		}
	}
	e.times = tp.Floats(e.hostTimes, 2*k, 2)
	e.edges = m.edge.Load(tp, e.hostEdges)
	e.one = tp.Floats(e.hostOne, 2*k, 1)
}

// loadLatest uploads the rows that get the message of a node's latest event; of two at the same time the later one.
func (m *Memory) loadLatest(tp *grad.Tape, span event.Span) device.Ints {
	e, k := &m.events, span.Len()
	if e.latest == nil {
		e.latest = map[event.Node]int{}
	}
	clear(e.latest)
	for i, t := range span.Time {
		for _, row := range [2]int{i, k + i} {
			n := node(span, row)
			if old, met := e.latest[n]; !met || t >= span.Time[old%k] {
				e.latest[n] = row
			}
		}
	}
	m.host = m.host[:0]
	for row := range 2 * k {
		n := node(span, row)
		if e.latest[n] != row || int(n) >= m.state.Rows() {
			n = -1
		}
		m.host = append(m.host, n)
	}
	return tp.Ints(m.host)
}

// node is the one that took part in row r of a span's events.
func node(span event.Span, r int) event.Node {
	if k := span.Len(); r >= k {
		return span.Dst[r-k]
	}
	return span.Src[r]
}

// Commit remembers the events that were loaded. The nodes that took part make their memories new, as Now says, and then
// get one message for each event: what they remember, what the other one says, how long ago their last message was, and
// the event. Said [2k, node] is what sources, then destinations say to the other; nil: what they remember.
func (m *Memory) Commit(tp *grad.Tape, said *tensor.Tensor) {
	tp.Aside(func() { m.commit(tp, said) })
}

func (m *Memory) commit(tp *grad.Tape, said *tensor.Tensor) {
	e := &m.events
	own, updated := m.taken(tp) // [2k, node], [2k, 2]
	if said == nil {
		said = own
	}
	src, dst := grad.Split(tp, said, e.times.Dim(0)/2)
	heard := grad.Stack(tp, dst, src)             // [2k, node]
	since := Since(tp, e.times, updated)          // [2k, 1]
	since = grad.Reshape(tp, since, since.Dim(0)) // [2k]
	code := m.time.Forward(tp, since, device.Ints{})
	about := m.edge.Gather(tp, e.edges, m.cfg.Edge) // [2k, edge]
	if about == nil {
		about = tp.Zeros(e.times.Dim(0), m.cfg.Edge)
	}
	message := grad.Concat(tp, own, heard, code, about) // [2k, message]

	grad.Assign(tp, m.memory.Tensor, own, e.nodes)
	grad.Assign(tp, m.updated.Tensor, updated, e.nodes)
	grad.Assign(tp, m.message.Tensor, message, e.last)
	grad.Assign(tp, m.sent.Tensor, e.times, e.last)
	grad.Assign(tp, m.waiting.Tensor, e.one, e.last)
}

// taken is what the nodes of the events remember now that they take part, and since when.
func (m *Memory) taken(tp *grad.Tape) (own, updated *tensor.Tensor) {
	if m.now == nil {
		return m.apply(tp, m.events.nodes)
	}
	return grad.Gather(tp, m.now, m.events.slots, 1), grad.Gather(tp, m.nowAt, m.events.slots, 1)
}
