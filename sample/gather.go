package sample

import (
	"runtime"

	"github.com/dygmamba/dygmamba/index"
)

// Gather fills b with what the plan asks for about the queries, on all processors. See Gatherer.
func Gather(past index.View, p Plan, qs []Query, b *Batch) { Gatherer{}.Gather(past, p, qs, b) }

// Gatherer gathers on a number of threads. What it finds does not depend on how many they are.
type Gatherer struct {
	Threads int             // 0: as many as Go may use
	Done    <-chan struct{} // closed when nobody wants the batch any more: it may then be left unfinished; nil: never
}

// Gather fills b with what the plan asks for about the queries. A query at t is answered from what happened strictly
// before t. Nodes that never occurred have an empty history. Nothing is allocated once b has held a batch of this size.
//
// A Picker draws in the order of the reference programs: draw by draw in the order of the plan, row by row, for the
// positives and then for the negatives, or the other way round with NegativesFirst.
func (g Gatherer) Gather(past index.View, p Plan, qs []Query, b *Batch) {
	g.Rows(past, p, qs, b)
	b.GatherExtras(g.Done)
}

// Rows is Gather without the extras of the plan, which GatherExtras adds: another batch may be begun meanwhile.
func (g Gatherer) Rows(past index.View, p Plan, qs []Query, b *Batch) {
	if p.ByCall {
		g.byCall(past, p, qs, b)
		return
	}
	if b.work == nil {
		b.work = new(work)
	}
	b.Calls = b.Calls[:0]
	w := b.work
	w.begin(past, p, qs, b, g.threads())
	if p.LooksBack() { // otherwise past may be nil
		w.parallel(len(qs), (*worker).lookRoots)
		switch {
		case p.Picker == nil:
			w.recent()
		case p.Alone:
			w.pickedAlone()
		default:
			w.picked()
		}
	}
	w.states()
	if p.Distinct {
		w.distinct()
	}
}

// GatherExtras adds what the plan's extras find to a batch that has all else. Extras that keep state go on with it, so
// batches come in the order in which they are asked about. Done is that of Gatherer.
func (b *Batch) GatherExtras(done <-chan struct{}) {
	for _, c := range b.Calls {
		c.GatherExtras(done)
	}
	if len(b.Calls) == 0 {
		b.work.extras(done)
		b.work.end()
	}
}

// byCall gathers positives and negatives apart. Several negatives of a positive are as many calls.
func (g Gatherer) byCall(past index.View, p Plan, qs []Query, b *Batch) {
	p.ByCall = false
	b.Queries = append(b.Queries[:0], qs...)
	b.Rows, b.Gaps, b.Extras, b.States = b.Rows[:0], b.Gaps[:0], b.Extras[:0], [2][]int32{}
	b.Calls = b.Calls[:0]
	for lo, hi := 0, b.positives(); ; lo, hi = hi, min(len(qs), hi+max(1, b.positives())) {
		if lo == len(qs) && len(b.Calls) > 0 { // no queries are one call too
			return
		}
		if len(b.Calls) == len(b.spare) {
			b.spare = append(b.spare, new(Batch))
		}
		c := b.spare[len(b.Calls)]
		b.Calls = append(b.Calls, c)
		c.Positives = max(0, min(hi, b.Positives)-lo)
		c.Events = b.Events.Slice(0, min(c.Positives, b.Events.Len()))
		g.Rows(past, p, qs[lo:hi], c)
	}
}

// positives is the number of queries of the first call: all of them where there are no others.
func (b *Batch) positives() int {
	if b.Positives > 0 && b.Positives < len(b.Queries) {
		return b.Positives
	}
	return len(b.Queries)
}

func (g Gatherer) threads() int {
	if g.Threads > 0 {
		return g.Threads
	}
	return runtime.GOMAXPROCS(0)
}

// recent fills all draws with the most recent neighbours: those of the queries' own nodes together, then hop by hop.
func (w *work) recent() {
	n := len(w.batch.Queries)
	for d := range w.draws {
		if w.draws[d].isRoot() {
			w.resize(d, w.draws[d].used)
		}
	}
	w.parallel(n, (*worker).fillRoots)
	for d := range w.draws {
		if !w.draws[d].isRoot() {
			w.resize(d, nil)
			w.lookAndFill(d, 0, n)
		}
	}
}

// picked lets the plan's Picker choose for all rows. It has one generator, so this is done in one fixed order.
func (w *work) picked() {
	n, half := len(w.batch.Queries), w.batch.positives()
	w.resizePicks()
	parts := [2][2]int{{0, half}, {half, n}}
	if w.plan.NegativesFirst {
		parts[0], parts[1] = parts[1], parts[0]
	}
	for _, part := range parts {
		for d := range w.draws {
			w.pick(d, part[0], part[1])
		}
	}
	if w.plan.Counts != NoCounts {
		w.parallel(n, (*worker).count)
	}
}

// pickedAlone lets the plan's Picker begin again for every query.
func (w *work) pickedAlone() {
	w.resizePicks()
	for i := range w.batch.Queries {
		w.plan.Picker.Reset()
		for d := range w.draws {
			w.pick(d, i, i+1)
		}
	}
	if w.plan.Counts != NoCounts {
		w.parallel(len(w.batch.Queries), (*worker).count)
	}
}

// resizePicks makes room for what a Picker chooses.
func (w *work) resizePicks() {
	for d := range w.draws {
		w.draws[d].expect()
		w.resize(d, w.draws[d].used)
		w.draws[d].picks = resize(w.draws[d].picks, w.draws[d].rows*w.draws[d].most)
	}
}

// expect makes room for as many neighbours as a Picker may choose, which with replacement are more than there are.
func (s *drawn) expect() {
	if !s.isRoot() {
		return
	}
	for i, n := range s.used {
		if n > 0 {
			s.used[i] = int32(s.most)
		}
	}
}

// pick chooses and fills the rows of a draw that belong to the queries lo to hi−1.
func (w *work) pick(d, lo, hi int) {
	s := &w.draws[d]
	each := s.rows / max(1, len(w.batch.Queries))
	lo, hi = lo*each, hi*each
	w.draw, w.first = d, lo
	if !s.isRoot() {
		w.parallel(hi-lo, (*worker).lookHop)
	}
	p, apart := w.plan.Picker.(chooser)
	if apart {
		s.numbers = resize(s.numbers, s.rows*s.most)
	}
	for r := lo; r < hi; r++ {
		s.used[r] = 0
		h := s.past[r]
		if h.Len() == 0 {
			continue
		}
		n, _ := w.root(d, r)
		from, to := r*s.most, (r+1)*s.most
		if apart {
			p.draw(n, h, s.numbers[from:to])
			s.used[r] = int32(s.most)
		} else {
			s.used[r] = int32(w.plan.Picker.Pick(n, h, s.picks[from:to]))
		}
	}
	if apart {
		w.parallel(hi-lo, (*worker).chooseRow)
	}
	w.parallel(hi-lo, (*worker).fillRow)
}

// chooseRow lets the Picker choose for a row, with the numbers that were drawn for it.
func (k *worker) chooseRow(i int) {
	w := k.work
	s, r := &w.draws[w.draw], w.first+i
	if s.used[r] > 0 {
		n, _ := w.root(w.draw, r)
		from, to := r*s.most, (r+1)*s.most
		k.sums = w.plan.Picker.(chooser).choose(n, s.past[r], s.numbers[from:to], s.picks[from:to], k.sums)
	}
}

// lookAndFill does the rows of a hop that belong to the queries lo to hi−1.
func (w *work) lookAndFill(d, lo, hi int) {
	each := w.draws[d].rows / max(1, len(w.batch.Queries))
	w.draw, w.first = d, lo*each
	w.parallel((hi-lo)*each, (*worker).lookAndFillHop)
}

// lookRoots finds the histories of both nodes of query i, and the pair's gaps.
func (k *worker) lookRoots(i int) {
	w, q := k.work, k.work.batch.Queries[i]
	src, dst := &w.roots[Src], &w.roots[Dst]
	if j, ok := k.repeats(i); ok {
		(*src)[i] = (*src)[j]
	} else {
		(*src)[i] = w.past.Before(q.Src, q.Time)
	}
	(*dst)[i] = w.past.Before(q.Dst, q.Time)
	if n := w.plan.PairGaps; n > 0 {
		gaps(w.batch.Gaps[i*n:(i+1)*n], q, (*src)[i], (*dst)[i])
	}
	for d := range w.draws {
		if s := &w.draws[d]; s.isRoot() {
			s.used[i] = int32(min(s.most, s.past[i].Len()))
		}
	}
}

// fillRoots writes the rows of query i's own nodes, and what is counted in them.
func (k *worker) fillRoots(i int) {
	w, q := k.work, k.work.batch.Queries[i]
	j, again := k.repeats(i)
	for d := range w.draws {
		s := &w.draws[d]
		switch {
		case s.draw.Of == Src && again:
			w.batch.Rows[d].copy(i, j)
			s.copyTimes(i, j, w.batch.Rows[d].Len)
		case s.draw.Of == Src:
			w.fill(d, i, q.Src, q.Time)
		case s.draw.Of == Dst:
			w.fill(d, i, q.Dst, q.Time)
		}
	}
	if w.plan.Counts != NoCounts { // while the rows are in the nearest cache
		k.count(i)
	}
}

// lookHop finds the history of a row's root, which is a position of an earlier draw.
func (k *worker) lookHop(i int) {
	w := k.work
	r := w.first + i
	n, t := w.root(w.draw, r)
	s := &w.draws[w.draw]
	s.past[r] = index.History{}
	if n != 0 {
		s.past[r] = w.past.Before(n, t)
	}
	s.used[r] = int32(min(s.most, s.past[r].Len()))
}

func (k *worker) fillRow(i int) {
	w := k.work
	n, t := w.root(w.draw, w.first+i)
	w.fill(w.draw, w.first+i, n, t)
}

func (k *worker) lookAndFillHop(i int) {
	k.lookHop(i)
	k.fillRow(i)
}

// repeats finds the query this worker handled last, if it has the source and time of query i: a positive and its
// negative, or a source that does many things at once.
func (k *worker) repeats(i int) (last int, ok bool) {
	last, k.last = k.last, i
	if last < 0 {
		return last, false
	}
	a, b := k.work.batch.Queries[last], k.work.batch.Queries[i]
	return last, a.Src == b.Src && a.Time == b.Time
}
