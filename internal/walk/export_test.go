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
