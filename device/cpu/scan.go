package cpu

import "github.com/dygmamba/dygmamba/device"

// Letters as in the paper: B sequences of L steps, D channels, N states in a channel.

// Scan runs the selective recurrence; a chunk is a few whole sequences.
func (d *Device) Scan(s device.Scan) {
	if s.Batch == 0 || s.Len == 0 || s.Width == 0 {
		return
	}
	const updates = 1 << 16 // of states in a chunk of short sequences
	each := max(share(s.Batch), updates/(s.Len*s.Width*max(1, s.State)))
	j, l := &d.tasks.scan, d.scanLoops(s.State)
	t := &j.args
	*t = scanTask{ScanGrad: device.ScanGrad{Scan: s}, dev: d}
	t.table = d.scratch(l.scanTable(nil, &t.Scan))
	l.scanTable(t.table, &t.Scan)
	j.start(d, s.Batch, each, l.scan, nil)
}

// scanLoops are the chosen forms; a scan without states has a plain form only.
func (d *Device) scanLoops(state int) *loops {
	if state == 0 {
		return &plain
	}
	return &d.loops
}

type scanTask struct {
	device.ScanGrad
	dev   *Device
	table []float32
	sums  // for the gradient: those of A [D·N] and of Skip [D]
}

// partial are the gradients of A and Skip that the chunk from sequence lo adds up.
func (t *scanTask) partial(lo int) (da, dskip []float32) {
	part, at := t.sums.of(lo), t.Width*t.State
	return part[:at], part[at:]
}

// scanTablePlain is A = −exp(ALog) [D·N].
func scanTablePlain(table []float32, s *device.Scan) int {
	for i := range table {
		table[i] = -exp32(s.ALog.Host[i])
	}
	return s.Width * s.State
}

func scanPlain(t *scanTask, lo, hi, worker int) {
	h := t.dev.local(worker, t.State)
	for b := lo; b < hi; b++ {
		for c := range t.Width {
			clear(h)
			scanChannel(&t.Scan, t.table[c*t.State:], h, b, c)
		}
	}
}

// scanChannel is the recurrence of channel c of sequence b, with its rates a and its state h.
func scanChannel(s *device.Scan, a, h []float32, b, c int) {
	for r := b * s.Len; r < (b+1)*s.Len; r++ {
		u, delta := s.U.Buf.Host[r*s.U.Stride+c], s.Delta.Buf.Host[r*s.Delta.Stride+c]
		in, out := row(s.B, r)[:len(h)], row(s.C, r)[:len(h)]
		var y float32
		for i := range h {
			decay, weight := discretise(delta, a[i], s.Exact)
			h[i] = decay*h[i] + weight*in[i]*u
			y += out[i] * h[i]
		}
		if s.Skip.Len > 0 {
			y += s.Skip.Host[c] * u
		}
		if s.Gate.Given() {
			y *= silu32(s.Gate.Buf.Host[r*s.Gate.Stride+c])
		}
		s.Y.Buf.Host[r*s.Y.Stride+c] = y
	}
}

// discretise turns the rate a over a step delta into the decay of the state and the weight of the input.
func discretise(delta, a float32, exact bool) (decay, weight float32) {
	if !exact {
		return exp32(delta * a), delta
	}
	return exp32(delta * a), expm1f(delta*a) / a
}

// expm1f is eˣ−1 without cancellation near 0.
func expm1f(x float32) float32 {
	if x > -0.3 && x < 0.3 {
		p := float32(1.0 / 5040)
		p = p*x + 1.0/720
		p = p*x + 1.0/120
		p = p*x + 1.0/24
		p = p*x + 1.0/6
		p = p*x + 0.5
		return p*x*x + x
	}
	return exp32(x) - 1
}
