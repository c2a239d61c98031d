package walk

// KeepEvery takes snapshots so many events apart.
func (p *Past) KeepEvery(n int) { p.every = n }

// Snapshots is how many there are.
func (p *Past) Snapshots() int { return len(p.kept) }

// The loops in both forms.
var (
	ScaleAll, ScalePlain = scaleAll, scalePlain
	AddAll, AddPlain     = addAll, addPlain
)
