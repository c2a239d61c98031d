package cpu

import (
	"math"

	"github.com/dygmamba/dygmamba/device"
)

// Which numbers a dropout keeps is a function of (Key, Stream, i), i being the number's place r·Cols+c, the same on
// every device. Philox4x32 with 7 rounds (Salmon et al., 2011) turns the counter (n, n>>32, Stream, 0) and the key into
// four words; element i takes word (i>>3)&3 of counter n = (i>>5)<<3 | i&7. So 32 neighbours share eight counters, and
// eight lanes of a vector hold eight counters. A number is kept where its word is at least Rate·2³².
const (
	philoxRounds = 7
	philoxMul0   = 0xD2511F53
	philoxMul1   = 0xCD9E8D57
	philoxKey0   = 0x9E3779B9
	philoxKey1   = 0xBB67AE85
	drawBlock    = 32 // numbers that share eight counters
)

// dropSpan is how many words a worker draws at once.
const dropSpan = 2048

// Dropout writes y = x/(1−Rate) where kept and 0 elsewhere.
func (d *Device) Dropout(y, x device.Mat, p device.Drop) {
	if p.Rate <= 0 {
		d.Copy(y, x)
		return
	}
	d.points(x.Dense() && y.Dense(), pointTask{y: y, x: x, drop: p, step: func(t *pointTask, r, lo, hi, worker int) {
		t.d.dropRun(run(t.y, r, lo, hi), run(t.x, r, lo, hi), r*t.x.Cols+lo, t.drop, worker)
	}})
}

// dropRun applies p to numbers first … first+len(x)−1 of a dropout.
func (d *Device) dropRun(y, x []float32, first int, p device.Drop, worker int) {
	words := &d.words[worker]
	least := uint32(min(float64(p.Rate)*(1<<32), math.MaxUint32))
	scale := float32(1 / (1 - float64(p.Rate)))
	key0, key1 := uint32(p.Key.Host[0]), uint32(p.Key.Host[1])
	if whole := len(x) / drawBlock * drawBlock; d.loops.drop != nil && first%drawBlock == 0 {
		d.loops.drop(y[:whole], x[:whole], uint64(first/4), p.Stream, key0, key1, least, scale)
		y, x, first = y[whole:], x[whole:], first+whole
	}
	for len(x) > 0 {
		skip := first % drawBlock
		n := min(len(x), dropSpan-skip)
		w := words[:pieces(skip+n, drawBlock)*drawBlock]
		d.loops.draw(w, uint64(first/drawBlock*8), p.Stream, key0, key1)
		d.loops.keep(y[:n], x[:n], w[skip:skip+n], least, scale)
		y, x, first = y[n:], x[n:], first+n
	}
}

// drawPlain fills words, a multiple of 32, from the counters first, first+1, ….
func drawPlain(words []uint32, first uint64, stream, key0, key1 uint32) {
	for b := 0; b < len(words); b += drawBlock {
		for lane := range 8 {
			n := first + uint64(b/4+lane)
			c := philox([4]uint32{uint32(n), uint32(n >> 32), stream, 0}, key0, key1)
			for j, w := range c {
				words[b+8*j+lane] = w
			}
		}
	}
}

func philox(c [4]uint32, key0, key1 uint32) [4]uint32 {
	for range philoxRounds {
		p0, p1 := uint64(c[0])*philoxMul0, uint64(c[2])*philoxMul1
		c = [4]uint32{uint32(p1>>32) ^ c[1] ^ key0, uint32(p1), uint32(p0>>32) ^ c[3] ^ key1, uint32(p0)}
		key0 += philoxKey0
		key1 += philoxKey1
	}
	return c
}

// keepPlain is y = x·scale where the word is least or more, else 0.
func keepPlain(y, x []float32, words []uint32, least uint32, scale float32) {
	for i, v := range x {
		if words[i] < least {
			y[i] = 0
		} else {
			y[i] = v * scale
		}
	}
}
