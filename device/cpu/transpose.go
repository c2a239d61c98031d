package cpu

import "github.com/dygmamba/dygmamba/device"

// Transpose writes y[b,j,i] = x[b,i,j] for batch matrices of rows × cols.
func (d *Device) Transpose(y, x device.Buffer, batch, rows, cols int) {
	t := &d.tasks.transpose
	bands := pieces(rows, transposeRows)
	*t = transposeTask{y.Host, x.Host, rows, cols, bands}
	d.parallel(batch*bands, t)
}

// transposeRows is the height of the bands that are turned at a time.
const transposeRows = 64

type transposeTask struct {
	y, x              []float32
	rows, cols, bands int
}

func (t *transposeTask) run(chunk, _ int) {
	size := t.rows * t.cols
	b, lo := chunk/t.bands, chunk%t.bands*transposeRows
	y, x := t.y[b*size:(b+1)*size], t.x[b*size:(b+1)*size]
	hi := min(t.rows, lo+transposeRows)
	for j0 := 0; j0 < t.cols; j0 += 8 {
		for i := lo; i < hi; i++ {
			for j := j0; j < min(t.cols, j0+8); j++ {
				y[j*t.rows+i] = x[i*t.cols+j]
			}
		}
	}
}
