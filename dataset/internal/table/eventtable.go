package table

import (
	"cmp"
	"context"
	"runtime"
	"slices"
	"sync"

	"github.com/dygmamba/dygmamba/dataset/internal/data"
	"github.com/dygmamba/dygmamba/event"
)

// tableRows is the number of events in a block of an eventTable.
const tableRows = 1 << 16

// eventTable holds imported events in any order, in blocks, so that growing it copies nothing. Edge ids are the order
// of arrival.
type eventTable struct {
	blocks   []*eventBlock
	n, old   int        // events, and those of them that were there
	next     event.Edge // id of the next event
	labelled bool
	kinds    bool // some event has one
	sorted   bool // every event is at or after the one before it, and ids are 1, 2, …
	last     event.Time
}

type eventBlock struct {
	src, dst []event.Node
	time     []event.Time
	label    []float32    // nil: all 0
	kind     []event.Kind // nil: all 0
	edge     []event.Edge // nil: in order of arrival
	first    event.Edge   // of the block; 0: edge has them all
	sorted   bool
}

// begin takes the events of a set, which are in the order of time.
func (t *eventTable) begin(set *data.Set) {
	all := set.Log.All()
	t.n, t.old, t.next = all.Len(), all.Len(), event.Edge(set.Edge.Rows)
	if t.n == 0 {
		t.sorted = t.next == 1
		return
	}
	t.last = all.Time[t.n-1]
	b := &eventBlock{src: all.Src, dst: all.Dst, time: all.Time, label: make([]float32, t.n),
		edge: make([]event.Edge, t.n), sorted: true}
	t.sorted = int(t.next) == t.n+1
	for i := range t.n {
		b.label[i], b.edge[i] = all.Label(i), all.Edge(i)
		t.labelled = t.labelled || b.label[i] != 0
		t.sorted = t.sorted && int(b.edge[i]) == i+1
	}
	if t.kinds = all.HasKinds(); t.kinds {
		b.kind = make([]event.Kind, t.n)
		for i := range b.kind {
			b.kind[i] = all.Kind(i)
		}
	}
	t.blocks = append(t.blocks, b)
}

func (t *eventTable) add(e event.Event) {
	if (t.n-t.old)%tableRows == 0 {
		t.blocks = append(t.blocks, &eventBlock{
			src: make([]event.Node, 0, tableRows), dst: make([]event.Node, 0, tableRows),
			time: make([]event.Time, 0, tableRows), first: t.next, sorted: true})
	}
	b := t.blocks[len(t.blocks)-1]
	if n := len(b.time); n > 0 && e.Time < b.time[n-1] {
		b.sorted = false
	}
	if t.n > 0 && e.Time < t.last {
		t.sorted = false
	}
	t.last = e.Time
	if e.Label != 0 && b.label == nil {
		b.label = make([]float32, len(b.src), tableRows)
		t.labelled = true
	}
	if b.label != nil {
		b.label = append(b.label, e.Label)
	}
	if e.Kind != 0 && b.kind == nil {
		b.kind = make([]event.Kind, len(b.src), tableRows)
		t.kinds = true
	}
	if b.kind != nil {
		b.kind = append(b.kind, e.Kind)
	}
	b.src = append(b.src, e.Src)
	b.dst = append(b.dst, e.Dst)
	b.time = append(b.time, e.Time)
	t.n++
	t.next++
}

// times are those of all events in the order in which they came. Blocks must not be sorted yet.
func (t *eventTable) times() []event.Time {
	all := make([]event.Time, 0, t.n)
	for _, b := range t.blocks {
		all = append(all, b.time...)
	}
	return all
}

// sort sorts every block by itself, on all cores.
func (t *eventTable) sort(ctx context.Context) error {
	if t.sorted {
		return nil
	}
	work := make(chan *eventBlock)
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			var s blockSorter
			for b := range work {
				s.sort(b)
			}
		})
	}
	for _, b := range t.blocks {
		if ctx.Err() == nil && !b.sorted {
			work <- b
		}
	}
	close(work)
	wg.Wait()
	return ctx.Err()
}

// walk visits all events by time, those at one time in order of arrival, until visit says no: runs lo to hi−1 of a
// block. Blocks must be sorted.
func (t *eventTable) walk(visit func(b *eventBlock, lo, hi int) bool) {
	h := merger{blocks: t.blocks, next: make([]int, len(t.blocks))}
	for i := range t.blocks {
		h.heap = append(h.heap, i)
	}
	slices.SortFunc(h.heap, func(a, b int) int { // a sorted slice is a heap
		return cmp.Or(cmp.Compare(t.blocks[a].time[0], t.blocks[b].time[0]), a-b)
	})
	for len(h.heap) > 0 {
		i := h.heap[0]
		b := t.blocks[i]
		until, rival := h.second()
		k := h.next[i]
		if n := len(b.time); rival < 0 || b.time[n-1] < until {
			k = n // as it is where rows came in the order of time
		}
		for ; k < len(b.time) && (b.time[k] < until || b.time[k] == until && i < rival); k++ {
		}
		if !visit(b, h.next[i], k) {
			return
		}
		h.next[i] = k
		if k == len(b.time) {
			last := len(h.heap) - 1
			h.heap[0] = h.heap[last]
			h.heap = h.heap[:last]
		}
		h.sink()
	}
}

// edges appends the ids of a run of events.
func (b *eventBlock) edges(ids []event.Edge, lo, hi int) []event.Edge {
	if b.edge != nil {
		return append(ids, b.edge[lo:hi]...)
	}
	for k := lo; k < hi; k++ {
		ids = append(ids, b.first+event.Edge(k))
	}
	return ids
}

// merger is a heap of blocks by their next event.
type merger struct {
	blocks []*eventBlock
	next   []int // event of each block
	heap   []int
}

// less orders by time, then by arrival.
func (h *merger) less(a, b int) bool {
	ta, tb := h.blocks[a].time[h.next[a]], h.blocks[b].time[h.next[b]]
	return ta < tb || ta == tb && a < b
}

// second is the time and block of the event after which the first block must give way; block −1 if there is none.
func (h *merger) second() (event.Time, int) {
	if len(h.heap) == 1 {
		return 0, -1
	}
	i := h.heap[1]
	if len(h.heap) > 2 && h.less(h.heap[2], i) {
		i = h.heap[2]
	}
	return h.blocks[i].time[h.next[i]], i
}

func (h *merger) sink() {
	for i := 0; ; {
		child := 2*i + 1
		if child >= len(h.heap) {
			return
		}
		if child+1 < len(h.heap) && h.less(h.heap[child+1], h.heap[child]) {
			child++
		}
		if !h.less(h.heap[child], h.heap[i]) {
			return
		}
		h.heap[i], h.heap[child] = h.heap[child], h.heap[i]
		i = child
	}
}

// blockSorter sorts blocks, one after another.
type blockSorter struct {
	order []keyed
	ids   []int32
	label []float32
	kind  []event.Kind
}

// keyed is a time and the place it had.
type keyed struct {
	time event.Time
	at   int32
}

// sort orders a block by time and arrival, and writes down the edge ids.
func (s *blockSorter) sort(b *eventBlock) {
	s.order = s.order[:0]
	for i, t := range b.time {
		s.order = append(s.order, keyed{t, int32(i)})
	}
	slices.SortFunc(s.order, func(x, y keyed) int {
		switch {
		case x.time < y.time:
			return -1
		case x.time > y.time:
			return 1
		}
		return int(x.at - y.at)
	})
	s.ids = reorder(b.src, s.ids, s.order)
	s.ids = reorder(b.dst, s.ids, s.order)
	s.label = reorder(b.label, s.label, s.order)
	s.kind = reorder(b.kind, s.kind, s.order)
	b.edge = make([]event.Edge, len(b.time))
	for i, k := range s.order {
		b.time[i] = k.time
		b.edge[i] = b.first + k.at
	}
	b.sorted = true
}

// reorder puts a column, if there is one, in order, by way of a spare one.
func reorder[T any](col, spare []T, order []keyed) []T {
	spare = append(spare[:0], col...)
	for i := range col {
		col[i] = spare[order[i].at]
	}
	return spare
}
