//go:build linux && !nogpu

package cuda

import "github.com/dygmamba/dygmamba/device"

// Attention is multi-head attention.
func (d *Device) Attention(a device.Attention) {
	rows := a.Batch * a.Heads * a.Queries
	d.scores(a.Weights, a.Q, a.K, a.Scale, a)
	d.with().buf(a.Weights).size(a.Keys).buf(a.Weights).size(a.Keys).ints(a.Mask).size(a.Heads * a.Queries).float(a.Fill).size(rows).size(a.Keys)
	d.warps(kSoftmax, rows, rows, a.Keys)
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
	d.with().buf(w).mat(x).mat(y).float(scale).size(a.Batch).size(a.Heads).size(a.Queries).size(a.Keys).size(a.HeadDim)
	d.over(kScores, a.Batch*a.Heads*a.Queries*a.Keys, a.Batch, a.Heads, a.Queries, a.Keys, a.HeadDim)
}

// mix sums v over keys, or over queries when transposed.
func (d *Device) mix(y device.Mat, w device.Buffer, v device.Mat, scale float32, a device.Attention, transposed bool) {
	outs := a.Queries
	if transposed {
		outs = a.Keys
	}
	d.with().mat(y).buf(w).mat(v).float(scale).size(a.Batch).size(a.Heads).size(a.Queries).size(a.Keys).size(a.HeadDim).flag(transposed)
	d.over(kMix, a.Batch*outs*a.Heads*a.HeadDim, a.Batch, a.Heads, a.Queries, a.Keys, a.HeadDim)
}
