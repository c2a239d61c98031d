package cpu

import "github.com/dygmamba/dygmamba/device"

const (
	acts = int(device.Cos) + 1
	ops  = int(device.Mul) + 1
)

// loops are the inner loops on runs of numbers, each in its plain or its vector form. Slices of one call have the same
// length unless said otherwise, and an output may be the same memory as an input.
type loops struct {
	maps    [acts]func(y, x []float32)
	grads   [acts]func(dx, x, y, dy []float32)
	zips    [ops]func(z, x, y []float32)
	zipsOne [ops]func(z, x []float32, v float32) // z = x op v
	scale   func(y, x []float32, a float32)
	draw    func(words []uint32, first uint64, stream, key0, key1 uint32)
	keep    func(y, x []float32, words []uint32, least uint32, scale float32)
	// draw and keep for whole blocks; may be nil
	drop     func(y, x []float32, first uint64, stream, key0, key1, least uint32, scale float32)
	colSum   func(sum, x []float32, rows, stride int) // len(sum) columns
	code     func(y, w, bias []float32, delta float32)
	codeGrad func(dw, dbias []float64, dy, w, bias []float32, delta float32)
	adam     func(w, g, m, v []float32, s *adamStep)
	sgd      func(w, g, m []float32, s *sgdStep)
	rmsprop  func(w, g, v []float32, s *rmspropStep)
	fma      func(n int) // for Peak; may be nil
	tile     tiles       // of the packed matrix product; without them the plain one runs
}

func plainLoops() loops {
	return loops{
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
		zipsOne: [ops]func(z, x []float32, v float32){device.Add: addOnePlain, device.Sub: subOnePlain,
			device.Mul: mulOnePlain},
		scale:    mulOnePlain,
		draw:     drawPlain,
		keep:     keepPlain,
		colSum:   colSumPlain,
		code:     codePlain,
		codeGrad: codeGradPlain,
		adam:     adamPlain,
		sgd:      sgdPlain,
		rmsprop:  rmspropPlain,
	}
}

// tasks holds one reusable task of each kind.
type tasks struct {
	clear     clearTask
	mapping   mapTask
	mapGrad   mapGradTask
	zip       zipTask
	zipVector zipVectorTask
	scale     scaleTask
	drop      dropTask
	colSum    colSumTask
	transpose transposeTask
	product   productTask
	code      codeTask
	codeGrad  codeGradTask
	update    updateTask
}
