package cpu

import "github.com/dygmamba/dygmamba/device"

// fused holds the reused arguments and the chosen inner loops of the kernels that work on rows and sequences.
type fused struct {
	vector bool // use the vector forms
	loops  rowLoops

	scan      scanTask
	scanGrad  scanGradTask
	conv      convTask
	convGrad  convGradTask
	norm      normTask
	normGrad  normGradTask
	softmax   softmaxTask
	attention attentionTask
	batch     attentionBatch
	weights   []float32 // see attentionBatch.memory
	pooling   poolTask
	cell      cellTask
	gather    gatherTask
	scatter   scatterTask
	rowSum    rowSumTask
}

// choose sets the vector forms, or the plain ones.
func (f *fused) choose(vector bool) {
	f.vector, f.loops = vector, plainRowLoops()
	if vector {
		useRowVectors(&f.loops)
	}
}

// maxShares bounds the number of chunks of a kernel that keeps partial sums for each.
const maxShares = 64

// share is the size of chunks that cut n into at most maxShares.
func share(n int) int { return max(1, pieces(n, maxShares)) }

// row is row r of m.
func row(m device.Mat, r int) []float32 {
	lo := r * m.Stride
	return m.Buf.Host[lo : lo+m.Cols : lo+m.Cols]
}

// clearRows sets rows [lo, hi) of m to zero.
func clearRows(m device.Mat, lo, hi int) {
	for r := lo; r < hi; r++ {
		clear(row(m, r))
	}
}

// addShares adds the partial sums to dst, in the order of the chunks: dst[i] += Σ_k parts[k·step+i].
func addShares(dst, parts []float32, step, count int) {
	for i := range dst {
		sum := parts[i]
		for k := 1; k < count; k++ {
			sum += parts[k*step+i]
		}
		dst[i] += sum
	}
}
