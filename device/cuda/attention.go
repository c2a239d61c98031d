//go:build linux && !nogpu

package cuda

import "github.com/dygmamba/dygmamba/device"

// Attention is multi-head attention.
func (d *Device) Attention(a device.Attention) {
	rows := a.Batch * a.Heads * a.Queries
	d.scores(a.Weights, a.Q, a.K, a.Scale, a)
	d.with().buf(a.Weights).size(a.Keys).buf(a.Weights).size(a.Keys).ints(a.Mask).size(a.Heads * a.Queries).
		float(a.Fill).size(rows).size(a.Keys)
	d.warps("softmax", rows, rows, a.Keys)
	w := a.Weights
	if a.Drop.Rate > 0 {
		w = d.partial(rows * a.Keys)
		d.Dropout(w.Mat(rows, a.Keys), a.Weights.Mat(rows, a.Keys), a.Drop)
	}
	d.mix(a.Y, w, a.V, 1, a, false)
}

// AttentionGrad is its gradient.
func (d *Device) AttentionGrad(a device.AttentionGrad) {
	rows := a.Batch * a.Heads * a.Queries
	work := d.partial(2 * rows * a.Keys)
	dw, kept := work.Slice(0, rows*a.Keys), work.Slice(rows*a.Keys, work.Len)
	w, p, g := a.Weights, a.Weights.Mat(rows, a.Keys), dw.Mat(rows, a.Keys)
	if a.Drop.Rate > 0 {
		w = kept
		d.Dropout(w.Mat(rows, a.Keys), p, a.Drop)
	}
	d.mix(a.DV, w, a.DY, 1, a.Attention, true)
	d.scores(dw, a.DY, a.V, 1, a.Attention)
	if a.Drop.Rate > 0 {
		d.Dropout(g, g, a.Drop)
	}
	d.softmaxGrad(g, p, g, a.Mask, a.Heads*a.Queries)
	d.mix(a.DQ, dw, a.K, a.Scale, a.Attention, false)
	d.mix(a.DK, dw, a.Q, a.Scale, a.Attention, true)
}

// scores writes w[b,h,q,k] = scale·x[b,q]·y[b,k] over the head's columns.
func (d *Device) scores(w device.Buffer, x, y device.Mat, scale float32, a device.Attention) {
	if byProducts(&a) {
		for h := range a.Heads {
			d.multiplyHead(scoresOf(h, w, x, y, &a), scale)
		}
		return
	}
	d.with().buf(w).mat(x).mat(y).float(scale).size(a.Batch).size(a.Heads).size(a.Queries).size(a.Keys).size(a.HeadDim)
	d.over("attention_scores", a.Batch*a.Heads*a.Queries*a.Keys, a.Batch, a.Heads, a.Queries, a.Keys, a.HeadDim)
}

// mix sums v over keys, or over queries when transposed.
func (d *Device) mix(y device.Mat, w device.Buffer, v device.Mat, scale float32, a device.Attention, transposed bool) {
	if byProducts(&a) {
		for h := range a.Heads {
			d.multiplyHead(mixOf(h, y, w, v, &a, transposed), scale)
		}
		return
	}
	outs := a.Queries
	if transposed {
		outs = a.Keys
	}
	d.with().mat(y).buf(w).mat(v).float(scale).size(a.Batch).size(a.Heads).size(a.Queries).size(a.Keys).size(a.HeadDim).
		flag(transposed)
	d.over("attention_mix", a.Batch*outs*a.Heads*a.HeadDim, a.Batch, a.Heads, a.Queries, a.Keys, a.HeadDim)
}

// byProducts reports whether a's matrices are large enough for cuBLAS: one product for all items of the batch, head by
// head. The sequences of a transformer are; a node and its neighbours, one query each, are not.
func byProducts(a *device.Attention) bool {
	const least = 8
	return a.Batch > 0 && a.Queries >= least && a.Keys >= least && a.HeadDim >= least
}

// headProduct is a product of one head's matrices, those of the first item; Gemm says how far it is to the next.
type headProduct struct {
	c, a, b device.Mat
	gemm    device.Gemm
	inner   int
}

func (d *Device) multiplyHead(p headProduct, scale float32) {
	if d.mode != replaying {
		d.alpha = scale
		d.product(p.c, p.a, p.b, p.gemm, p.inner, p.gemm.Batch, &d.alpha)
	}
}

// scoresOf is w = x·yᵀ of head h.
func scoresOf(h int, w device.Buffer, x, y device.Mat, a *device.Attention) headProduct {
	c, step := square(h, w, a)
	return headProduct{c, head(h, x, a.Queries, a), head(h, y, a.Keys, a), device.Gemm{
		TransB: true, Batch: a.Batch, StepA: a.Queries * x.Stride, StepB: a.Keys * y.Stride, StepC: step}, a.HeadDim}
}

// mixOf is y = w·v of head h, or wᵀ·v.
func mixOf(h int, y device.Mat, w device.Buffer, v device.Mat, a *device.Attention, transposed bool) headProduct {
	outs, ins := a.Queries, a.Keys
	if transposed {
		outs, ins = ins, outs
	}
	s, step := square(h, w, a)
	return headProduct{head(h, y, outs, a), s, head(h, v, ins, a), device.Gemm{
		TransA: transposed, Batch: a.Batch, StepA: step, StepB: ins * v.Stride, StepC: outs * y.Stride}, ins}
}

// head is head h of the first item, which has this many rows.
func head(h int, m device.Mat, rows int, a *device.Attention) device.Mat {
	return m.Band(0, rows).Columns(h*a.HeadDim, (h+1)*a.HeadDim)
}

// square is the matrix of the first item's weights of head h, and the distance to the next item's.
func square(h int, w device.Buffer, a *device.Attention) (first device.Mat, step int) {
	each := a.Queries * a.Keys
	return w.Slice(h*each, w.Len).Mat(a.Queries, a.Keys), a.Heads * each
}
