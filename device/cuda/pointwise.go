//go:build linux && !nogpu

package cuda

import (
	"math"

	"github.com/dygmamba/dygmamba/device"
)

// Map applies a function to each number.
func (d *Device) Map(op device.Act, y, x device.Mat) {
	flat(&y, &x)
	d.with().num(int(op)).mat(y).mat(x).size(y.Rows).size(y.Cols)
	d.over("map_act", y.Rows*y.Cols, y.Rows, y.Cols)
}

// MapGrad is its gradient.
func (d *Device) MapGrad(op device.Act, dx, x, y, dy device.Mat) {
	flat(&dx, &x, &y, &dy)
	d.with().num(int(op)).mat(dx).mat(x).mat(y).mat(dy).size(dx.Rows).size(dx.Cols)
	d.over("map_grad", dx.Rows*dx.Cols, dx.Rows, dx.Cols)
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
	d.over("zip", z.Rows*z.Cols, z.Rows, z.Cols)
}

// Scale multiplies by a number.
func (d *Device) Scale(y, x device.Mat, a float32) {
	flat(&y, &x)
	d.with().mat(y).mat(x).size(y.Rows).size(y.Cols).float(a)
	d.over("scale", y.Rows*y.Cols, y.Rows, y.Cols)
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
	least := uint32(min(float64(p.Rate)*(1<<32), math.MaxUint32))
	scale := float32(1 / (1 - float64(p.Rate)))
	d.with().mat(y).mat(x).size(y.Rows).size(y.Cols).num(int(int32(least))).float(scale).ints(p.Key).
		num(int(int32(p.Stream)))
	d.over("dropout", 8*blocks(y.Rows*y.Cols, 32), y.Rows, y.Cols)
}

// Transpose transposes batch matrices.
func (d *Device) Transpose(y, x device.Buffer, batch, rows, cols int) {
	d.with().buf(y).buf(x).size(batch).size(rows).size(cols)
	d.over("transpose", batch*rows*cols, batch, rows, cols)
}
