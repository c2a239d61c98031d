package audit

import (
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/internal/pairs"
)

// following is how often destinations came after the latest two partners of sources.
type following struct {
	all    event.Span
	done   int
	latest []partners  // of each node
	after  pairs.Table // contexts
	pairs  pairs.Table // of a context's number and a destination, 0: anyone
	counts pairs.Column[int32]
}

// partners are those that a source had last. −1: nobody, 0: whoever it was.
type partners struct{ before, last event.Node }

func newFollowing(log *event.Log) *following {
	f := &following{all: log.All(), latest: make([]partners, log.NumNodes())}
	for n := range f.latest {
		f.latest[n] = partners{-1, -1}
	}
	return f
}

func (f *following) had(n event.Node) partners {
	if int(n) < len(f.latest) {
		return f.latest[n]
	}
	return partners{-1, -1}
}

// contexts are the numbers of what is looked at for a source: anything, its last partner, its latest two.
func (f *following) contexts(n event.Node) (numbers [3]int32) {
	had := f.had(n)
	f.after.Add([]uint64{pairs.Key(0, 0), pairs.Key(0, had.last), pairs.Key(had.before, had.last)}, numbers[:])
	return numbers
}

// count is how often a destination came after a context.
func (f *following) count(c int32, to event.Node) int32 {
	var number [1]int32
	if f.pairs.Find([]uint64{pairs.Key(c, to)}, number[:]); number[0] == pairs.None {
		return 0
	}
	return *f.counts.At(int(number[0]))
}

// advance counts the events before a time. Those of one instant do not see each other.
func (f *following) advance(t event.Time) {
	for f.done < f.all.Len() && f.all.Time[f.done] < t {
		end := f.done
		for ; end < f.all.Len() && f.all.Time[end] == f.all.Time[f.done]; end++ {
			f.note(f.all.Src[end], f.all.Dst[end])
		}
		for ; f.done < end; f.done++ {
			u, v := f.all.Src[f.done], f.all.Dst[f.done]
			f.latest[u] = partners{f.latest[u].last, v}
			if u != v {
				f.latest[v] = partners{f.latest[v].last, u}
			}
		}
	}
}

// note counts that u met v.
func (f *following) note(u, v event.Node) {
	var keys [6]uint64
	var numbers [6]int32
	for i, c := range f.contexts(u) {
		keys[2*i], keys[2*i+1] = pairs.Key(c, v), pairs.Key(c, 0)
	}
	f.pairs.Add(keys[:], numbers[:])
	for f.counts.Len() < f.pairs.Len() {
		f.counts.Append(0)
	}
	for _, n := range numbers {
		*f.counts.At(int(n))++
	}
}
