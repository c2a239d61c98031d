package walk

import "math/bits"

// A state with a budget knows a window of the latest events, and of these what there is room for.
//
// The window begins anew every 3 × warmUp events: the state of a segment is what it would be if the stream began warmUp
// events before the segment. So a state never follows from more than 4 × warmUp events, however long the stream is, and
// whoever needs it at some time has it after as many. Within the window there is room for some nodes and some counts.
// When nodes are too many, the half of them is forgotten that was active least lately; when counts are too many, the
// half of them that happened least often, of equals those that are longest ago.

// limits are what a state may hold, by its budget; 0: anything.
type limits struct {
	nodes  int // places
	slots  int // of a shard, a power of two
	warmUp int // events
}

// Shares of the budget: of a state, of which there are two while a window begins anew, and in it of its nodes. The rest
// is for snapshots.
const (
	stateShare    = 0.4
	nodeShare     = 0.5
	snapshotShare = 1 - 2*stateShare
	// An event of the window is counted on average in this many accounts that nothing was counted in before, for
	// which there is room.
	countsOfEvent = 4
	// The number of nodes is rounded to that of so many bytes. What is forgotten depends on it: it never changes.
	roundTo = 8 << 10
)

// limits are those of the options' budget.
func (o Options) limits() (l limits) {
	if o.Budget <= 0 || o.forced != l {
		return o.forced
	}
	all := stateShare * float64(o.Budget)
	l.nodes = max(4, int(nodeShare*all)/(nodeBytes+4*o.Width()+8))
	perPage := 1 << max(fit(4*o.Width(), roundTo), fit(nodeBytes, roundTo))
	l.nodes = max(l.nodes/perPage, 1) * perPage
	slots := max(fewest, int((1-nodeShare)*all)/entryBytes/shards)
	l.slots = 1 << (bits.Len(uint(slots)) - 1)
	l.warmUp = max(4, shards*l.slots*3/4/countsOfEvent/4)
	return l
}

// segment is how many events have a state that begins at the same event.
func (l limits) segment() int { return 3 * l.warmUp }

// MostNodes is the number of nodes that a state has room for; 0: any number.
func (o Options) MostNodes() int { return o.limits().nodes }
