package cpu

import "time"

// fmaFlops is the arithmetic of one round of loops.fma: 24 multiply-adds of eight lanes.
const fmaFlops = 24 * 8 * 2

// Peak measures how many floating-point operations a second this device's threads do in fused multiply-adds that touch
// no memory. It takes some milliseconds, and is 0 for the plain kernels.
func (d *Device) Peak() float64 {
	if d.loops.fma == nil {
		return 0
	}
	const chunks, rounds = 16, 20_000
	t := peakTask{d.loops.fma, rounds}
	start := time.Now()
	d.parallel(chunks*d.workers, &t)
	return float64(chunks*d.workers*rounds) * fmaFlops / time.Since(start).Seconds()
}

type peakTask struct {
	fma    func(n int)
	rounds int
}

func (t *peakTask) run(_, _ int) { t.fma(t.rounds) }
