package cpu

import "github.com/dygmamba/dygmamba/device"

// Assign copies rows of y to table rows. A chunk is a run of columns and walks all rows in their order, so that the
// last of several equal row numbers wins whoever runs it.
func (d *Device) Assign(table, y device.Mat, rows device.Ints) {
	if y.Rows == 0 || y.Cols == 0 {
		return
	}
	t := &d.fused.assign
	*t = assignTask{table: table, y: y, rows: rows.Host, each: max(minAssign, rowsPerChunk(y.Rows))}
	d.parallel(pieces(y.Cols, t.each), t)
}

const minAssign = 64 // columns of a chunk: a few cache lines, so that neighbours rarely write to the same one

type assignTask struct {
	table, y device.Mat
	rows     []int32
	each     int // columns of a chunk
}

// run is table[rows[r], c] = y[r, c] for every r in order and the columns c of the chunk.
func (t *assignTask) run(chunk, _ int) {
	lo, hi := chunk*t.each, min(t.y.Cols, (chunk+1)*t.each)
	for r := range t.y.Rows {
		if k := t.rows[r]; k >= 0 {
			copy(row(t.table, int(k))[lo:hi], row(t.y, r)[lo:hi])
		}
	}
}
