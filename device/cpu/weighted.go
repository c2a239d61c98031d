package cpu

import "github.com/dygmamba/dygmamba/device"

// poolTask is one of the three products of w [B,P], a [B,D] and h [B·P,D]; a chunk is a run of sequences.
type poolTask struct {
	w, a, h device.Mat
	loops   *loops
	step    func(l *loops, w *float32, a, h []float32) // of a weight and its row of h
	clears  bool                                       // a, before the first
}

// Pool sums a sequence's rows by weight: y[b,:] = Σ_j w[b,j]·h[b,j,:].
func (d *Device) Pool(y, w, h device.Mat) {
	d.weighted(poolTask{w: w, a: y, h: h, clears: true, step: func(l *loops, w *float32, a, h []float32) {
		l.axpy(a, h, *w)
	}})
}

// Dot is the product of each of a sequence's rows with the sequence's vector: w[b,j] = Σ_c a[b,c]·h[b,j,c].
func (d *Device) Dot(w, a, h device.Mat) {
	d.weighted(poolTask{w: w, a: a, h: h, step: func(l *loops, w *float32, a, h []float32) { *w = l.dot(a, h) }})
}

// Outer spreads a sequence's vector by weight: h[b,j,:] = w[b,j]·a[b,:], or adds that.
func (d *Device) Outer(h, w, a device.Mat, acc bool) {
	t := poolTask{w: w, a: a, h: h, step: func(l *loops, w *float32, a, h []float32) { l.scale(h, a, *w) }}
	if acc {
		t.step = func(l *loops, w *float32, a, h []float32) { l.axpy(h, a, *w) }
	}
	d.weighted(t)
}

func (d *Device) weighted(t poolTask) {
	t.loops = &d.loops
	launchEach(d, &d.tasks.pooling, t, t.a.Rows, rowsPerChunk(t.w.Cols*t.a.Cols), func(t *poolTask, b, _ int) {
		w, a := row(t.w, b), row(t.a, b)
		if t.clears {
			clear(a)
		}
		for j := range w {
			t.step(t.loops, &w[j], a, row(t.h, b*len(w)+j))
		}
	})
}
