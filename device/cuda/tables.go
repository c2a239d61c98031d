//go:build linux && !nogpu

package cuda

import "github.com/dygmamba/dygmamba/device"

// Gather sums rows of a table.
func (d *Device) Gather(y, table device.Mat, rows device.Ints, per int) {
	d.with().mat(y).mat(table).ints(rows).size(y.Rows).size(y.Cols).size(per)
	d.over(kGather, y.Rows*y.Cols, y.Rows, y.Cols, per)
}

const scatterShared = 32 << 10 // bytes of shared memory a block takes for its tile of the table

// ScatterAdd adds rows to a table. The rows are cut into pieces of a fixed size, fewer when the table is large.
func (d *Device) ScatterAdd(table, y device.Mat, rows device.Ints, per int) {
	if y.Rows == 0 || table.Rows == 0 || table.Cols == 0 {
		return
	}
	d.limit("ScatterAdd", "a row", table.Cols, scatterShared/4)
	tile := min(table.Rows, scatterShared/4/table.Cols)
	tiles := blocks(table.Rows, tile)
	count := min(blocks(y.Rows, 16), max(1, 1584/tiles), 264)
	each := blocks(y.Rows, count)
	count = blocks(y.Rows, each)
	part := d.work.take(d, count*table.Rows*table.Cols)
	d.with().buf(part).mat(y).ints(rows).size(y.Rows).size(table.Cols).size(per).size(table.Rows).size(tile).size(each)
	d.grid(kScatter, tiles, count, min(threads, (table.Cols+31)&^31), 1, 4*tile*table.Cols, table.Rows, table.Cols, y.Rows, per)
	d.with().mat(table).buf(part).size(count).size(table.Rows).size(table.Cols)
	d.columns(kScatterFold, table.Rows*table.Cols, count, table.Rows, table.Cols)
}
