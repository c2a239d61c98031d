package edgebank

import (
	"context"
	"math"
	"slices"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/internal/await"
	"github.com/dygmamba/dygmamba/internal/pairs"
	"github.com/dygmamba/dygmamba/sample"
)

// ledger is what banks remember. Those of one evaluation share one.
type ledger struct {
	pairs      pairs.Table
	met        pairs.Column[meetings] // by the pair's number
	events     int
	latest     event.Time // of all meetings
	keepsTimes bool
	times      pairs.Column[event.Time] // of all events, ascending, where a bank has a window of fixed proportion
	intervals  intervals
	version    int      // one more with every change
	touched    int      // of no meaning: what ahead read
	journal    *journal // nil: nobody will rewind

	asked   []uint64 // keys that were looked up last,
	found   []int32  // their numbers,
	foundAt int      // and the version that has them
}

// meetings is what is remembered of a pair.
type meetings struct {
	first, last event.Time
	count       int
}

// interval is the mean time between two meetings, 0 after a single one.
func (m *meetings) interval() float64 {
	if m.count < 2 {
		return 0
	}
	return (m.last - m.first) / float64(m.count-1)
}

func newLedger(keepsTimes bool) *ledger { return &ledger{keepsTimes: keepsTimes, latest: math.Inf(-1)} }

// find is the numbers of pairs, None for those that never met, until the next find. Banks that share the ledger ask
// about the same pairs one after another.
func (l *ledger) find(keys []uint64) []int32 {
	if l.foundAt == l.version && slices.Equal(l.asked, keys) {
		return l.found
	}
	l.asked, l.found, l.foundAt = append(l.asked[:0], keys...), resize(l.found, len(keys)), l.version
	l.pairs.Find(keys, l.found)
	l.ahead(l.found)
	return l.found
}

// remember takes events. Numbers has room for those of their pairs.
func (l *ledger) remember(keys []uint64, numbers []int32, times []event.Time) {
	l.pairs.Add(keys, numbers)
	l.ahead(numbers)
	for i, n := range numbers {
		at := times[i]
		if int(n) == l.met.Len() {
			l.met.Append(meetings{first: at, last: at})
		}
		m := l.met.At(int(n))
		l.journal.note(n, m)
		old := m.interval()
		m.first, m.last, m.count = min(m.first, at), max(m.last, at), m.count+1
		l.intervals.replace(old, m.interval())
		l.latest = max(l.latest, at)
		if l.keepsTimes {
			l.insert(at)
		}
	}
	l.events += len(keys)
	l.version++
}

// bulk is how many events are worth numbering their pairs all at once.
const bulk = 1 << 16

// CommitAll remembers events. Where these are the first and many, their pairs are numbered on all processors, in parts
// that fit the caches, and each is remembered once and not event by event.
func (b *Bank) CommitAll(ctx context.Context, events event.Span) error {
	l := b.ledger
	if l.events == 0 && l.journal == nil && events.Len() >= bulk && slices.IsSorted(events.Time) {
		first, err := await.Do(ctx, func() (*ledger, error) { return newLedger(l.keepsTimes).begin(events), nil })
		if err != nil {
			return err
		}
		first.version = l.version + 1
		*l = *first
		return nil
	}
	const some = 1 << 12
	for part := range events.Batches(some) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := b.Commit(&sample.Batch{Events: part}); err != nil {
			return err
		}
	}
	return nil
}

// begin is a new ledger that has learned of events in the order of time.
func (l *ledger) begin(events event.Span) *ledger {
	n := pairs.Number(events.Src, events.Dst)
	l.pairs = *n.Table()
	l.met.Extend(n.Len())
	for i, number := range n.Of {
		m := l.met.At(int(number))
		m.last = events.Time[i]
		m.count++
	}
	for number, first := range n.First {
		m := l.met.At(number)
		m.first = events.Time[first]
		l.intervals.replace(0, m.interval())
	}
	l.events, l.latest = events.Len(), events.Time[events.Len()-1]
	if l.keepsTimes {
		for _, at := range events.Time {
			l.times.Append(at)
		}
	}
	return l
}

// ahead reads what is remembered of pairs before each is needed, so that the waits for memory overlap.
func (l *ledger) ahead(numbers []int32) {
	for _, n := range numbers {
		if int(n) < l.met.Len() && int(n) >= 0 {
			l.touched += l.met.At(int(n)).count
		}
	}
}

// insert puts a time in its place: at the end, or before those that a late event comes before.
func (l *ledger) insert(at event.Time) {
	l.times.Append(at)
	for i := l.times.Len() - 1; i > 0 && *l.times.At(i - 1) > at; i-- {
		l.journal.late(&l.times, i-1)
		*l.times.At(i), *l.times.At(i - 1) = *l.times.At(i - 1), at
	}
}

// repeatInterval is the mean time between two meetings of a pair, averaged over pairs in order of first meeting; pairs
// that met once count as 0. It looks at all pairs.
func (l *ledger) repeatInterval() float64 {
	sum := 0.0
	for i := range l.met.Len() {
		sum += l.met.At(i).interval()
	}
	return sum / float64(l.met.Len())
}

// intervals is the sum of all pairs' mean intervals, kept up to date. As its definition adds the means one after the
// other in float64, it is known within bounds: far closer than times lie apart, so that hardly ever anybody has to add
// all of them again.
type intervals struct {
	sum, rest float64 // the sum to twice the digits: rest is what sum has no room for
	broken    int     // means that are no whole numbers
}

// replace puts one mean in the place of another.
func (s *intervals) replace(old, mean float64) {
	s.add(-old)
	s.add(mean)
	if old != math.Floor(old) {
		s.broken--
	}
	if mean != math.Floor(mean) {
		s.broken++
	}
}

// add adds in twice the digits (Knuth's TwoSum).
func (s *intervals) add(x float64) {
	sum := s.sum + x
	back := sum - s.sum
	s.rest += (s.sum - (sum - back)) + (x - back)
	s.sum = sum
}

// window bounds latest − sum/n, where the sum of n means is rounded after each of them.
func (s *intervals) window(latest event.Time, n int) bounds {
	sum := s.sum + s.rest
	if s.broken == 0 && sum < 1<<53 { // no sum of these was ever rounded
		return exactly(latest - math.Round(sum)/float64(n))
	}
	const round = 1.0 / (1 << 52) // twice what rounding may add to 1
	mean := sum / float64(n)
	off := mean*float64(n)*round + 4*round*(math.Abs(latest)+mean)
	return bounds{latest - mean - off, latest - mean + off}
}

// journal is what rewinding needs: how the ledger was, and what was changed since.
type journal struct {
	pairs, events, times int
	latest               event.Time
	intervals            intervals
	changed              pairs.Column[change] // of pairs that were there, oldest first
	sorted               []event.Time         // all times, once a late event changed their order; otherwise nil
	outer                *journal             // of a mark before this one
}

type change struct {
	number int32
	was    meetings
}

// note keeps what a pair was before it changes. A nil journal keeps nothing.
func (j *journal) note(number int32, m *meetings) {
	if j != nil && int(number) < j.pairs {
		j.changed.Append(change{number, *m})
	}
}

// late keeps the times before entry i of them changes, or entry i+1.
func (j *journal) late(times *pairs.Column[event.Time], i int) {
	if j == nil || j.sorted != nil || i >= j.times {
		return
	}
	j.sorted = make([]event.Time, j.times)
	for k := range j.sorted {
		j.sorted[k] = *times.At(k)
	}
}

// Mark makes the bank ready to go back to what it remembers now, once, whatever happens until then. Marks nest: the
// latest is rewound first.
func (b *Bank) Mark() (rewind func()) {
	l := b.ledger
	l.journal = &journal{pairs: l.met.Len(), events: l.events, times: l.times.Len(), latest: l.latest,
		intervals: l.intervals, outer: l.journal}
	return func() {
		l.rewind()
		b.ledger, b.seen = l, 0
	}
}

// rewind undoes what happened since the journal began.
func (l *ledger) rewind() {
	j := l.journal
	l.journal = j.outer
	for i := j.changed.Len() - 1; i >= 0; i-- {
		c := j.changed.At(i)
		*l.met.At(int(c.number)) = c.was
	}
	l.pairs.Truncate(j.pairs)
	l.met.Truncate(j.pairs)
	l.times.Truncate(j.times)
	for i, at := range j.sorted {
		*l.times.At(i) = at
	}
	l.events, l.latest, l.intervals = j.events, j.latest, j.intervals
	l.version++
}
