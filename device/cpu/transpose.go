package cpu

import "github.com/dygmamba/dygmamba/device"

// Transpose writes y[b,j,i] = x[b,i,j] for batch matrices of rows × cols.
func (d *Device) Transpose(y, x device.Buffer, batch, rows, cols int) {
	t := transposeTask{y.Host, x.Host, rows, cols, pieces(rows, transposeRows), d.loops.tile.turn}
	launchEach(d, &d.tasks.transpose, t, batch*t.bands, 1, (*transposeTask).band)
}

// transposeRows is the height of the bands that are turned at a time.
const transposeRows = 64

type transposeTask struct {
	y, x              []float32
	rows, cols, bands int
	turn              func(y *float32, yRow int, x *float32, xRow, k int) // see tiles; may be nil
}

func (t *transposeTask) band(i, _ int) {
	size := t.rows * t.cols
	b, lo := i/t.bands, i%t.bands*transposeRows
	y, x := t.y[b*size:(b+1)*size], t.x[b*size:(b+1)*size]
	hi := min(t.rows, lo+transposeRows)
	if t.turn != nil && t.cols >= 8 {
		for ; lo+8 <= hi; lo += 8 {
			t.turn(&y[lo], 4*t.rows, &x[lo*t.cols], 4*t.cols, t.cols)
		}
	}
	for i := lo; i < hi; i++ {
		for j, v := range x[i*t.cols : (i+1)*t.cols] {
			y[j*t.rows+i] = v
		}
	}
}
