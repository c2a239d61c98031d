package walk

import "github.com/dygmamba/dygmamba/event"

// KeepEvery takes snapshots this many events apart, and one more where late events would take longer than that.
func (p *Past) KeepEvery(n, close int) { p.every, p.close = n, close }

// Near is where that one is.
func (p *Past) Near() int { return p.near.next }

// Snapshots is how many there are.
func (p *Past) Snapshots() int { return len(p.kept) }

// The loops in both forms.
var (
	ScaleAll, ScalePlain = scaleAll, scalePlain
	AddAll, AddPlain     = addAll, addPlain
)

// KeyOf is who a node is.
func KeyOf(o Options, n event.Node) uint64 { return o.key(n) }

// Limited makes a state hold at most this many nodes, and this many slots of a shard, and windows begin so many events
// early.
func (o Options) Limited(nodes, slots, warmUp int) Options {
	o.forced = limits{nodes, slots, warmUp}
	return o
}

// Base is the event that the state before an event begins with.
func (p *Past) Base(event int) int { return p.base(p.number(event)) }

// Steps is how many events were applied to states, all in all.
func (p *Past) Steps() int { return p.steps }

// Recent is how many recent states are kept.
func (p *Past) Recent() int { return len(p.recent) }

// Held is what the states take, and at most what their snapshots take beside.
func (p *Past) Held() (states, snapshots int) {
	states = p.Bytes()
	for _, k := range p.kept {
		snapshots += k.now.state.bytes()
		if k.soon.state != nil {
			snapshots += k.soon.state.bytes()
		}
	}
	return states, snapshots + p.late()
}

// Full is how often nodes or counts were forgotten because there was no room.
func (s *State) Full() (counts, nodes int) {
	for i := range s.counts {
		counts += s.counts[i].drops
	}
	return counts, s.frees
}

// Written is how many events have their places written down.
func (p *Past) Written() int { return p.order.places.count }
