// Package tally answers: of which kinds were the events of two nodes before a query?
//
// It counts in the histories of both nodes, so that an answer follows from the events strictly before the query's time,
// whatever the order of queries, and late or removed events need no care.
package tally

import (
	"errors"
	"math"
	"slices"
	"sync"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/index"
	"github.com/dygmamba/dygmamba/sample"
)

// Reach is how many of a node's latest events are counted, Lately how many of these are looked at once more.
const (
	Reach  = 2048
	Lately = 16
)

// groups of events that are counted: of the source as a source, of the destination as a destination, of the pair in
// this direction, of the source as a destination and of the destination as a source.
const groups = 5

// perGroup numbers describe a group: log-odds of the kind, the same lately, whether the last event was of the kind, and
// how many events there are.
const perGroup = 4

// Width is how many numbers a query gets.
const Width = groups * perGroup

// Kinds is an extra of a plan that counts kinds for queries that name one. Others get zeros.
type Kinds struct {
	mutex sync.Mutex // guards known
	known []*lookup  // the latest last
}

// lookup finds the kind and the source of an event by its edge id.
type lookup struct {
	log  *event.Log
	kind []event.Kind
	src  []event.Node
}

// Name names it in messages.
func (k *Kinds) Name() string { return "counts of kinds" }

// Check says whether a past tells its events.
func (k *Kinds) Check(past index.View) error {
	if l, ok := past.(index.Logged); !ok || l.Events() == nil {
		return errors.New("the past does not tell its events one by one")
	}
	return nil
}

// Bytes is what a query takes.
func (k *Kinds) Bytes([]float64) float64 { return 4 * Width }

// NewPart makes an empty part of a batch.
func (k *Kinds) NewPart() sample.Part { return &Found{of: k} }

// Sizes are the same numbers, all zero.
func (k *Kinds) Sizes() sample.Extra { return sizes{k} }

type sizes struct{ *Kinds }

func (s sizes) NewPart() sample.Part { return &Found{} }

// Found is what was counted for a batch.
type Found struct {
	X   []float32 // [queries, Width]
	of  *Kinds    // nil: nothing is counted
	all lookup
}

// In is what was counted for a batch, nil where nothing was.
func In(b *sample.Batch) *Found {
	for _, part := range b.Extras {
		if f, ok := part.(*Found); ok {
			return f
		}
	}
	return nil
}

// Shape is that of the batch.
func (f *Found) Shape() uint64 { return 0 }

// Gather counts.
func (f *Found) Gather(g *sample.Gathering) {
	n := len(g.Batch.Queries) * Width
	f.X = slices.Grow(f.X[:0], n)[:n]
	clear(f.X)
	asked := slices.ContainsFunc(g.Batch.Queries, func(q sample.Query) bool { return q.Kind != 0 })
	if f.of == nil || !asked {
		return
	}
	f.all = f.of.lookup(g.Past.(index.Logged).Events())
	g.Parallel(len(g.Batch.Queries), func(_, i int) {
		if q := g.Batch.Queries[i]; q.Kind != 0 && !g.Stopped() {
			f.count(g.Past, q, f.X[i*Width:(i+1)*Width])
		}
	})
}

// counts are those of one group.
type counts struct {
	n, of        int // events, and those of the kind
	late, ofLate int // the latest of them
	last         bool
}

// add takes an event that is older than those before it.
func (c *counts) add(is bool) {
	if c.n == 0 {
		c.last = is
	}
	c.n++
	if c.late < Lately {
		c.late++
		if is {
			c.ofLate++
		}
	}
	if is {
		c.of++
	}
}

// count fills the numbers of a query.
func (f *Found) count(past index.View, q sample.Query, out []float32) {
	var c [groups]counts
	h := past.Before(q.Src, q.Time).Last(Reach)
	for i := h.Len() - 1; i >= 0; i-- {
		kind, src := f.all.at(h.Edge[i])
		switch is := kind == q.Kind; {
		case kind == 0:
		case src != q.Src:
			c[3].add(is)
		default:
			c[0].add(is)
			if h.Node[i] == q.Dst {
				c[2].add(is)
			}
		}
	}
	h = past.Before(q.Dst, q.Time).Last(Reach)
	for i := h.Len() - 1; i >= 0; i-- {
		kind, src := f.all.at(h.Edge[i])
		switch is := kind == q.Kind; {
		case kind == 0:
		case src == q.Dst && h.Node[i] != q.Dst:
			c[4].add(is)
		default:
			c[1].add(is)
		}
	}
	for i := range c {
		c[i].put(out[i*perGroup:])
	}
}

// put writes the numbers of a group, all zero where it has no events.
func (c *counts) put(out []float32) {
	if c.n == 0 {
		return
	}
	out[0], out[1], out[2] = odds(c.of, c.n), odds(c.ofLate, c.late), -1
	if c.last {
		out[2] = 1
	}
	out[3] = float32(math.Log1p(float64(c.n)) / 4)
}

// odds are the log-odds of a kind, half an event added to both sides.
func odds(of, n int) float32 {
	return float32(math.Log((float64(of)+0.5)/(float64(n-of)+0.5)) / 2)
}

func (l lookup) at(e event.Edge) (event.Kind, event.Node) { return l.kind[e], l.src[e] }

// lookup is that of a log, which may have grown since it was last asked for.
func (k *Kinds) lookup(log *event.Log) lookup {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	i := slices.IndexFunc(k.known, func(l *lookup) bool { return log == l.log || log.Continues(l.log) })
	if i < 0 {
		const most = 6 // logs of training, validation and test, and of a server
		if len(k.known) == most {
			k.known = slices.Delete(k.known, 0, 1)
		}
		i = len(k.known)
		k.known = append(k.known, &lookup{log: event.NewLog(0)})
		k.known[i].grow(log, 0)
	} else if l := k.known[i]; l.log.Len() < log.Len() {
		l.grow(log, l.log.Len())
	}
	return *k.known[i]
}

// grow takes the events of a log from a place on.
func (l *lookup) grow(log *event.Log, from int) {
	s := log.Span(from, log.Len())
	most := len(l.kind)
	for i := range s.Len() {
		most = max(most, int(s.Edge(i))+1)
	}
	l.kind = append(l.kind, make([]event.Kind, most-len(l.kind))...)
	l.src = append(l.src, make([]event.Node, most-len(l.src))...)
	for i := range s.Len() {
		e := s.Edge(i)
		l.kind[e], l.src[e] = s.Kind(i), s.Src[i]
	}
	l.log = log
}
