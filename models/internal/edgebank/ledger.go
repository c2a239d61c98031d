package edgebank

import (
	"math"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/internal/pairs"
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
