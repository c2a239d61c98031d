//go:build linux && !nogpu

package cuda

import (
	"math"

	"github.com/dygmamba/dygmamba/device"
)

// Gather sums rows of a table.
func (d *Device) Gather(y, table device.Mat, rows device.Ints, per int) {
	d.with().mat(y).mat(table).ints(rows).size(y.Rows).size(y.Cols).size(per)
	d.over("gather", y.Rows*y.Cols, y.Rows, y.Cols, per)
}

const (
	scatterShared = 32 << 10 // bytes of shared memory a block takes for its tile of a table
	maxTiles      = 8192     // that row numbers are sorted by at once
)

// ScatterAdd adds rows to a table: row numbers are sorted by tile of the table, then blocks add up one tile each.
func (d *Device) ScatterAdd(table, y device.Mat, rows device.Ints, per int) {
	if y.Rows*per == 0 || table.Rows == 0 || table.Cols == 0 {
		return
	}
	d.limit("ScatterAdd", "a row", table.Cols, scatterShared/4)
	d.limit("ScatterAdd", "the row numbers", y.Rows*per, math.MaxInt32)
	s := cutScatter(table.Rows, table.Cols, y.Rows)
	for first := 0; first < blocks(table.Rows, s.tile); first += maxTiles {
		d.scatter(table, y, rows, per, s, first)
	}
}

// scatter adds to the tiles from first on.
func (d *Device) scatter(table, y device.Mat, rows device.Ints, per int, s scatterCut, first int) {
	table = table.Band(first*s.tile, min(table.Rows, (first+maxTiles)*s.tile))
	tiles, groups, cols := blocks(table.Rows, s.tile), blocks(s.pieces, s.group), table.Cols
	hits, begin := 2*y.Rows*per, (s.pieces*(tiles+1)+63)&^63
	work := d.partial(hits + begin + groups*table.Rows*cols)
	list, starts, part := work.Slice(0, hits), work.Slice(hits, hits+begin), work.Slice(hits+begin, work.Len)

	d.with().buf(list).buf(starts).ints(rows).size(y.Rows).size(per).size(s.each).size(s.group).size(s.rows).size(cols).
		size(s.tile).size(first).size(tiles)
	d.grid("bucket", s.pieces, 1, 32, 1, 4*tiles, table.Rows, y.Rows, per)
	d.with().buf(part).mat(y).buf(list).buf(starts).size(s.pieces).size(s.group).size(table.Rows).size(cols).
		size(s.tile).size(tiles)
	d.grid("scatter", tiles, groups, min(threads, (cols+31)&^31), 1, 4*s.tile*cols, table.Rows, cols, y.Rows, per)
	d.with().mat(table).buf(part).size(groups).size(table.Rows).size(cols)
	d.columns("scatter_fold", table.Rows*cols, groups, table.Rows, cols)
}

// Assign copies rows to a table, a block each. It takes no memory for itself: a block finds out alone whether a later
// one writes to the same row.
func (d *Device) Assign(table, y device.Mat, rows device.Ints) {
	if y.Cols == 0 {
		return
	}
	d.limit("Assign", "the row numbers", y.Rows, math.MaxInt32) // blocks that a grid may have
	d.with().mat(table).mat(y).ints(rows).size(y.Rows).size(y.Cols)
	d.grid("assign", y.Rows, 1, threads, 1, 0, table.Rows, y.Rows, y.Cols)
}

// scatterCut says how adding rows to a table is cut up. It depends on the shapes alone.
type scatterCut struct {
	tile   int // rows of the table that fit into shared memory
	pieces int // of y's rows, sorted by a warp each
	each   int // rows of a piece
	group  int // pieces that a block adds up
	rows   int // of a group; its last piece may have fewer than each
}

// cutScatter cuts n rows. There are groups enough to keep the GPU busy; for a table of many tiles there are more while
// their sums take little memory beside the rows themselves, since a few tiles may get most of the rows. Of a group's
// rows, which are added up in order, there are as many pieces as keep the sorting warps busy: with many tiles most have
// nothing for a block, which looks at all of them.
func cutScatter(tableRows, cols, n int) scatterCut {
	var s scatterCut
	s.tile = min(tableRows, scatterShared/4/cols)
	tiles := blocks(tableRows, s.tile)
	s.pieces = min(blocks(n, 16), 2112)
	s.each = blocks(n, s.pieces)
	s.pieces = blocks(n, s.each)
	groups := min(s.pieces, max(1, 1584/tiles, 4*n/tableRows), 264)
	s.group = blocks(s.pieces, groups)
	s.rows = s.group * s.each
	groups = blocks(n, s.rows)
	if larger := min(s.pieces/264, tiles/s.each); larger > 1 {
		s.each *= larger
		s.group = blocks(s.rows, s.each)
	}
	s.pieces = (groups-1)*s.group + blocks(n-(groups-1)*s.rows, s.each)
	return s
}
