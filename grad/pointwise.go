package grad

import (
	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/tensor"
)

// Add is x + y. y has the shape of x, or is a row [cols] for every row of x, or a column [..., 1] for every column.
func Add(tp *Tape, x, y *tensor.Tensor) *tensor.Tensor { return zip(tp, device.Add, x, y) }

// Sub is x − y, shapes as in Add.
func Sub(tp *Tape, x, y *tensor.Tensor) *tensor.Tensor { return zip(tp, device.Sub, x, y) }

// Mul is x ⊙ y, shapes as in Add.
func Mul(tp *Tape, x, y *tensor.Tensor) *tensor.Tensor { return zip(tp, device.Mul, x, y) }

// spread says how the second operand meets the first.
type spread uint8

const (
	each spread = iota // number by number
	row                // a row against every row
	col                // a column against every column
)

var zipNames = [...]string{device.Add: "add", device.Sub: "sub", device.Mul: "mul"}

func zip(tp *Tape, op device.Op, x, y *tensor.Tensor) *tensor.Tensor {
	z := tp.Result(x.Shape(), x, y)
	o := zipped{op: op, x: x, y: y}
	switch {
	case tensor.SameShape(x, y):
		o.spread = each
	case y.Rank() == 1 && y.Cols() == x.Cols():
		o.spread = row
	case y.Rank() == x.Rank() && y.Cols() == 1 && y.Rows() == x.Rows():
		o.spread = col
	default:
		panic(tensor.Mismatch(zipNames[op], "equal shapes, or a row [cols] or column [..., 1] as the second",
			x.Shape(), y.Shape()))
	}
	if z.Len() == 0 {
		return z
	}
	o.line = data(y)
	if !y.Dense() && o.spread == col { // a column of a wider tensor
		o.line = tp.floats.alloc(y.Rows())
		tp.dev.Copy(o.line.Mat(y.Rows(), 1), y.Mat())
	}
	o.apply(tp, op, z.Mat(), x.Mat())
	record(tp, z, o)
	return z
}

type zipped struct {
	op     device.Op
	spread spread
	x, y   *tensor.Tensor
	line   device.Buffer // y as a row or a column, dense
}

// apply computes z = x op y with y spread over x.
func (o *zipped) apply(tp *Tape, op device.Op, z, x device.Mat) {
	switch o.spread {
	case each:
		tp.dev.Zip(op, z, x, o.y.Mat())
	case row:
		tp.dev.ZipRow(op, z, x, o.line)
	case col:
		tp.dev.ZipCol(op, z, x, o.line)
	}
}

func (o *zipped) backward(tp *Tape, dz device.Mat) {
	switch {
	case o.op != device.Mul:
		o.giveY(tp, dz)
	case o.y.Tracked:
		t := tp.scratchLike(dz)
		tp.dev.Zip(device.Mul, t, dz, o.x.Mat())
		o.giveY(tp, t)
		tp.Recycle(t.Buf)
	}
	if o.op == device.Mul && o.x.Tracked {
		o.apply(tp, device.Mul, dz, dz)
	}
	tp.Give(o.x, dz.Buf)
}

// giveY gives y the gradient d, [rows, cols], folded to the shape of y; subtraction turns its sign.
func (o *zipped) giveY(tp *Tape, d device.Mat) {
	if !o.y.Tracked {
		return
	}
	if o.spread == each && o.op != device.Sub {
		tp.GiveCopy(o.y, d)
		return
	}
	t := tp.Scratch(o.y.Len())
	tm := t.Mat(o.y.Rows(), o.y.Cols())
	switch o.spread {
	case each:
		tp.dev.Scale(tm, d, -1)
	case row:
		tp.dev.ColSum(t, d, false)
	case col:
		tp.dev.RowSum(t, d)
	}
	if o.spread != each && o.op == device.Sub {
		tp.dev.Scale(tm, tm, -1)
	}
	tp.Give(o.y, t)
}

// Scale is a·x.
func Scale(tp *Tape, x *tensor.Tensor, a float32) *tensor.Tensor {
	y := tp.Result(x.Shape(), x)
	if y.Len() > 0 {
		tp.dev.Scale(y.Mat(), x.Mat(), a)
		record(tp, y, scale{x, a})
	}
	return y
}

type scale struct {
	x *tensor.Tensor
	a float32
}

func (o *scale) backward(tp *Tape, d device.Mat) {
	tp.dev.Scale(d, d, o.a)
	tp.Give(o.x, d.Buf)
}

// Apply is the activation of every number of x.
func Apply(tp *Tape, act device.Act, x *tensor.Tensor) *tensor.Tensor {
	y := tp.Result(x.Shape(), x)
	if y.Len() > 0 {
		tp.dev.Map(act, y.Mat(), x.Mat())
		record(tp, y, apply{x, y, act})
	}
	return y
}

type apply struct {
	x, y *tensor.Tensor
	act  device.Act
}

func (o *apply) backward(tp *Tape, d device.Mat) {
	tp.mapGrad(o.act, d, o.x.Mat(), o.y.Mat(), device.Drop{})
	tp.Give(o.x, d.Buf)
}

// Dropout sets each number to zero with probability rate and divides the others by 1−rate; a tape for evaluation
// returns x.
func Dropout(tp *Tape, x *tensor.Tensor, rate float32) *tensor.Tensor {
	if rate == 0 || !tp.drops || x.Len() == 0 {
		return x
	}
	y := tp.Result(x.Shape(), x)
	d := tp.NextDrop(rate)
	tp.dev.Dropout(y.Mat(), x.Mat(), d)
	record(tp, y, dropout{x, d})
	return y
}

type dropout struct {
	x    *tensor.Tensor
	drop device.Drop
}

func (o *dropout) backward(tp *Tape, d device.Mat) {
	tp.dev.Dropout(d, d, o.drop)
	tp.Give(o.x, d.Buf)
}

// NextDrop describes the step's next dropout; its rate is 0 on a tape for evaluation.
func (tp *Tape) NextDrop(rate float32) device.Drop {
	if rate == 0 || !tp.drops {
		return device.Drop{}
	}
	d := device.Drop{Rate: rate, Key: tp.key, Stream: tp.stream}
	tp.stream++
	return d
}
