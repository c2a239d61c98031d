package cpu

import "github.com/dygmamba/dygmamba/device"

// Pool sums a sequence's rows by weight: y[b,:] = Σ_j w[b,j]·h[b,j,:].
func (d *Device) Pool(y, w, h device.Mat) { d.weighted(poolTask{op: poolSum, w: w, a: y, h: h}) }

// Dot is the product of each of a sequence's rows with the sequence's vector: w[b,j] = Σ_c a[b,c]·h[b,j,c].
func (d *Device) Dot(w, a, h device.Mat) { d.weighted(poolTask{op: poolDot, w: w, a: a, h: h}) }

// Outer spreads a sequence's vector by weight: h[b,j,:] = w[b,j]·a[b,:], or adds that.
func (d *Device) Outer(h, w, a device.Mat, acc bool) {
	op := poolOuter
	if acc {
		op = poolOuterAdd
	}
	d.weighted(poolTask{op: op, w: w, a: a, h: h})
}

func (d *Device) weighted(t poolTask) {
	if t.a.Rows == 0 {
		return
	}
	t.loops, t.scale = &d.fused.rows, d.loops.scale
	t.each = rowsPerChunk(t.w.Cols * t.a.Cols)
	d.fused.pooling = t
	d.parallel(pieces(t.a.Rows, t.each), &d.fused.pooling)
}

type poolOp uint8

const (
	poolSum poolOp = iota
	poolDot
	poolOuter
	poolOuterAdd
)

// poolTask is one of the three products of w [B,P], a [B,D] and h [B·P,D]; a chunk is a run of sequences.
type poolTask struct {
	op      poolOp
	w, a, h device.Mat
	loops   *rowLoops
	scale   func(y, x []float32, k float32)
	each    int
}

func (t *poolTask) run(chunk, _ int) {
	p := t.w.Cols
	for b := chunk * t.each; b < min(t.a.Rows, (chunk+1)*t.each); b++ {
		w, a := row(t.w, b), row(t.a, b)
		if t.op == poolSum {
			clear(a)
		}
		for j := range p {
			h := row(t.h, b*p+j)
			switch t.op {
			case poolSum:
				t.loops.axpy(a, h, w[j])
			case poolDot:
				w[j] = t.loops.dot(a, h)
			case poolOuter:
				t.scale(h, a, w[j])
			case poolOuterAdd:
				t.loops.axpy(h, a, w[j])
			}
		}
	}
}
