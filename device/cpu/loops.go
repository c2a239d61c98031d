package cpu

import "github.com/dygmamba/dygmamba/device"

const (
	acts = int(device.Cos) + 1
	ops  = int(device.Mul) + 1
)

// lanes is the number of float32 in a vector; memory that vectors write to is padded to whole ones, in every form.
const lanes = 8

// loops are the inner loops on runs of numbers and the bodies of kernels, each in its plain or its vector form. Slices
// of one call have the same length unless said otherwise, and an output may be the same memory as an input.
type loops struct {
	maps    [acts]func(y, x []float32)
	grads   [acts]func(dx, x, y, dy []float32)
	zips    [ops]func(z, x, y []float32)
	zipsOne [ops]func(z, x []float32, v float32) // z = x op v; Mul scales
	draw    func(words []uint32, first uint64, stream, key0, key1 uint32)
	keep    func(y, x []float32, words []uint32, least uint32, scale float32)
	// draw and keep for whole blocks; may be nil
	drop     func(y, x []float32, first uint64, stream, key0, key1, least uint32, scale float32)
	dot      func(x, y []float32) float32
	sum      func(x []float32) float32
	axpy     func(y, x []float32, k float32)          // y += k·x
	softmax  func(x []float32)                        // in place, not empty; all −Inf gives zeros
	colSum   func(sum, x []float32, rows, stride int) // len(sum) columns
	code     func(y, w, bias []float32, delta float32)
	codeGrad func(dw, dbias []float64, dy, w, bias []float32, delta float32)
	adam     func(w, g, m, v []float32, s *adamStep)
	sgd      func(w, g, m []float32, s *sgdStep)
	rmsprop  func(w, g, v []float32, s *rmspropStep)
	fma      func(n int) // for Peak; may be nil
	tile     tiles       // of the packed matrix product; without them the plain one runs

	// The bodies of kernels, for sequences or rows [lo, hi). The tables of scan and convolution are the parameters,
	// laid out as the form likes them: a call fills the table, or returns its length when there is none yet.
	scanTable func(table []float32, s *device.Scan) int
	scan      func(t *scanTask, lo, hi, worker int)
	scanGrad  func(t *scanTask, lo, hi, worker int)
	convTable func(table []float32, c *device.Conv) int
	conv      func(t *convTask, lo, hi, worker int)
	convGrad  func(t *convTask, lo, hi, worker int)
	norm      func(t *normTask, lo, hi, worker int)
	normGrad  func(t *normTask, lo, hi, worker int)
	gather    func(t *tableTask, lo, hi, worker int)
	scatter   func(t *tableTask, table device.Mat, lo, hi int)
	products  func(t *decayTask, y []float32, r int)
}

// plain are the loops in Go.
var plain = loops{
	maps: [acts]func(y, x []float32){
		device.Identity: identityPlain, device.ReLU: reluPlain, device.GELU: geluPlain, device.SiLU: siluPlain,
		device.Sigmoid: sigmoidPlain, device.Tanh: tanhPlain, device.Softplus: softplusPlain, device.Exp: expPlain,
		device.Cos: cosPlain,
	},
	grads: [acts]func(dx, x, y, dy []float32){
		device.Identity: identityGradPlain, device.ReLU: reluGradPlain, device.GELU: geluGradPlain,
		device.SiLU: siluGradPlain, device.Sigmoid: sigmoidGradPlain, device.Tanh: tanhGradPlain,
		device.Softplus: softplusGradPlain, device.Exp: expGradPlain, device.Cos: cosGradPlain,
	},
	zips: [ops]func(z, x, y []float32){device.Add: addPlain, device.Sub: subPlain, device.Mul: mulPlain},
	zipsOne: [ops]func(z, x []float32, v float32){
		device.Add: addOnePlain, device.Sub: subOnePlain, device.Mul: mulOnePlain,
	},
	draw: drawPlain, keep: keepPlain, dot: dotPlain, sum: sumPlain, axpy: axpyPlain, softmax: softmaxPlain,
	colSum: colSumPlain, code: codePlain, codeGrad: codeGradPlain, adam: adamPlain, sgd: sgdPlain,
	rmsprop: rmspropPlain, scanTable: scanTablePlain, scan: scanPlain, scanGrad: scanGradPlain,
	convTable: convTablePlain, conv: convPlain, convGrad: convGradPlain, norm: normPlain, normGrad: normGradPlain,
	gather: gatherPlain, scatter: scatterPlain, products: productsPlain,
}

// scale is y = a·x.
func (l *loops) scale(y, x []float32, a float32) { l.zipsOne[device.Mul](y, x, a) }

// tasks are the kernels at work, one of each kind.
type tasks struct {
	clear     job[[]float32]
	points    job[pointTask]
	colSum    job[colSumTask]
	rowSum    job[rowSumTask]
	transpose job[transposeTask]
	code      job[codeTask]
	update    job[updateTask]
	scan      job[scanTask]
	conv      job[convTask]
	norm      job[normTask]
	softmax   job[softmaxTask]
	attention job[attentionTask]
	batch     job[attentionBatch]
	pooling   job[poolTask]
	cell      job[cellTask]
	table     job[tableTask]
	products  job[decayTask]
	product   productTask
}

// padded is n rounded up to whole vectors.
func padded(n int) int { return pieces(n, lanes) * lanes }

// addTo adds x to the front of a gradient, if it is wanted.
func addTo(dst device.Buffer, x []float32) {
	if dst.Len > 0 {
		axpyPlain(dst.Host, x, 1)
	}
}

// row is row r of m.
func row(m device.Mat, r int) []float32 { return run(m, r, 0, m.Cols) }

// run is the part [lo, hi) of row r.
func run(m device.Mat, r, lo, hi int) []float32 {
	at := r * m.Stride
	return m.Buf.Host[at+lo : at+hi : at+hi]
}

// clearRows sets rows [lo, hi) of m to zero.
func clearRows(m device.Mat, lo, hi int) {
	for r := lo; r < hi; r++ {
		clear(row(m, r))
	}
}
