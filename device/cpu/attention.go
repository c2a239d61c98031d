package cpu

import "github.com/dygmamba/dygmamba/device"

// Attention attends; a chunk is a few items of the batch. A query all of whose keys count as −Inf gets zero weights,
// and zeros.
func (d *Device) Attention(a device.Attention) {
	if a.Batch == 0 || a.Heads == 0 || a.Queries == 0 || a.HeadDim == 0 {
		return
	}
	if d.byProducts(&a) {
		d.attentionProducts(a)
		return
	}
	d.attend(device.AttentionGrad{Attention: a}, attentionItem)
}

// AttentionGrad is its gradient. Keys with Mask 0 get none through the weights.
func (d *Device) AttentionGrad(a device.AttentionGrad) {
	if a.Batch == 0 || a.Heads == 0 || a.Keys == 0 || a.HeadDim == 0 {
		return
	}
	if d.byProducts(&a.Attention) {
		d.attentionGradProducts(a)
		return
	}
	d.attend(a, attentionGradItem)
}

func (d *Device) attend(a device.AttentionGrad, item func(t *attentionTask, b, worker int)) {
	each := rowsPerChunk(a.Heads * a.HeadDim * (a.Queries + 2*a.Keys))
	launchEach(d, &d.tasks.attention, attentionTask{AttentionGrad: a, dev: d, loops: &d.loops}, a.Batch, each, item)
}

type attentionTask struct {
	device.AttentionGrad
	dev   *Device
	loops *loops
}

// head is head h of row r of m.
func (t *attentionTask) head(m device.Mat, r, h int) []float32 {
	return row(m, r)[h*t.HeadDim : (h+1)*t.HeadDim]
}

// weights are the weights of one query and the number of the first of them.
func (t *attentionTask) weights(b, h, q int) (w []float32, first int) {
	first = ((b*t.Heads+h)*t.Queries + q) * t.Keys
	return t.Weights.Host[first : first+t.Keys], first
}

func (t *attentionTask) mask(b int) []int32 {
	if len(t.Mask.Host) == 0 {
		return nil
	}
	return t.Mask.Host[b*t.Keys : (b+1)*t.Keys]
}

func attentionItem(t *attentionTask, b, worker int) {
	keys := t.Keys
	dropped := t.dev.local(worker, keys)
	mask := t.mask(b)
	for h := range t.Heads {
		for q := range t.Queries {
			query, y := t.head(t.Q, b*t.Queries+q, h), t.head(t.Y, b*t.Queries+q, h)
			w, first := t.weights(b, h, q)
			for j := range w {
				w[j] = t.Scale * t.loops.dot(query, t.head(t.K, b*keys+j, h))
			}
			if mask != nil {
				fillMasked(w, mask, t.Fill)
			}
			t.loops.softmax(w)
			if t.Drop.Rate > 0 {
				t.dev.dropRun(dropped, w, first, t.Drop, worker)
				w = dropped
			}
			clear(y)
			for j, weight := range w {
				t.loops.axpy(y, t.head(t.V, b*keys+j, h), weight)
			}
		}
	}
}

func attentionGradItem(t *attentionTask, b, worker int) {
	keys := t.Keys
	work := t.dev.local(worker, 2*keys)
	dw, dropped := work[:keys], work[keys:]
	mask := t.mask(b)
	if t.Queries == 0 {
		clearRows(t.DK, b*keys, (b+1)*keys)
		clearRows(t.DV, b*keys, (b+1)*keys)
	}
	for h := range t.Heads {
		put := t.loops.zipsOne[device.Mul] // the first query writes, the others add
		for q := range t.Queries {
			if q > 0 {
				put = t.loops.axpy
			}
			query, dquery := t.head(t.Q, b*t.Queries+q, h), t.head(t.DQ, b*t.Queries+q, h)
			dy := t.head(t.DY, b*t.Queries+q, h)
			w, first := t.weights(b, h, q)
			used := w
			if t.Drop.Rate > 0 {
				t.dev.dropRun(dropped, w, first, t.Drop, worker)
				used = dropped
			}
			for j := range dw {
				put(t.head(t.DV, b*keys+j, h), dy, used[j])
				dw[j] = t.loops.dot(dy, t.head(t.V, b*keys+j, h))
			}
			if t.Drop.Rate > 0 {
				t.dev.dropRun(dw, dw, first, t.Drop, worker)
			}
			t.loops.softmaxGrad(dw, w, dw)
			if mask != nil {
				fillMasked(dw, mask, 0)
			}
			clear(dquery)
			for j, g := range dw {
				t.loops.axpy(dquery, t.head(t.K, b*keys+j, h), g*t.Scale)
				put(t.head(t.DK, b*keys+j, h), query, g*t.Scale)
			}
		}
	}
}
