//go:build linux && !nogpu

package cuda

import "github.com/dygmamba/dygmamba/device"

// ColSum adds up the rows.
func (d *Device) ColSum(y device.Buffer, x device.Mat, acc bool) {
	count, each := pieces(x.Rows)
	part := d.partial(count * x.Cols)
	d.with().buf(part).mat(x).size(x.Rows).size(x.Cols).size(each)
	d.grid("col_part", blocks(x.Cols, 32), count, 32, 8, 0, x.Rows, x.Cols)
	d.fold(y, part, count, x.Cols, x.Cols, acc)
}

// fold adds count pieces in order, each of cols numbers, step apart. A y that is not given is not wanted.
func (d *Device) fold(y, part device.Buffer, count, step, cols int, acc bool) {
	if y.Len > 0 {
		d.with().buf(y).buf(part).size(count).size(step).size(cols).flag(acc)
		d.columns("fold", cols, count, cols)
	}
}

// RowSum adds up the columns.
func (d *Device) RowSum(y device.Buffer, x device.Mat) {
	d.with().buf(y).mat(x).size(x.Rows).size(x.Cols)
	d.warps("row_sum", x.Rows, x.Rows, x.Cols)
}

// Norm is LayerNorm.
func (d *Device) Norm(n device.Norm) {
	d.with().mat(n.Y).mat(n.X).mat(n.Residual).buf(n.Gamma).buf(n.Beta).float(n.Eps).buf(n.Stats).size(n.X.Rows).
		size(n.X.Cols)
	d.warps("layer_norm", n.X.Rows, n.X.Rows, n.X.Cols)
}

// NormGrad is its gradient.
func (d *Device) NormGrad(n device.NormGrad) {
	rows, cols := n.X.Rows, n.X.Cols
	count, each := pieces(rows)
	part := d.partial(2 * count * cols)
	d.with().buf(part).mat(n.DY).mat(n.X).buf(n.Stats).size(rows).size(cols).size(each)
	d.grid("norm_part", blocks(cols, 32), count, 32, 8, 0, rows, cols)
	d.fold(n.DGamma, part, count, 2*cols, cols, true)
	d.fold(n.DBeta, part.Slice(min(cols, part.Len), part.Len), count, 2*cols, cols, true)
	d.with().mat(n.DX).mat(n.DY).mat(n.X).buf(n.Gamma).buf(n.Stats).size(rows).size(cols)
	d.warps("norm_grad", rows, rows, cols)
}

// Softmax over each row.
func (d *Device) Softmax(y, x device.Mat, mask device.Ints, fill float32) {
	d.with().mat(y).mat(x).ints(mask).size(0).float(fill).size(x.Rows).size(x.Cols)
	d.warps("softmax", x.Rows, x.Rows, x.Cols)
}

// SoftmaxGrad is its gradient.
func (d *Device) SoftmaxGrad(dx, y, dy device.Mat) { d.softmaxGrad(dx, y, dy, device.Ints{}, 1) }

// softmaxGrad stops at masked numbers; the mask has a row for every maskRows rows.
func (d *Device) softmaxGrad(dx, y, dy device.Mat, mask device.Ints, maskRows int) {
	d.with().mat(dx).mat(y).mat(dy).ints(mask).size(maskRows).size(y.Rows).size(y.Cols)
	d.warps("softmax_grad", y.Rows, y.Rows, y.Cols)
}
