package cpu

// Kept is the number of packed matrices that are kept.
func (d *Device) Kept() int { return len(d.kept.packs) }
