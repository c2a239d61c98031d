package cpu

import "github.com/dygmamba/dygmamba/device"

// colSumRows is how many rows are summed before the sum joins the others: more accurate than one long sum, and what
// lets threads share the work.
const colSumRows = 256

// ColSum writes y[c] = Σ_r x[r,c], or adds that to y: sums of colSumRows rows each, then the sum of these in order.
func (d *Device) ColSum(y device.Buffer, x device.Mat, acc bool) {
	n := pieces(x.Rows, colSumRows)
	t := &d.tasks.colSum
	*t = colSumTask{f: d.loops.colSum, x: x, sums: d.scratch(n * x.Cols)}
	if x.Cols > 0 {
		d.parallel(n, t)
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

func (t *colSumTask) run(chunk, _ int) {
	lo := chunk * colSumRows
	rows := min(colSumRows, t.x.Rows-lo)
	t.f(t.sums[chunk*t.x.Cols:(chunk+1)*t.x.Cols], t.x.Buf.Host[lo*t.x.Stride:], rows, t.x.Stride)
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
