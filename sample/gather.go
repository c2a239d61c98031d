package sample

import (
	"runtime"

	"github.com/dygmamba/dygmamba/index"
)

// Gather fills b with what the plan asks for about the queries, on all processors. See Gatherer.
func Gather(past index.View, p Plan, qs []Query, b *Batch) { Gatherer{}.Gather(past, p, qs, b) }

// Gatherer gathers on a number of threads. What it finds does not depend on how many they are.
type Gatherer struct {
	Threads int // 0: as many as Go may use
}

// Gather fills b with what the plan asks for about the queries. A query at t is answered from what happened strictly before t.
// Nodes that never occurred have an empty history. Nothing is allocated once b has held a batch of this size.
//
// A Picker draws row by row in the order of the reference program: sources, then destinations, of the positives and then of the negatives,
// as b.Labels tells them apart.
func (g Gatherer) Gather(past index.View, p Plan, qs []Query, b *Batch) {
	if b.work == nil {
		b.work = new(work)
	}
	w := b.work
	w.begin(past, p, qs, b, g.threads())
	w.parallel((*worker).look)
	if p.Picker != nil {
		w.pick()
	}
	b.Src.resize(&w.src, p)
	b.Dst.resize(&w.dst, p)
	w.parallel((*worker).fill)
	w.end()
}

func (g Gatherer) threads() int {
	if g.Threads > 0 {
		return g.Threads
	}
	return runtime.GOMAXPROCS(0)
}

// look finds the histories of both nodes of query i, and the pair's gaps.
func (k *worker) look(i int) {
	w, q := k.work, k.work.batch.Queries[i]
	if j, ok := k.repeats(i); ok {
		w.src.past[i] = w.src.past[j]
	} else {
		w.src.past[i] = w.past.Before(q.Src, q.Time)
	}
	w.dst.past[i] = w.past.Before(q.Dst, q.Time)
	if n := w.plan.PairGaps; n > 0 {
		gaps(w.batch.Gaps[i*n:(i+1)*n], q, w.src.past[i], w.dst.past[i])
	}
	w.src.used[i] = int32(min(w.most, w.src.past[i].Len()))
	w.dst.used[i] = int32(min(w.most, w.dst.past[i].Len()))
}

// pick lets the plan's Picker choose for all rows. It has one generator, so this is done in one fixed order.
func (w *work) pick() {
	n, half := len(w.batch.Queries), w.positives()
	w.src.picks = resize(w.src.picks, n*w.most)
	w.dst.picks = resize(w.dst.picks, n*w.most)
	for _, part := range [2][2]int{{0, half}, {half, n}} {
		for i := part[0]; i < part[1]; i++ {
			w.src.pick(i, w.batch.Queries[i].Src, w.most, w.plan.Picker)
		}
		for i := part[0]; i < part[1]; i++ {
			w.dst.pick(i, w.batch.Queries[i].Dst, w.most, w.plan.Picker)
		}
	}
}

// fill writes both rows of query i, and what is counted in them.
func (k *worker) fill(i int) {
	w, b := k.work, k.work.batch
	q := b.Queries[i]
	if j, ok := k.repeats(i); ok && w.plan.Picker == nil {
		b.Src.copy(i, j)
	} else {
		b.Src.fill(i, q.Src, q.Time, &w.src, &w.plan)
	}
	b.Dst.fill(i, q.Dst, q.Time, &w.dst, &w.plan)
	if w.plan.Counts != NoCounts {
		k.count(i)
	}
}

// repeats finds the query this worker handled last, if it has the source and time of query i: a positive and its negative, or
// a source that does many things at once.
func (k *worker) repeats(i int) (last int, ok bool) {
	last, k.last = k.last, i
	if last < 0 {
		return last, false
	}
	a, b := k.work.batch.Queries[last], k.work.batch.Queries[i]
	return last, a.Src == b.Src && a.Time == b.Time
}
