package cpu

func useTiles(l *loops) {
	l.tile = tiles{wide: tile6x16, narrow: tile12x8, take16: take16, take8: take8, turn: turn8}
}

//go:noescape
func tile6x16(
	strips, k int, a *float32, aRow, aStep, aStrip int, b, c *float32, cRow int, from *float32, fromRow int,
	ahead *float32,
)

//go:noescape
func tile12x8(
	strips, k int, a *float32, aRow, aStep, aStrip int, b, c *float32, cRow int, from *float32, fromRow int,
	ahead *float32,
)

//go:noescape
func take16(y, x *float32, xRow, k int)

//go:noescape
func take8(y, x *float32, xRow, k int)

//go:noescape
func turn8(y *float32, yRow int, x *float32, xRow, k int)
