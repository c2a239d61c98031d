package cpu

import "github.com/dygmamba/dygmamba/device"

// Attention with many queries, as products of all items' matrices at once, one head after the other: the sequences of a
// transformer. With few queries the loops of attention.go are faster than packing matrices.

// byProducts reports whether a's sizes are worth it.
func (d *Device) byProducts(a *device.Attention) bool {
	const least = 8
	return d.loops.tile.wide != nil && a.Queries >= least && a.Keys >= least && a.HeadDim >= least
}

// attentionBatch is attention's arguments, and its steps between the products.
type attentionBatch struct {
	device.AttentionGrad
	dev      *Device
	dw, used []float32 // like Weights: their gradients, and what dropout leaves of them
}

// rows runs a step on the weights of every query, row by row.
func (t *attentionBatch) rows(step func(t *attentionBatch, row, worker int)) {
	t.dev.tasks.batch.start(t.dev, t.Batch*t.Heads*t.Queries, rowsPerChunk(t.Keys), nil, step)
}

// multiply computes c = a·b for every item; a head's matrices are given for the first item, the distances to the next
// item follow.
func (t *attentionBatch) multiply(c, a, b device.Mat, stepC, stepA, stepB int, transA, transB bool) {
	t.dev.MatMul(c, a, b, device.Gemm{TransA: transA, TransB: transB, Batch: t.Batch, StepA: stepA, StepB: stepB,
		StepC: stepC})
}

// head is the part of an item's first rows that belongs to head h.
func (t *attentionBatch) head(m device.Mat, rows, h int) device.Mat {
	return m.Band(0, rows).Columns(h*t.HeadDim, (h+1)*t.HeadDim)
}

// square is the matrix of the first item's weights of head h in w, which is laid out like Weights.
func (t *attentionBatch) square(w []float32, h int) device.Mat {
	lo := h * t.Queries * t.Keys
	return device.Buffer{Host: w[lo:], Len: len(w) - lo}.Mat(t.Queries, t.Keys)
}

func (t *attentionBatch) item() int { return t.Heads * t.Queries * t.Keys }

// memory is n numbers that live until the kernel returns, next to the scratch that products use.
func (t *attentionBatch) memory(n int) []float32 {
	if cap(t.dev.weights) < n {
		t.dev.weights = make([]float32, n)
	}
	return t.dev.weights[:n]
}

func (d *Device) attentionProducts(a device.Attention) {
	t := &d.tasks.batch.args
	*t = attentionBatch{AttentionGrad: device.AttentionGrad{Attention: a}, dev: d}
	w := a.Weights.Host[:a.Batch*t.item()]
	for h := range a.Heads {
		t.multiply(t.square(w, h), t.head(a.Q, a.Queries, h), t.head(a.K, a.Keys, h), t.item(), a.Queries*a.Q.Stride,
			a.Keys*a.K.Stride, false, true)
	}
	t.used = w
	if a.Drop.Rate > 0 {
		t.used = t.memory(len(w))
	}
	t.rows((*attentionBatch).weigh)
	for h := range a.Heads {
		t.multiply(t.head(a.Y, a.Queries, h), t.square(t.used, h), t.head(a.V, a.Keys, h), a.Queries*a.Y.Stride,
			t.item(), a.Keys*a.V.Stride, false, false)
	}
}

// weigh turns the products of a query into weights, and into what dropout leaves of them.
func (t *attentionBatch) weigh(r, worker int) {
	first := r * t.Keys
	w := t.Weights.Host[first : first+t.Keys]
	t.dev.loops.scale(w, w, t.Scale)
	if len(t.Mask.Host) > 0 {
		fillMasked(w, t.Mask.Host[r/(t.Heads*t.Queries)*t.Keys:], t.Fill)
	}
	t.dev.loops.softmax(w)
	if t.Drop.Rate > 0 {
		t.dev.dropRun(t.used[first:first+t.Keys], w, first, t.Drop, worker)
	}
}

func (d *Device) attentionGradProducts(a device.AttentionGrad) {
	t := &d.tasks.batch.args
	*t = attentionBatch{AttentionGrad: a, dev: d}
	n := a.Batch * t.item()
	w, dropped := a.Weights.Host[:n], a.Drop.Rate > 0
	if dropped {
		both := t.memory(2 * n)
		t.dw, t.used = both[:n], both[n:]
		t.rows((*attentionBatch).drop)
	} else {
		t.dw, t.used = t.memory(n), w
	}
	for h := range a.Heads {
		dy := t.head(a.DY, a.Queries, h)
		t.multiply(t.head(a.DV, a.Keys, h), t.square(t.used, h), dy, a.Keys*a.DV.Stride, t.item(),
			a.Queries*a.DY.Stride, true, false)
		t.multiply(t.square(t.dw, h), dy, t.head(a.V, a.Keys, h), t.item(), a.Queries*a.DY.Stride,
			a.Keys*a.V.Stride, false, true)
	}
	t.rows((*attentionBatch).weighGrad)
	for h := range a.Heads {
		dw := t.square(t.dw, h)
		t.multiply(t.head(a.DQ, a.Queries, h), dw, t.head(a.K, a.Keys, h), a.Queries*a.DQ.Stride, t.item(),
			a.Keys*a.K.Stride, false, false)
		t.multiply(t.head(a.DK, a.Keys, h), dw, t.head(a.Q, a.Queries, h), a.Keys*a.DK.Stride, t.item(),
			a.Queries*a.Q.Stride, true, false)
	}
}

func (t *attentionBatch) drop(r, worker int) {
	first := r * t.Keys
	t.dev.dropRun(t.used[first:first+t.Keys], t.Weights.Host[first:first+t.Keys], first, t.Drop, worker)
}

// weighGrad turns the gradients of a query's weights into those of the products.
func (t *attentionBatch) weighGrad(r, worker int) {
	first := r * t.Keys
	dw := t.dw[first : first+t.Keys]
	if t.Drop.Rate > 0 {
		t.dev.dropRun(dw, dw, first, t.Drop, worker)
	}
	t.dev.loops.softmaxGrad(dw, t.Weights.Host[first:first+t.Keys], dw)
	if len(t.Mask.Host) > 0 {
		fillMasked(dw, t.Mask.Host[r/(t.Heads*t.Queries)*t.Keys:], 0)
	}
	t.dev.loops.scale(dw, dw, t.Scale)
}
