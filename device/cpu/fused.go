package cpu

import "github.com/dygmamba/dygmamba/device"

// fused holds the chosen loops and the reused arguments of the kernels that work on rows and sequences.
type fused struct {
	rows   rowLoops
	forms  forms
	vector bool

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
	assign    assignTask
	rowSum    rowSumTask
	products  decayTask
}

// forms are the bodies of kernels, for sequences or rows [lo, hi), in their plain or their vector form. The tables of
// scan and convolution are the parameters, laid out as the form likes them.
type forms struct {
	scanTable func(table []float32, s *device.Scan) int // fills the table, or returns its length when there is none yet
	scan      func(t *scanTask, lo, hi, worker int)
	scanGrad  func(t *scanGradTask, da, dskip []float32, lo, hi, worker int) // da [D·N] and dskip [D] are 0 before
	convTable func(table []float32, c *device.Conv) int
	conv      func(t *convTask, lo, hi, worker int)
	convGrad  func(t *convGradTask, dw, dbias []float32, lo, hi, worker int) // dw [D·K] and dbias [D] are 0 before
	norm      func(t *normTask, lo, hi int)
	normGrad  func(t *normGradTask, dgamma, dbeta []float32, lo, hi int) // both padded to whole vectors
	gather    func(t *gatherTask, lo, hi int)
	scatter   func(t *scatterTask, table device.Mat, lo, hi int)
	products  func(t *decayTask, y []float32, r int)
}

func plainForms() forms {
	return forms{scanTable: scanTablePlain, scan: scanPlain, scanGrad: scanGradPlain, convTable: convTablePlain,
		conv: convPlain, convGrad: convGradPlain, norm: normPlain, normGrad: normGradPlain, gather: gatherPlain,
		scatter: scatterPlain, products: productsPlain}
}

// choose sets the vector forms, or the plain ones.
func (f *fused) choose(vector bool) {
	f.vector, f.rows, f.forms = vector, plainRowLoops(), plainForms()
	if vector {
		f.useVectors()
	}
}

// lanes is the number of float32 in a vector; memory that vectors write to is padded to whole ones, in every form.
const lanes = 8

// padded is n rounded up to whole vectors.
func padded(n int) int { return pieces(n, lanes) * lanes }

// maxShares bounds the number of chunks of a kernel that keeps partial sums for each.
const maxShares = 64

// share is the size of chunks that cut n into at most maxShares.
func share(n int) int { return max(1, pieces(n, maxShares)) }

// addShares adds up partial sums of the given length in the order of the chunks; the result is the first part.
func (d *Device) addShares(parts []float32, length int) []float32 {
	sum := parts[:length]
	for at := length; at < len(parts); at += length {
		d.loops.zips[device.Add](sum, sum, parts[at:at+length])
	}
	return sum
}

// addTo adds x to the front of a gradient, if it is wanted.
func addTo(dst device.Buffer, x []float32) {
	if dst.Len > 0 {
		axpyPlain(dst.Host, x, 1)
	}
}

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
