//go:build linux && !nogpu

package cuda

import (
	"fmt"

	"github.com/dygmamba/dygmamba/device"
)

// Limits of what kernels keep in registers.
const (
	maxKernel = 8
	fewStates = 16
	maxState  = 64
	maxBlock  = 1024
)

// Conv is the causal convolution with SiLU.
func (d *Device) Conv(c device.Conv) {
	d.with().mat(c.Y).mat(c.X).buf(c.W).buf(c.Bias).size(c.Batch).size(c.Len).size(c.Width).num(c.Kernel)
	const steps = 4 // of a thread
	d.over("conv", c.Batch*blocks(c.Len, steps)*c.Width, c.Batch, c.Len, c.Width)
}

// ConvGrad is its gradient.
func (d *Device) ConvGrad(c device.ConvGrad) {
	d.limit("ConvGrad", "a kernel", c.Kernel, maxKernel)
	form := "conv_grad"
	if c.Kernel > 4 {
		form = "conv_grad_long"
	}
	k, cols := c.Kernel, c.Width*(c.Kernel+1)
	part := d.partial((c.Batch + 1) * cols)
	sum, part := part.Slice(0, cols), part.Slice(cols, part.Len)
	d.with().mat(c.DX).mat(c.DY).mat(c.X).buf(c.W).buf(c.Bias).buf(part).size(c.Batch).size(c.Len).size(c.Width).num(k)
	d.over(form, c.Batch*c.Width, c.Batch, c.Len, c.Width)
	d.fold(sum, part, c.Batch, cols, cols, false)
	if c.DW.Len == 0 {
		return
	}
	d.Zip(device.Add, c.DW.Mat(c.Width, k), c.DW.Mat(c.Width, k), sum.Mat(c.Width, k+1).Columns(0, k))
	d.Zip(device.Add, c.DBias.Mat(c.Width, 1), c.DBias.Mat(c.Width, 1), sum.Mat(c.Width, k+1).Columns(k, k+1))
}

func scanWords(s device.Scan) []uint64 {
	w := []uint64{uint64(s.Batch), uint64(s.Len), uint64(s.Width), uint64(s.State)}
	for _, b := range []device.Buffer{s.U.Buf, s.Delta.Buf, s.ALog, s.B.Buf, s.C.Buf, s.Skip, s.Gate.Buf} {
		w = append(w, uint64(b.Addr))
	}
	for _, m := range []device.Mat{s.U, s.Delta, s.B, s.C, s.Gate} {
		w = append(w, uint64(m.Stride))
	}
	return append(w, uint64(s.Y.Buf.Addr), uint64(s.Y.Stride))
}

// scanReads is the memory that both directions read.
func scanReads(s device.Scan) []access {
	alog, skip := s.ALog.Mat(1, s.ALog.Len), s.Skip.Mat(1, s.Skip.Len)
	var a []access
	for _, m := range []device.Mat{s.U, s.Delta, alog, s.B, s.C, skip, s.Gate} {
		a = append(a, accessOf(m, false))
	}
	return a
}

// The forms of the scan and of its gradient: Euler, exact, and both for many states.
var (
	scanForms     = []string{"scan_euler", "scan_exact", "scan_euler_wide", "scan_exact_wide"}
	scanGradForms = []string{"scan_grad_euler", "scan_grad_exact", "scan_grad_euler_wide", "scan_grad_exact_wide"}
)

// scanForm is the kernel for s among four, and how many groups of states it has room for.
func scanForm(forms []string, s device.Scan) (kernel string, groups int) {
	groups = 1
	if s.State > fewStates {
		forms, groups = forms[2:], maxState/fewStates
	}
	if s.Exact {
		forms = forms[1:]
	}
	return forms[0], groups
}

// Scan is the selective scan.
func (d *Device) Scan(s device.Scan) {
	d.limit("Scan", "a state", s.State, maxState)
	d.limit("Scan", "a width", s.Width, maxBlock/2)
	if s.Len == 0 || s.Width == 0 {
		return
	}
	k, _ := scanForm(scanForms, s)
	d.with().words(scanWords(s), append(scanReads(s), accessOf(s.Y, true))...)
	d.grid(k, s.Batch, 1, 32*blocks(s.Width, 16), 1, 0, s.Batch, s.Len, s.Width, s.State)
}

// Shared memory in bytes that the backward scan takes for the states of a few steps.
const (
	scanShared = 64 << 10 // at most
	scanWanted = 55 << 10 // for several steps: four blocks then fit on a multiprocessor of Hopper
)

// ScanGrad is its gradient.
func (d *Device) ScanGrad(s device.ScanGrad) {
	d.limit("ScanGrad", "a state", s.State, maxState)
	d.limit("ScanGrad", "a width", s.Width, maxBlock/2)
	if s.Batch == 0 || s.Len == 0 {
		return
	}
	k, groups := scanForm(scanGradForms, s.Scan)
	lanes, rows, warps := s.Batch*s.Width, s.Batch*s.Len, blocks(s.Width, 16)
	own := 8 * groups                         // states of a thread
	bytes := 4 * own * (4 + 32*max(1, warps)) // of a step: B and C, and every thread's states
	d.limit("ScanGrad", "the states of a step in bytes", bytes, scanShared)
	steps := min(s.Len, 8, max(1, scanWanted/bytes))
	sizes := []int{blocks(s.Len, steps) * lanes * 2 * own, lanes * s.State, lanes, rows * warps * groups * 32}
	total := 0
	for _, n := range sizes {
		total += n
	}
	work := d.partial(total)
	var part [4]device.Buffer // marks, shares of ALog, of Skip, of B and C
	for i, n := range sizes {
		part[i], work = work.Slice(0, n), work.Slice(n, work.Len)
	}
	if s.DSkip.Len == 0 {
		part[2].Addr = 0
	}
	w := scanWords(s.Scan)
	for _, b := range []device.Buffer{s.DY.Buf, s.DU.Buf, s.DDelta.Buf, s.DGate.Buf} {
		w = append(w, uint64(b.Addr))
	}
	for _, m := range []device.Mat{s.DY, s.DU, s.DDelta, s.DGate} {
		w = append(w, uint64(m.Stride))
	}
	w = append(w, uint64(part[0].Addr), uint64(steps), uint64(part[1].Addr), uint64(part[2].Addr), uint64(part[3].Addr),
		uint64(warps))
	inside := append(scanReads(s.Scan), accessOf(s.DY, false))
	for _, m := range []device.Mat{s.DU, s.DDelta, s.DGate} {
		inside = append(inside, accessOf(m, true))
	}
	for _, p := range part {
		inside = append(inside, accessOf(p.Mat(1, p.Len), true))
	}
	d.with().words(w, inside...)
	if warps > 0 {
		d.grid(k, s.Batch, 1, 32*warps, 1, steps*bytes, s.Batch, s.Len, s.Width, s.State)
	}
	d.fold(s.DALog, part[1], s.Batch, s.Width*s.State, s.Width*s.State, true)
	d.fold(s.DSkip, part[2], s.Batch, s.Width, s.Width, true)
	d.with().mat(s.DB).mat(s.DC).buf(part[3]).size(warps).size(groups).size(rows).size(s.State)
	d.over("scan_fold", rows*groups*32, rows, warps)
}

func (d *Device) limit(kernel, what string, got, most int) {
	if got > most {
		panic(&device.Failure{Device: d.name, Call: kernel,
			Reason: fmt.Sprintf("%s of %d is more than this device takes (%d)", what, got, most)})
	}
}

// TimeCode encodes times.
func (d *Device) TimeCode(t device.TimeCode) {
	d.with().mat(t.Y).buf(t.Delta).buf(t.W).buf(t.Bias).ints(t.Mask).size(t.Y.Rows).size(t.Y.Cols)
	d.over("time_code", t.Y.Rows*t.Y.Cols, t.Y.Rows, t.Y.Cols)
}

// TimeCodeGrad is its gradient.
func (d *Device) TimeCodeGrad(t device.TimeCodeGrad) {
	n, cols := t.DY.Rows, t.DY.Cols
	count, each := pieces(n)
	part := d.partial(2 * 2 * count * cols) // float64
	d.with().buf(part).mat(t.DY).buf(t.Delta).buf(t.W).buf(t.Bias).ints(t.Mask).size(n).size(cols).size(each)
	d.grid("time_part", blocks(cols, 32), count, 32, 8, 0, n, cols)
	d.with().buf(t.DW).buf(t.DBias).buf(part).size(count).size(cols)
	d.columns("time_fold", 2*cols, n, cols)
}

// Pool sums sequences with weights.
func (d *Device) Pool(y, w, h device.Mat) {
	d.with().mat(y).mat(w).mat(h).size(w.Rows).size(w.Cols).size(h.Cols)
	d.over("pool", w.Rows*h.Cols, w.Rows, w.Cols, h.Cols)
}

// Dot multiplies vectors with sequences.
func (d *Device) Dot(w, a, h device.Mat) {
	d.with().mat(w).mat(a).mat(h).size(w.Rows).size(w.Cols).size(h.Cols)
	d.warps("dot", w.Rows*w.Cols, w.Rows, w.Cols, h.Cols)
}

// Outer multiplies weights with vectors.
func (d *Device) Outer(h, w, a device.Mat, acc bool) {
	d.with().mat(h).mat(w).mat(a).size(w.Rows).size(w.Cols).size(h.Cols).flag(acc)
	d.pointwise("outer", h, a)
}

// GRU is the pointwise part of a GRU cell.
func (d *Device) GRU(g device.Cell) {
	n, h := g.State.Rows, g.State.Cols
	d.with().mat(g.NewState).mat(g.State).mat(g.X).mat(g.H).size(n).size(h)
	d.over("gru", n*h, n, h)
}

// GRUGrad is its gradient.
func (d *Device) GRUGrad(g device.CellGrad) {
	n, h := g.State.Rows, g.State.Cols
	d.with().mat(g.DX).mat(g.DH).mat(g.DState).mat(g.DNewState).mat(g.State).mat(g.X).mat(g.H).size(n).size(h)
	d.over("gru_grad", n*h, n, h)
}

// LSTM is the pointwise part of an LSTM cell.
func (d *Device) LSTM(g device.Cell) {
	n, h := g.Carry.Rows, g.Carry.Cols
	d.with().mat(g.NewState).mat(g.NewCarry).mat(g.Carry).mat(g.X).mat(g.H).size(n).size(h)
	d.over("lstm", n*h, n, h)
}

// LSTMGrad is its gradient.
func (d *Device) LSTMGrad(g device.CellGrad) {
	n, h := g.Carry.Rows, g.Carry.Cols
	d.with().mat(g.DX).mat(g.DH).mat(g.DCarry).mat(g.DNewState).mat(g.DNewCarry).mat(g.NewCarry).mat(g.Carry).mat(g.X).
		mat(g.H).size(n).size(h)
	d.over("lstm_grad", n*h, n, h)
}
