package pairs

import (
	"math/bits"
	"runtime"

	"github.com/dygmamba/dygmamba/internal/memory"
	"github.com/dygmamba/dygmamba/internal/parallel"
)

// parts are events by the hash of their pairs: all events of a pair are in the same part. A table of all pairs is far
// larger than a processor's cache, and each look-up would wait for memory. The table of a part is not.
type parts struct {
	src, dst  []int32
	unordered bool // pairs are the same whoever came first
	bits      uint // of the hash that say which part: the highest ones
	// [ranges][parts] how many events of a part are in a range of the events, which is one goroutine's; then where the
	// next of them goes
	at   [][]int
	size []int // [parts] events

	list []meeting // of the events of some parts, one part after another, in the order of events
}

// meeting is an event and its pair.
type meeting struct{ u, v, event int32 }

func (m meeting) key() uint64 { return Key(m.u, m.v) }

const (
	partEvents = 1 << 16 // events of a part, about
	passEvents = 1 << 27 // events that are held at a time, 12 bytes each
)

func newParts(src, dst []int32, unordered bool) *parts {
	p := &parts{src: src, dst: dst, unordered: unordered, bits: uint(bits.Len(uint(len(src) / partEvents)))}
	p.size = make([]int, 1<<p.bits)
	p.at = make([][]int, min(runtime.GOMAXPROCS(0), 1+len(src)/partEvents))
	p.ranges(func(r, lo, hi int) {
		p.at[r] = make([]int, 1<<p.bits)
		for i := lo; i < hi; i++ {
			p.at[r][p.of(p.key(i))]++
		}
	})
	for _, counts := range p.at {
		for part, n := range counts {
			p.size[part] += n
		}
	}
	return p
}

// key is the pair of an event.
func (p *parts) key(i int) uint64 {
	if p.unordered {
		return Unordered(p.src[i], p.dst[i])
	}
	return Key(p.src[i], p.dst[i])
}

// of is the part of a pair.
func (p *parts) of(key uint64) uint64 { return hash(key) >> (64 - p.bits) }

// ranges does the task for each goroutine's range of the events.
func (p *parts) ranges(task func(r, lo, hi int)) {
	parallel.Each(len(p.at), func(r int) { task(r, r*len(p.src)/len(p.at), (r+1)*len(p.src)/len(p.at)) })
}

// each tells of every event the one in which its pair met first, from any goroutine, and returns how many pairs there
// are. Nil: nobody is told.
func (p *parts) each(tell func(event, first int32)) (distinct int) {
	spare := make(chan *finder, runtime.GOMAXPROCS(0))
	for lo := 0; lo < len(p.size); {
		hi, n := lo, 0
		for ; hi < len(p.size) && (hi == lo || n+p.size[hi] <= passEvents); hi++ {
			n += p.size[hi]
		}
		ends := p.gather(lo, hi, n)
		found := make([]int, hi-lo)
		parallel.Each(hi-lo, func(i int) {
			var f *finder
			select {
			case f = <-spare:
			default:
				f = &finder{}
			}
			from := ends[i] - p.size[lo+i]
			found[i] = f.find(p.list[from:ends[i]], p.bits, tell)
			spare <- f
		})
		for _, n := range found {
			distinct += n
		}
		lo = hi
	}
	return distinct
}

// gather collects the n events of parts lo to hi−1 and says where those of each end.
func (p *parts) gather(lo, hi, n int) (ends []int) {
	if n > cap(p.list) {
		p.list = memory.Huge(make([]meeting, n))
	}
	p.list = p.list[:n]
	end := 0
	for part := lo; part < hi; part++ {
		for _, at := range p.at {
			at[part], end = end, end+at[part]
		}
		ends = append(ends, end)
	}
	p.ranges(func(r, from, to int) {
		at := p.at[r][lo:hi]
		for i := from; i < to; i++ {
			key := p.key(i)
			if part := p.of(key) - uint64(lo); part < uint64(len(at)) {
				u, v := Split(key)
				p.list[at[part]] = meeting{u, v, int32(i)}
				at[part]++
			}
		}
	})
	return ends
}

// finder finds first meetings, one part after another.
type finder struct {
	slots []int32 // 1 + the place of a pair's first event; 0: free. Collisions go to the next slot.
}

// find tells of every event of a part, and returns how many pairs it has.
func (f *finder) find(list []meeting, used uint, tell func(event, first int32)) (distinct int) {
	size := uint(bits.Len(uint(len(list)))) + 1
	if len(f.slots) < 1<<size {
		f.slots = make([]int32, 1<<size)
	}
	slots := f.slots[:1<<size]
	clear(slots)
	for i, m := range list {
		k := m.key()
		at := hash(k) << used >> (64 - size)
		for slots[at] != 0 && list[slots[at]-1].key() != k {
			at = (at + 1) & (1<<size - 1)
		}
		if slots[at] == 0 {
			slots[at] = int32(i + 1)
			distinct++
		}
		if tell != nil {
			tell(m.event, list[slots[at]-1].event)
		}
	}
	return distinct
}
