package cpu

import "time"

// Peak measures how many floating-point operations a second this device's threads do in fused multiply-adds that touch
// no memory. It takes some milliseconds, and is 0 for the plain kernels.
func (d *Device) Peak() float64 {
	if d.loops.fma == nil {
		return 0
	}
	const rounds, flops = 20_000, 24 * 8 * 2 // 24 multiply-adds of eight lanes in a round
	chunks := 16 * d.workers
	start := time.Now()
	launchEach(d, new(job[func(int)]), d.loops.fma, chunks, 1, func(fma *func(int), _, _ int) { (*fma)(rounds) })
	return float64(chunks*rounds) * flops / time.Since(start).Seconds()
}
