package cpu

import "github.com/dygmamba/dygmamba/device"

// Gather sums per table rows into each row of y; a chunk is a run of rows of y.
func (d *Device) Gather(y, table device.Mat, rows device.Ints, per int) {
	if y.Rows == 0 || y.Cols == 0 {
		return
	}
	t := &d.fused.gather
	*t = gatherTask{y: y, table: table, rows: rows.Host, per: per, each: rowsPerChunk(y.Cols)}
	d.parallel(pieces(y.Rows, t.each), t)
}

type gatherTask struct {
	y, table device.Mat
	rows     []int32
	per      int
	each     int
}

func (t *gatherTask) run(chunk, _ int) {
	for r := chunk * t.each; r < min(t.y.Rows, (chunk+1)*t.each); r++ {
		y := row(t.y, r)
		clear(y)
		for _, k := range t.rows[r*t.per : (r+1)*t.per] {
			if k >= 0 {
				for i, v := range row(t.table, int(k)) {
					y[i] += v
				}
			}
		}
	}
}

// ScatterAdd adds rows of y to table rows; a chunk is a run of columns, so that every number of the table has one writer,
// which takes the rows of y in their order.
func (d *Device) ScatterAdd(table, y device.Mat, rows device.Ints, per int) {
	if y.Rows == 0 || y.Cols == 0 {
		return
	}
	t := &d.fused.scatter
	*t = scatterTask{y: y, table: table, rows: rows.Host, per: per}
	d.parallel(pieces(y.Cols, scatterCols), t)
}

// scatterCols is the number of columns of a chunk: two cache lines.
const scatterCols = 32

type scatterTask struct {
	y, table device.Mat
	rows     []int32
	per      int
}

func (t *scatterTask) run(chunk, _ int) {
	lo := chunk * scatterCols
	hi := min(t.y.Cols, lo+scatterCols)
	for r := range t.y.Rows {
		y := row(t.y, r)[lo:hi]
		for _, k := range t.rows[r*t.per : (r+1)*t.per] {
			if k >= 0 {
				dst := row(t.table, int(k))[lo:hi]
				for i, v := range y {
					dst[i] += v
				}
			}
		}
	}
}
