package train

// Unwritten is how much of tables of these bytes is never written.
func (r *Run) Unwritten(tables ...int64) int64 { return r.unwritten(tables) }
