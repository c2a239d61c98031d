//go:build linux && !nogpu

package cuda

import (
	"math"

	"github.com/dygmamba/dygmamba/device"
)

// pointwise launches a kernel whose last argument is how many numbers of a row a thread takes. The first matrix is the
// result.
func (d *Device) pointwise(k string, ms ...device.Mat) {
	w := width(ms...)
	d.args.num(w)
	d.over(k, ms[0].Rows*ms[0].Cols/w, ms[0].Rows, ms[0].Cols)
}

// width is 4 or 2 where all rows of these matrices begin at a multiple of as many numbers and have a multiple of them,
// otherwise 1.
func width(ms ...device.Mat) int {
	w := 4
	for _, m := range ms {
		for m.Given() && w > 1 && (m.Buf.Addr%uintptr(4*w) != 0 || m.Cols%w != 0 || m.Rows > 1 && m.Stride%w != 0) {
			w /= 2
		}
	}
	return w
}

// Map applies a function to each number.
func (d *Device) Map(op device.Act, y, x device.Mat) {
	flat(&y, &x)
	d.with().num(int(op)).mat(y).mat(x).size(y.Rows).size(y.Cols)
	d.pointwise("map_act", y, x)
}

// MapGrad is its gradient.
func (d *Device) MapGrad(op device.Act, dx, x, y, dy device.Mat, drop device.Drop) {
	flat(&dx, &x, &y, &dy)
	if drop.Rate > 0 && (dx.Rows > 1 || width(dx, x, y, dy) < 4) {
		d.Dropout(dx, dy, drop)
		dy, drop.Rate = dx, 0
	}
	d.with().num(int(op)).mat(dx).mat(x).mat(y).mat(dy).size(dx.Rows).size(dx.Cols).drop(drop)
	d.pointwise("map_grad", dx, x, y, dy)
}

// Zip combines two matrices.
func (d *Device) Zip(op device.Op, z, x, y device.Mat) {
	flat(&z, &x, &y)
	d.zip(op, 0, z, x, y)
}

// ZipRow combines every row with v.
func (d *Device) ZipRow(op device.Op, z, x device.Mat, v device.Buffer) {
	d.zip(op, 1, z, x, v.Mat(1, v.Len))
}

// ZipCol combines row r with v[r].
func (d *Device) ZipCol(op device.Op, z, x device.Mat, v device.Buffer) {
	d.zip(op, 2, z, x, v.Mat(1, v.Len))
}

func (d *Device) zip(op device.Op, kind int, z, x, y device.Mat) {
	d.with().num(int(op)).num(kind).mat(z).mat(x).mat(y).size(z.Rows).size(z.Cols)
	if kind == 2 {
		y = device.Mat{} // a number of it serves a row
	}
	d.pointwise("zip", z, x, y)
}

// Scale multiplies by a number.
func (d *Device) Scale(y, x device.Mat, a float32) {
	flat(&y, &x)
	d.with().mat(y).mat(x).size(y.Rows).size(y.Cols).float(a)
	d.pointwise("scale", y, x)
}

// Copy copies.
func (d *Device) Copy(y, x device.Mat) { d.Scale(y, x, 1) }

// Dropout drops and scales.
func (d *Device) Dropout(y, x device.Mat, p device.Drop) {
	if p.Rate <= 0 {
		d.Copy(y, x)
		return
	}
	flat(&y, &x)
	d.with().mat(y).mat(x).size(y.Rows).size(y.Cols).drop(p)
	if w := width(y, x); y.Rows == 1 && w == 4 {
		d.args.num(w)
	} else {
		d.args.num(1)
	}
	d.over("dropout", 8*blocks(y.Rows*y.Cols, 32), y.Rows, y.Cols)
}

// drop passes what a kernel that drops needs: nothing when nothing is dropped.
func (a *launchArgs) drop(p device.Drop) *launchArgs {
	if p.Rate <= 0 {
		return a.ints(device.Ints{}).num(0).num(0).float(0)
	}
	least := uint32(min(float64(p.Rate)*(1<<32), math.MaxUint32))
	scale := float32(1 / (1 - float64(p.Rate)))
	return a.ints(p.Key).num(int(int32(p.Stream))).num(int(int32(least))).float(scale)
}

// Transpose transposes batch matrices.
func (d *Device) Transpose(y, x device.Buffer, batch, rows, cols int) {
	d.with().buf(y).buf(x).size(batch).size(rows).size(cols)
	d.over("transpose", batch*rows*cols, batch, rows, cols)
}
