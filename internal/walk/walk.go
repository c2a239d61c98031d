// Package walk answers: how are two nodes connected through what happened before t, what is each of them up to, and
// what usually comes next?
//
// Every node has a fixed random vector H⁰ and, for each of three time scales, decayed sums of its partners' vectors: an
// event of u and v adds H⁰ of v to H¹ of u, H¹ of v to H² of u and H² of v to H³ of u, and the same the other way
// round. The inner product of two nodes' vectors then estimates how many walks back in time connect them, recent ones
// counting more (the idea of Lu et al., Improving Temporal Link Prediction via Temporal Walk Matrix Projection, NeurIPS
// 2024). Beside the vectors it is kept how often, and when last, a node or a directed pair was active, and, if asked
// for, whom sources met after whom.
//
// The state has no gradients and is exact as of t: events of one instant are applied together, from the values before
// them and in an order that depends on who they are and not on when they arrived, once a later time is asked about. It
// is a function of the events before t and of the Options alone: whoever has the events and the options has the same
// bytes, whatever machine it is and however many threads it has.
//
// With Options.Budget a state takes no more memory than that, and no more time to make than a window of events takes.
package walk

import (
	"math"
	"sync"
	"sync/atomic"

	"github.com/dygmamba/dygmamba/event"
)

const (
	// Levels is the number of walk lengths: vectors H¹ to H^Levels.
	Levels = 3
	// Scales is the number of time scales.
	Scales = 3
	// Vectors is how many vectors a node's row has: H⁰, then for each scale H¹ to H^Levels.
	Vectors = 1 + Scales*Levels
)

// parts are what the span of the training events is divided by to make the time scales.
var parts = [Scales]float64{2, 30, 1000}

// Options is all that a state depends on beside the events.
type Options struct {
	Dim  int    // of a vector
	Seed uint64 // of H⁰
	// Span is how long the training events last; time scales are parts of it. 0 or less is 1.
	Span event.Time
	// Follow keeps what came after what, for State.NextItem.
	Follow bool
	// Budget is how many bytes the states of a past may take together, beside twelve for each node id; 0: any number.
	// A state then knows the latest events only: see limits.
	Budget int64
	// Key says who a node is, whatever number it has; nil: its number. Several threads may ask.
	Key func(event.Node) uint64

	forced limits // instead of those of the budget, in tests
}

// Width is the number of floats of a node's row.
func (o Options) Width() int { return Vectors * o.Dim }

// Rates are how fast a vector of walks of one step decays, by scale: l steps decay l times as fast.
func (o Options) Rates() (r [Scales]float64) {
	for s, part := range parts {
		r[s] = part / o.span()
	}
	return r
}

func (o Options) span() float64 {
	if o.Span > 0 {
		return o.Span
	}
	return 1
}

// key is who a node is.
func (o Options) key(n event.Node) uint64 {
	if o.Key == nil {
		return mix(uint64(n))
	}
	return o.Key(n)
}

// remembered is a key that is asked once for each node below a number; those of later ones, which are few, each time.
// Several threads may ask.
func remembered(nodes int, key func(event.Node) uint64) func(event.Node) uint64 {
	var made sync.Once
	var keys []atomic.Uint64 // 0: not asked yet
	return func(n event.Node) uint64 {
		made.Do(func() { keys = make([]atomic.Uint64, nodes) })
		if n < 0 || int(n) >= nodes {
			return key(n)
		}
		k := keys[n].Load()
		if k == 0 {
			k = key(n)
			keys[n].Store(k)
		}
		return k
	}
}

// begin fills h with H⁰ of the node of that key: signs drawn from the seed and the key, of length 1 in all.
func (o Options) begin(key uint64, h []float32) {
	size := float32(1 / math.Sqrt(float64(o.Dim)))
	at := mix(key ^ mix(o.Seed))
	for i := range h {
		if i%64 == 0 {
			at += 0x9e3779b97f4a7c15
		}
		sign := uint32(mix(at)>>(i%64)) << 31
		h[i] = math.Float32frombits(math.Float32bits(size) | sign)
	}
}

// mix is a bijection of 64 bits in which every bit of x moves all others (Stafford's thirteenth variant).
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// Named is the key of a node that has a name, on one of two sides where names of both may be the same.
func Named(name string, side uint8) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(name) {
		h = (h ^ uint64(name[i])) * 1099511628211
	}
	return mix(h ^ uint64(side)<<56)
}
