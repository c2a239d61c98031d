//go:build linux && !nogpu

package cuda

import "github.com/dygmamba/dygmamba/device"

// Gather sums rows of a table.
func (d *Device) Gather(y, table device.Mat, rows device.Ints, per int) {
	d.with().mat(y).mat(table).ints(rows).size(y.Rows).size(y.Cols).size(per)
	d.over(kGather, y.Rows*y.Cols, y.Rows, y.Cols, per)
}

const scatterShared = 32 << 10 // bytes of shared memory a block takes for its tile of the table

// ScatterAdd adds rows to a table: every block adds up one piece of the rows for one tile of the table.
func (d *Device) ScatterAdd(table, y device.Mat, rows device.Ints, per int) {
	if y.Rows == 0 || table.Rows == 0 || table.Cols == 0 {
		return
	}
	d.limit("ScatterAdd", "a row", table.Cols, scatterShared/4)
	tile, count, each := scatterPieces(table.Rows, table.Cols, y.Rows)
	part := d.partial(count * table.Rows * table.Cols)
	d.with().buf(part).mat(y).ints(rows).size(y.Rows).size(table.Cols).size(per).size(table.Rows).size(tile).size(each)
	d.grid(kScatter, blocks(table.Rows, tile), count, min(threads, (table.Cols+31)&^31), 1, 4*tile*table.Cols, table.Rows, table.Cols, y.Rows, per)
	d.with().mat(table).buf(part).size(count).size(table.Rows).size(table.Cols)
	d.columns(kScatterFold, table.Rows*table.Cols, count, table.Rows, table.Cols)
}

// scatterPieces cuts a table into tiles of rows that fit into shared memory, and n rows into pieces, as many as keep the GPU busy. A table of
// many tiles has blocks enough with one piece; there are more nevertheless while their sums take no more memory than the rows themselves,
// for what one block has to add up should not grow with the table. It depends on the shapes alone.
func scatterPieces(tableRows, cols, n int) (tile, count, each int) {
	tile = min(tableRows, scatterShared/4/cols)
	count = min(blocks(n, 16), max(1, 1584/blocks(tableRows, tile), n/tableRows), 264)
	each = blocks(n, count)
	return tile, blocks(n, each), each
}
