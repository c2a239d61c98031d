// Package hook answers: how does someone come between a program and its device?
//
// A Hook wraps a device and gives every kernel, and every move of numbers, to one function, which runs it, times it,
// keeps it for later or leaves it out.
package hook

import "github.com/dygmamba/dygmamba/device"

// Hook is a device whose kernels, Write, WriteInts, Read and Zero are launched by a function. It embeds no Device, so
// that a kernel without a method here does not compile.
type Hook struct {
	device.Memory
	Device device.Device                   // may be nil where no kernel runs and Memory is written by hand
	Launch func(kernel string, run func()) // by the name of its method
}

var _ device.Device = (*Hook)(nil)

// New gives the kernels of dev to launch.
func New(dev device.Device, launch func(kernel string, run func())) Hook {
	return Hook{dev, dev, launch}
}

func (h *Hook) Write(dst device.Buffer, src []float32) {
	h.Launch("Write", func() { h.Device.Write(dst, src) })
}
func (h *Hook) WriteInts(dst device.Ints, src []int32) {
	h.Launch("WriteInts", func() { h.Device.WriteInts(dst, src) })
}
func (h *Hook) Read(dst []float32, src device.Buffer) {
	h.Launch("Read", func() { h.Device.Read(dst, src) })
}
func (h *Hook) MatMul(c, a, b device.Mat, g device.Gemm) {
	h.Launch("MatMul", func() { h.Device.MatMul(c, a, b, g) })
}
func (h *Hook) Transpose(y, x device.Buffer, batch, rows, cols int) {
	h.Launch("Transpose", func() { h.Device.Transpose(y, x, batch, rows, cols) })
}
func (h *Hook) Map(op device.Act, y, x device.Mat) {
	h.Launch("Map", func() { h.Device.Map(op, y, x) })
}
func (h *Hook) MapGrad(op device.Act, dx, x, y, dy device.Mat, drop device.Drop) {
	h.Launch("MapGrad", func() { h.Device.MapGrad(op, dx, x, y, dy, drop) })
}
func (h *Hook) Zip(op device.Op, z, x, y device.Mat) {
	h.Launch("Zip", func() { h.Device.Zip(op, z, x, y) })
}
func (h *Hook) ZipRow(op device.Op, z, x device.Mat, v device.Buffer) {
	h.Launch("ZipRow", func() { h.Device.ZipRow(op, z, x, v) })
}
func (h *Hook) ZipCol(op device.Op, z, x device.Mat, v device.Buffer) {
	h.Launch("ZipCol", func() { h.Device.ZipCol(op, z, x, v) })
}
func (h *Hook) Scale(y, x device.Mat, a float32) {
	h.Launch("Scale", func() { h.Device.Scale(y, x, a) })
}
func (h *Hook) Dropout(y, x device.Mat, p device.Drop) {
	h.Launch("Dropout", func() { h.Device.Dropout(y, x, p) })
}
func (h *Hook) ColSum(y device.Buffer, x device.Mat, acc bool) {
	h.Launch("ColSum", func() { h.Device.ColSum(y, x, acc) })
}
func (h *Hook) RowSum(y device.Buffer, x device.Mat) {
	h.Launch("RowSum", func() { h.Device.RowSum(y, x) })
}
func (h *Hook) Softmax(y, x device.Mat, mask device.Ints, fill float32) {
	h.Launch("Softmax", func() { h.Device.Softmax(y, x, mask, fill) })
}
func (h *Hook) SoftmaxGrad(dx, y, dy device.Mat) {
	h.Launch("SoftmaxGrad", func() { h.Device.SoftmaxGrad(dx, y, dy) })
}
func (h *Hook) Outer(y, w, a device.Mat, acc bool) {
	h.Launch("Outer", func() { h.Device.Outer(y, w, a, acc) })
}
func (h *Hook) Gather(y, table device.Mat, rows device.Ints, per int) {
	h.Launch("Gather", func() { h.Device.Gather(y, table, rows, per) })
}
func (h *Hook) ScatterAdd(table, y device.Mat, rows device.Ints, per int) {
	h.Launch("ScatterAdd", func() { h.Device.ScatterAdd(table, y, rows, per) })
}
func (h *Hook) Assign(table, y device.Mat, rows device.Ints) {
	h.Launch("Assign", func() { h.Device.Assign(table, y, rows) })
}
func (h *Hook) BCE(loss, dlogits, logits, labels device.Buffer) {
	h.Launch("BCE", func() { h.Device.BCE(loss, dlogits, logits, labels) })
}
func (h *Hook) CE(loss, dlogits, logits device.Buffer, targets, mask device.Ints) {
	h.Launch("CE", func() { h.Device.CE(loss, dlogits, logits, targets, mask) })
}

func (h *Hook) Zero(b device.Buffer)         { h.Launch("Zero", func() { h.Device.Zero(b) }) }
func (h *Hook) Copy(y, x device.Mat)         { h.Launch("Copy", func() { h.Device.Copy(y, x) }) }
func (h *Hook) Pool(y, w, s device.Mat)      { h.Launch("Pool", func() { h.Device.Pool(y, w, s) }) }
func (h *Hook) Dot(w, a, s device.Mat)       { h.Launch("Dot", func() { h.Device.Dot(w, a, s) }) }
func (h *Hook) Norm(n device.Norm)           { h.Launch("Norm", func() { h.Device.Norm(n) }) }
func (h *Hook) NormGrad(n device.NormGrad)   { h.Launch("NormGrad", func() { h.Device.NormGrad(n) }) }
func (h *Hook) Conv(c device.Conv)           { h.Launch("Conv", func() { h.Device.Conv(c) }) }
func (h *Hook) ConvGrad(c device.ConvGrad)   { h.Launch("ConvGrad", func() { h.Device.ConvGrad(c) }) }
func (h *Hook) Scan(s device.Scan)           { h.Launch("Scan", func() { h.Device.Scan(s) }) }
func (h *Hook) ScanGrad(s device.ScanGrad)   { h.Launch("ScanGrad", func() { h.Device.ScanGrad(s) }) }
func (h *Hook) Attention(a device.Attention) { h.Launch("Attention", func() { h.Device.Attention(a) }) }
func (h *Hook) TimeCode(t device.TimeCode)   { h.Launch("TimeCode", func() { h.Device.TimeCode(t) }) }
func (h *Hook) GRU(c device.Cell)            { h.Launch("GRU", func() { h.Device.GRU(c) }) }
func (h *Hook) GRUGrad(c device.CellGrad)    { h.Launch("GRUGrad", func() { h.Device.GRUGrad(c) }) }
func (h *Hook) LSTM(c device.Cell)           { h.Launch("LSTM", func() { h.Device.LSTM(c) }) }
func (h *Hook) LSTMGrad(c device.CellGrad)   { h.Launch("LSTMGrad", func() { h.Device.LSTMGrad(c) }) }
func (h *Hook) Update(u device.Update)       { h.Launch("Update", func() { h.Device.Update(u) }) }

func (h *Hook) AttentionGrad(a device.AttentionGrad) {
	h.Launch("AttentionGrad", func() { h.Device.AttentionGrad(a) })
}
func (h *Hook) TimeCodeGrad(t device.TimeCodeGrad) {
	h.Launch("TimeCodeGrad", func() { h.Device.TimeCodeGrad(t) })
}
func (h *Hook) DecayedProducts(p device.DecayedProducts) {
	h.Launch("DecayedProducts", func() { h.Device.DecayedProducts(p) })
}
