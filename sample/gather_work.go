package sample

import (
	"math/bits"
	"sync"
	"sync/atomic"

	"github.com/dygmamba/dygmamba/index"
)

// work is one Gather under way. It stays with its batch, so that the next one finds all memory in place.
type work struct {
	past    index.View
	plan    Plan
	batch   *Batch
	pairs   int                // queries i and i+pairs are done together; 0: each alone
	roots   [2][]index.History // [n] of sources and of destinations: everything before the query
	draws   []drawn            // one for each of the plan's
	counted [2]int             // the draws that are counted in
	draw    int                // the one that is worked on
	first   int                // of its rows

	slots []int32         // [nodes] where a node stands among the distinct ones; valid where round is now
	round []int32         // [nodes]
	far   map[int32]int32 // the same for nodes that the past does not know
	now   int32

	parts     []ownedPart         // of the batch, one for each extra of the plan
	gathering Gathering           // as they see it
	extra     func(thread, i int) // what one of them does in parallel

	workers []*worker
	task    func(*worker, int)
	total   int          // things to do
	each    int64        // that a worker takes at a time
	next    atomic.Int64 // the first that nobody has taken yet
	running sync.WaitGroup

	panicked atomic.Pointer[any]
}

// worker is one thread of it.
type worker struct {
	work   *work
	last   int // the query it handled last, −1 for none
	tally  tally
	number int       // of the thread
	sums   []float64 // for a chooser
	run    func()    // made once, so that starting a goroutine allocates nothing
}

// block is the number of things that a worker takes at a time; where there are very many, more, so that workers do not
// wait for each other to take them.
const block = 16

func (w *work) block() int64 { return int64(max(block, min(256, w.units()/(8*len(w.workers))))) }

// begin sets up for the queries. It keeps what the last Gather allocated.
func (w *work) begin(past index.View, p Plan, qs []Query, b *Batch, threads int) {
	w.past, w.plan, w.batch = past, p, b
	b.Queries = append(b.Queries[:0], qs...)
	b.Gaps = resize(b.Gaps, len(qs)*max(0, p.PairGaps))
	b.Distinct.Nodes, b.Distinct.Src, b.Distinct.Dst = b.Distinct.Nodes[:0], b.Distinct.Src[:0], b.Distinct.Dst[:0]
	w.pairs = 0
	if half := b.positives(); 2*half == len(qs) {
		w.pairs = half
	}
	for i := range w.roots {
		w.roots[i] = resize(w.roots[i], len(qs))
	}
	w.plot(len(qs))
	for len(w.workers) < threads {
		k := &worker{work: w, number: len(w.workers)}
		k.run = func() {
			defer w.running.Done()
			defer w.caught()
			k.loop()
		}
		w.workers = append(w.workers, k)
	}
	w.workers = w.workers[:threads]
}

// plot lays out the draws of the plan for n queries.
func (w *work) plot(n int) {
	p, b := &w.plan, w.batch
	w.draws, b.Rows = reuse(w.draws, len(p.Draws)), reuse(b.Rows, len(p.Draws))
	w.counted = [2]int{-1, -1}
	for d := range w.draws {
		s := &w.draws[d]
		s.draw, s.goes = p.Draws[d], false
		s.most = max(0, s.draw.Neighbors)
		if s.draw.RowLen > 0 {
			s.most = min(s.most, s.draw.RowLen-s.draw.targets())
		}
		if !s.isRoot() {
			w.draws[s.draw.Of-hops].goes = true
			continue
		}
		s.rows, s.past = n, w.roots[s.draw.Of]
		s.used = resize(s.used, n)
		if w.counted[s.draw.Of] < 0 {
			w.counted[s.draw.Of] = d
		}
	}
}

// reuse is s with n elements, which keep the memory they had when s was that long before.
func reuse[T any](s []T, n int) []T {
	if more := n - cap(s); more > 0 {
		s = append(s[:cap(s)], make([]T, more)...)
	}
	return s[:n]
}

// end lets go of the past.
func (w *work) end() {
	for i := range w.roots {
		clear(w.roots[i])
	}
	for d := range w.draws {
		clear(w.draws[d].own)
	}
	w.past, w.plan.Picker, w.plan.Timeline, w.batch, w.task = nil, nil, nil, nil, nil
}

// parallel does the task for each of n things: queries, or rows of a draw. Which worker gets which is left to chance
// and shows nowhere: the results of each go to places of their own.
func (w *work) parallel(n int, task func(*worker, int)) {
	w.task, w.total = task, n
	w.next.Store(0)
	w.each = w.block()
	blocks := (w.units() + block - 1) / block
	for _, k := range w.workers[1:max(1, min(len(w.workers), blocks))] {
		w.running.Add(1)
		go k.run()
	}
	func() {
		defer w.caught()
		w.workers[0].loop()
	}()
	w.running.Wait()
	if p := w.panicked.Swap(nil); p != nil {
		panic(*p)
	}
}

// caught keeps a panic of a worker, for the goroutine that gathers: where a file is damaged, it can tell its caller.
func (w *work) caught() {
	if p := recover(); p != nil {
		kept := new(any) // and not &p, which would be on the heap also where there is no panic
		*kept = p
		w.panicked.CompareAndSwap(nil, kept)
		w.next.Store(int64(w.total)) // nobody begins another block
	}
}

// paired says whether things i and i+pairs are done together, as a positive and its negative are: they share their
// source.
func (w *work) paired() bool { return w.pairs > 0 && w.total == 2*w.pairs }

// units is the number of things, or of pairs of them if they are done together.
func (w *work) units() int {
	if w.paired() {
		return w.pairs
	}
	return w.total
}

// loop takes blocks of things until none are left.
func (k *worker) loop() {
	w := k.work
	k.last = -1
	for {
		hi := int(w.next.Add(w.each))
		lo := hi - int(w.each)
		if lo >= w.units() {
			return
		}
		for i := lo; i < min(hi, w.units()); i++ {
			w.task(k, i)
			if w.paired() {
				w.task(k, i+w.pairs)
			}
		}
	}
}

// distinct numbers the nodes of the batch in the order in which they come: the queries' own, then row by row.
func (w *work) distinct() {
	b := w.batch
	d := &b.Distinct
	if w.now++; w.now < 0 {
		clear(w.round)
		w.now = 1
	}
	known := 0
	if w.past != nil {
		known = w.past.NumNodes()
	}
	if known > len(w.round) {
		w.round = append(w.round, make([]int32, known-len(w.round))...)
		w.slots = append(w.slots, make([]int32, known-len(w.slots))...)
	}
	if w.far == nil {
		w.far = map[int32]int32{}
	}
	clear(w.far)
	d.Src, d.Dst = resize(d.Src, len(b.Queries)), resize(d.Dst, len(b.Queries))
	for i, q := range b.Queries {
		d.Src[i], d.Dst[i] = w.slot(q.Src), w.slot(q.Dst)
	}
	for i := range b.Rows {
		r := &b.Rows[i]
		r.Slot = resize(r.Slot, len(r.Node))
		for j, n := range r.Node {
			r.Slot[j] = w.slot(n)
		}
	}
	for multiple := distinctMultiple(len(d.Nodes)); len(d.Nodes)%multiple != 0; {
		d.Nodes = append(d.Nodes, 0)
	}
}

// distinctMultiple is what a number of distinct nodes is rounded up to a multiple of: many of them to one of a 32nd
// of the power of two below.
func distinctMultiple(n int) int {
	if n < manyDistinct {
		return DistinctMultiple
	}
	return 1 << bits.Len(uint(n)) >> 6
}

// slot is where a node stands among the distinct ones.
func (w *work) slot(n int32) int32 {
	d := &w.batch.Distinct
	if n < 0 || int(n) >= len(w.round) {
		at, met := w.far[n]
		if !met {
			at = int32(len(d.Nodes))
			w.far[n] = at
			d.Nodes = append(d.Nodes, n)
		}
		return at
	}
	if w.round[n] != w.now {
		w.round[n], w.slots[n] = w.now, int32(len(d.Nodes))
		d.Nodes = append(d.Nodes, n)
	}
	return w.slots[n]
}
