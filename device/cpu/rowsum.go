package cpu

import "github.com/dygmamba/dygmamba/device"

// RowSum adds up every row; a chunk is a run of rows.
func (d *Device) RowSum(y device.Buffer, x device.Mat) {
	t := &d.fused.rowSum
	*t = rowSumTask{y: y.Host, x: x, each: rowsPerChunk(x.Cols)}
	d.parallel(pieces(x.Rows, t.each), t)
}

type rowSumTask struct {
	y    []float32
	x    device.Mat
	each int
}

func (t *rowSumTask) run(chunk, _ int) {
	for r := chunk * t.each; r < min(t.x.Rows, (chunk+1)*t.each); r++ {
		var sum float32
		for _, v := range row(t.x, r) {
			sum += v
		}
		t.y[r] = sum
	}
}
