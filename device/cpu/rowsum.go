package cpu

import "github.com/dygmamba/dygmamba/device"

// RowSum adds up every row; a chunk is a run of rows.
func (d *Device) RowSum(y device.Buffer, x device.Mat) {
	t := &d.fused.rowSum
	*t = rowSumTask{sum: d.fused.rows.sum, y: y.Host, x: x, each: rowsPerChunk(x.Cols)}
	d.parallel(pieces(x.Rows, t.each), t)
}

type rowSumTask struct {
	sum  func(x []float32) float32
	y    []float32
	x    device.Mat
	each int
}

func (t *rowSumTask) run(chunk, _ int) {
	for r := chunk * t.each; r < min(t.x.Rows, (chunk+1)*t.each); r++ {
		t.y[r] = t.sum(row(t.x, r))
	}
}
