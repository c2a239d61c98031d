package cpu

import "unsafe"

// productDotArgs are the arguments of productDots.
type productDotArgs struct {
	x           [2]uintptr
	y           [4]uintptr
	whole, tail int // bytes of whole vectors, numbers beyond
	mask        uintptr
	sum         uintptr // [8]
}

//go:noescape
func productDots(a *productDotArgs)

//go:noescape
func productLogs(y, factor *float32, n int)

// productsVector takes the products of a row of Y: two vectors at a time against four.
func productsVector(t *decayTask, y []float32, r int) {
	var sum, factor [four * all]float32
	var a productDotArgs
	a.whole, a.tail, a.mask = columns(t.Dim)
	q := r / t.Each % t.Src.Len
	for s := range t.Rates.Len {
		of := t.at(t.Of.Host[r], t.Age.Host[r], s)
		nodes := [2]agedRow{t.at(t.Src.Host[q], t.SrcAge.Host[q], s), t.at(t.Dst.Host[q], t.DstAge.Host[q], s)}
		out := y[s*four*all:][: four*all : four*all]
		for n := range nodes {
			for b := range four {
				a.y[b] = addr(&t.vector(&nodes[n], s, b)[0])
			}
			for l := 0; l < four; l += 2 {
				a.x = [2]uintptr{addr(&t.vector(&of, s, l)[0]), addr(&t.vector(&of, s, l+1)[0])}
				a.sum = addr(&sum[0])
				productDots(&a)
				copy(out[l*all+n*four:][:four], sum[:four])
				copy(out[(l+1)*all+n*four:][:four], sum[four:])
			}
			for l := range four {
				for b := range four {
					factor[l*all+n*four+b] = of.decay[l] * nodes[n].decay[b]
				}
			}
		}
		productLogs(unsafe.SliceData(out), &factor[0], len(factor))
	}
}
