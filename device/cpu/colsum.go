package cpu

import "github.com/dygmamba/dygmamba/device"

// colSumRows is how many rows are summed before the sum joins the others: more accurate than one long sum, and what
// lets threads share the work.
const colSumRows = 256

// ColSum writes y[c] = Σ_r x[r,c], or adds that to y: sums of colSumRows rows each, then the sum of these in order.
func (d *Device) ColSum(y device.Buffer, x device.Mat, acc bool) {
	n := pieces(x.Rows, colSumRows)
	t := colSumTask{f: d.loops.colSum, x: x, sums: d.scratch(n * x.Cols)}
	if x.Cols > 0 {
		launch(d, &d.tasks.colSum, t, x.Rows, colSumRows, (*colSumTask).add)
	}
	out := y.Host[:x.Cols]
	if !acc {
		clear(out)
	}
	for i := range n {
		d.loops.zips[device.Add](out, out, t.sums[i*x.Cols:(i+1)*x.Cols])
	}
}

type colSumTask struct {
	f    func(sum, x []float32, rows, stride int)
	x    device.Mat
	sums []float32 // [chunks, Cols]
}

func (t *colSumTask) add(lo, hi, _ int) {
	at := lo / colSumRows * t.x.Cols
	t.f(t.sums[at:at+t.x.Cols], t.x.Buf.Host[lo*t.x.Stride:], hi-lo, t.x.Stride)
}

// colSumPlain is sum[c] = Σ_r x[r·stride+c].
func colSumPlain(sum, x []float32, rows, stride int) {
	clear(sum)
	for r := range rows {
		for c, v := range x[r*stride:][:len(sum)] {
			sum[c] += v
		}
	}
}

// RowSum adds up every row.
func (d *Device) RowSum(y device.Buffer, x device.Mat) {
	t := rowSumTask{d.loops.sum, y.Host, x}
	launchEach(d, &d.tasks.rowSum, t, x.Rows, rowsPerChunk(x.Cols), func(t *rowSumTask, r, _ int) {
		t.y[r] = t.sum(row(t.x, r))
	})
}

type rowSumTask struct {
	sum func(x []float32) float32
	y   []float32
	x   device.Mat
}
