package trace

import "github.com/dygmamba/dygmamba/device"

// MatMul also joins the list of products.
func (d *Device) MatMul(c, a, b device.Mat, g device.Gemm) {
	k := a.Cols
	if g.TransA {
		k = a.Rows
	}
	d.products = append(d.products, Product{
		M: c.Rows, N: c.Cols, K: k,
		TransA: g.TransA, TransB: g.TransB, Acc: g.Acc, Bias: g.Bias.Len > 0, Pre: g.Pre.Given(), Act: g.Act, Batch: g.Batch,
		StrideA: a.Stride, StrideB: b.Stride, StrideC: c.Stride, StepA: g.StepA, StepB: g.StepB, StepC: g.StepC,
	})
	began := d.start()
	d.Device.MatMul(c, a, b, g)
	d.stop("MatMul", began)
}

// Write measures the call.
func (d *Device) Write(dst device.Buffer, src []float32) {
	began := d.start()
	d.Device.Write(dst, src)
	d.stop("Write", began)
}

// WriteInts measures the call.
func (d *Device) WriteInts(dst device.Ints, src []int32) {
	began := d.start()
	d.Device.WriteInts(dst, src)
	d.stop("WriteInts", began)
}

// Read measures the call.
func (d *Device) Read(dst []float32, src device.Buffer) {
	began := d.start()
	d.Device.Read(dst, src)
	d.stop("Read", began)
}

// Zero measures the call.
func (d *Device) Zero(b device.Buffer) {
	began := d.start()
	d.Device.Zero(b)
	d.stop("Zero", began)
}

// Transpose measures the call.
func (d *Device) Transpose(y, x device.Buffer, batch, rows, cols int) {
	began := d.start()
	d.Device.Transpose(y, x, batch, rows, cols)
	d.stop("Transpose", began)
}

// Map measures the call.
func (d *Device) Map(op device.Act, y, x device.Mat) {
	began := d.start()
	d.Device.Map(op, y, x)
	d.stop("Map", began)
}

// MapGrad measures the call.
func (d *Device) MapGrad(op device.Act, dx, x, y, dy device.Mat) {
	began := d.start()
	d.Device.MapGrad(op, dx, x, y, dy)
	d.stop("MapGrad", began)
}

// Zip measures the call.
func (d *Device) Zip(op device.Op, z, x, y device.Mat) {
	began := d.start()
	d.Device.Zip(op, z, x, y)
	d.stop("Zip", began)
}

// ZipRow measures the call.
func (d *Device) ZipRow(op device.Op, z, x device.Mat, v device.Buffer) {
	began := d.start()
	d.Device.ZipRow(op, z, x, v)
	d.stop("ZipRow", began)
}

// ZipCol measures the call.
func (d *Device) ZipCol(op device.Op, z, x device.Mat, v device.Buffer) {
	began := d.start()
	d.Device.ZipCol(op, z, x, v)
	d.stop("ZipCol", began)
}

// Scale measures the call.
func (d *Device) Scale(y, x device.Mat, a float32) {
	began := d.start()
	d.Device.Scale(y, x, a)
	d.stop("Scale", began)
}

// Copy measures the call.
func (d *Device) Copy(y, x device.Mat) {
	began := d.start()
	d.Device.Copy(y, x)
	d.stop("Copy", began)
}

// Dropout measures the call.
func (d *Device) Dropout(y, x device.Mat, p device.Drop) {
	began := d.start()
	d.Device.Dropout(y, x, p)
	d.stop("Dropout", began)
}

// ColSum measures the call.
func (d *Device) ColSum(y device.Buffer, x device.Mat, acc bool) {
	began := d.start()
	d.Device.ColSum(y, x, acc)
	d.stop("ColSum", began)
}

// RowSum measures the call.
func (d *Device) RowSum(y device.Buffer, x device.Mat) {
	began := d.start()
	d.Device.RowSum(y, x)
	d.stop("RowSum", began)
}

// Norm measures the call.
func (d *Device) Norm(n device.Norm) {
	began := d.start()
	d.Device.Norm(n)
	d.stop("Norm", began)
}

// NormGrad measures the call.
func (d *Device) NormGrad(n device.NormGrad) {
	began := d.start()
	d.Device.NormGrad(n)
	d.stop("NormGrad", began)
}

// Softmax measures the call.
func (d *Device) Softmax(y, x device.Mat, mask device.Ints, fill float32) {
	began := d.start()
	d.Device.Softmax(y, x, mask, fill)
	d.stop("Softmax", began)
}

// SoftmaxGrad measures the call.
func (d *Device) SoftmaxGrad(dx, y, dy device.Mat) {
	began := d.start()
	d.Device.SoftmaxGrad(dx, y, dy)
	d.stop("SoftmaxGrad", began)
}

// Conv measures the call.
func (d *Device) Conv(c device.Conv) {
	began := d.start()
	d.Device.Conv(c)
	d.stop("Conv", began)
}

// ConvGrad measures the call.
func (d *Device) ConvGrad(c device.ConvGrad) {
	began := d.start()
	d.Device.ConvGrad(c)
	d.stop("ConvGrad", began)
}

// Scan measures the call.
func (d *Device) Scan(s device.Scan) {
	began := d.start()
	d.Device.Scan(s)
	d.stop("Scan", began)
}

// ScanGrad measures the call.
func (d *Device) ScanGrad(s device.ScanGrad) {
	began := d.start()
	d.Device.ScanGrad(s)
	d.stop("ScanGrad", began)
}

// Attention measures the call.
func (d *Device) Attention(a device.Attention) {
	began := d.start()
	d.Device.Attention(a)
	d.stop("Attention", began)
}

// AttentionGrad measures the call.
func (d *Device) AttentionGrad(a device.AttentionGrad) {
	began := d.start()
	d.Device.AttentionGrad(a)
	d.stop("AttentionGrad", began)
}

// TimeCode measures the call.
func (d *Device) TimeCode(t device.TimeCode) {
	began := d.start()
	d.Device.TimeCode(t)
	d.stop("TimeCode", began)
}

// TimeCodeGrad measures the call.
func (d *Device) TimeCodeGrad(t device.TimeCodeGrad) {
	began := d.start()
	d.Device.TimeCodeGrad(t)
	d.stop("TimeCodeGrad", began)
}

// Pool measures the call.
func (d *Device) Pool(y, w, h device.Mat) {
	began := d.start()
	d.Device.Pool(y, w, h)
	d.stop("Pool", began)
}

// Dot measures the call.
func (d *Device) Dot(w, a, h device.Mat) {
	began := d.start()
	d.Device.Dot(w, a, h)
	d.stop("Dot", began)
}

// Outer measures the call.
func (d *Device) Outer(h, w, a device.Mat, acc bool) {
	began := d.start()
	d.Device.Outer(h, w, a, acc)
	d.stop("Outer", began)
}

// GRU measures the call.
func (d *Device) GRU(g device.Cell) {
	began := d.start()
	d.Device.GRU(g)
	d.stop("GRU", began)
}

// GRUGrad measures the call.
func (d *Device) GRUGrad(g device.CellGrad) {
	began := d.start()
	d.Device.GRUGrad(g)
	d.stop("GRUGrad", began)
}

// LSTM measures the call.
func (d *Device) LSTM(g device.Cell) {
	began := d.start()
	d.Device.LSTM(g)
	d.stop("LSTM", began)
}

// LSTMGrad measures the call.
func (d *Device) LSTMGrad(g device.CellGrad) {
	began := d.start()
	d.Device.LSTMGrad(g)
	d.stop("LSTMGrad", began)
}

// Gather measures the call.
func (d *Device) Gather(y, table device.Mat, rows device.Ints, per int) {
	began := d.start()
	d.Device.Gather(y, table, rows, per)
	d.stop("Gather", began)
}

// ScatterAdd measures the call.
func (d *Device) ScatterAdd(table, y device.Mat, rows device.Ints, per int) {
	began := d.start()
	d.Device.ScatterAdd(table, y, rows, per)
	d.stop("ScatterAdd", began)
}

// Assign measures the call.
func (d *Device) Assign(table, y device.Mat, rows device.Ints) {
	began := d.start()
	d.Device.Assign(table, y, rows)
	d.stop("Assign", began)
}

// BCE measures the call.
func (d *Device) BCE(loss, dlogits, logits, labels device.Buffer) {
	began := d.start()
	d.Device.BCE(loss, dlogits, logits, labels)
	d.stop("BCE", began)
}

// Update measures the call.
func (d *Device) Update(u device.Update) {
	began := d.start()
	d.Device.Update(u)
	d.stop("Update", began)
}
