package sample

import (
	"sync"
	"sync/atomic"

	"github.com/dygmamba/dygmamba/index"
)

// work is one Gather under way. It stays with its batch, so that the next one finds all memory in place.
type work struct {
	past     index.View
	plan     Plan
	batch    *Batch
	most     int // neighbours that a row can hold
	pairs    int // queries i and i+pairs are done together; 0: each alone
	src, dst side

	workers []*worker
	task    func(*worker, int)
	next    atomic.Int64 // the first query nobody has taken yet
	running sync.WaitGroup
}

// worker is one thread of it.
type worker struct {
	work  *work
	last  int // the query it handled last, −1 for none
	tally tally
	run   func() // made once, so that starting a goroutine allocates nothing
}

// block is the number of queries that a worker takes at a time.
const block = 16

// begin sets up for the queries. It keeps what the last Gather allocated.
func (w *work) begin(past index.View, p Plan, qs []Query, b *Batch, threads int) {
	w.past, w.plan, w.batch = past, p, b
	b.Queries = append(b.Queries[:0], qs...)
	b.Gaps = resize(b.Gaps, len(qs)*max(0, p.PairGaps))
	w.most = max(0, p.Neighbors)
	if p.RowLen > 0 {
		w.most = min(w.most, p.RowLen-p.targets())
	}
	w.pairs = 0
	if half := w.positives(); 2*half == len(qs) {
		w.pairs = half
	}
	for _, s := range []*side{&w.src, &w.dst} {
		s.past = resize(s.past, len(qs))
		s.used = resize(s.used, len(qs))
	}
	for len(w.workers) < threads {
		k := &worker{work: w}
		k.run = func() { k.loop(); w.running.Done() }
		w.workers = append(w.workers, k)
	}
	w.workers = w.workers[:threads]
}

// end lets go of the past.
func (w *work) end() {
	clear(w.src.past)
	clear(w.dst.past)
	w.past, w.plan.Picker, w.batch, w.task = nil, nil, nil, nil
}

// positives is the number of queries before the first negative.
func (w *work) positives() int {
	n := len(w.batch.Queries)
	if len(w.batch.Labels) != n {
		return n
	}
	for i, y := range w.batch.Labels {
		if y == 0 {
			return i
		}
	}
	return n
}

// parallel does the task for every query. Which worker gets which is left to chance and shows nowhere: a query's results go to its own
// places only.
func (w *work) parallel(task func(*worker, int)) {
	w.task = task
	w.next.Store(0)
	blocks := (w.units() + block - 1) / block
	for _, k := range w.workers[1:max(1, min(len(w.workers), blocks))] {
		w.running.Add(1)
		go k.run()
	}
	w.workers[0].loop()
	w.running.Wait()
}

// units is the number of queries, or of pairs of them if they are done together.
func (w *work) units() int {
	if w.pairs > 0 {
		return w.pairs
	}
	return len(w.batch.Queries)
}

// loop takes blocks of queries until none are left.
func (k *worker) loop() {
	w := k.work
	k.last = -1
	for {
		hi := int(w.next.Add(block))
		lo := hi - block
		if lo >= w.units() {
			return
		}
		for i := lo; i < min(hi, w.units()); i++ {
			w.task(k, i)
			if w.pairs > 0 {
				w.task(k, i+w.pairs)
			}
		}
	}
}
