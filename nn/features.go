package nn

import (
	"math"
	"slices"

	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/tensor"
)

// Features is a table of node or edge features on a device: rows that models read by number and never learn.
//
// Features that are all zero have no table: they take no memory, and Gather and Project answer nil, which means "adds
// nothing". Rows that were never given, of nodes and events newer than the table, count as zeros too.
type Features struct {
	dev        device.Device
	rows, cols int            // given so far, whether there is a table or not
	data       device.Buffer  // room for some rows more; nothing while all features are zero
	table      *tensor.Tensor // [rows, cols] of data, or nil
	moves      int
	host       []int32          // row numbers on their way, used again by the next Load
	blocks     []*tensor.Tensor // of columns, used again by the next Project
}

// NewFeatures uploads rows × cols numbers in row-major order. Nil data stands for zeros.
func NewFeatures(dev device.Device, data []float32, rows, cols int) *Features {
	f := &Features{dev: dev, cols: cols}
	f.Grow(data, rows)
	return f
}

// Close gives the memory back.
func (f *Features) Close() {
	if f.table != nil {
		f.dev.Free(f.data)
	}
	f.data, f.table = device.Buffer{}, nil
}

// Empty reports that there is no table: all features are zero.
func (f *Features) Empty() bool { return f.table == nil }

// Rows is how many rows were given.
func (f *Features) Rows() int { return f.rows }

// Cols is the width of a row.
func (f *Features) Cols() int { return f.cols }

// Table is the table itself, [Rows, Cols], or nil where all features are zero.
func (f *Features) Table() *tensor.Tensor { return f.table }

// Moves increases whenever the kernels that read the table change: when the first feature that is not zero makes the
// table, and when a table that grows has moved. Whoever replays steps adds it to what the step depends on
// (grad.Tape.Replay).
func (f *Features) Moves() int { return f.moves }

// Grow appends rows; nil data stands for zeros. It is called between steps, not within one. Rows that do not fit move
// the table to memory with half as much room again, so that growing row by row copies each row a few times at most. If
// the device has no memory for that it panics with *device.OutOfMemory, and the table is what it was.
func (f *Features) Grow(data []float32, rows int) {
	if rows < 0 || f.cols < 0 || data != nil && len(data) != rows*f.cols {
		panic(tensor.Mismatch("features", "rows × columns numbers", []int{rows, f.cols}, []int{len(data)}))
	}
	zero := !slices.ContainsFunc(data, func(v float32) bool { return v != 0 })
	if f.table != nil || !zero {
		lo, hi := f.rows*f.cols, (f.rows+rows)*f.cols
		if hi > f.data.Len {
			f.move(f.rows + rows)
		}
		if !zero { // else the memory is still as zero as it was allocated
			f.dev.Write(f.data.Slice(lo, hi), data)
		}
		f.table.Set(f.data.Slice(0, hi), f.rows+rows, f.cols)
	}
	f.rows += rows
}

// Expect makes room for this many rows of a table that will not be all zero.
func (f *Features) Expect(rows int) {
	if rows*f.cols > f.data.Len {
		f.move(rows)
		f.table.Set(f.data.Slice(0, f.rows*f.cols), f.rows, f.cols)
	}
}

// move takes memory for at least the given rows and brings those of the table along.
func (f *Features) move(rows int) {
	if f.table == nil {
		f.data, f.table = f.dev.Alloc(rows*f.cols), new(tensor.Tensor)
	} else {
		rows = max(rows, f.data.Len/f.cols*3/2)
		data := f.dev.Alloc(rows * f.cols)
		f.dev.Copy(data.Mat(f.rows, f.cols), f.data.Mat(f.rows, f.cols))
		f.dev.Free(f.data)
		f.data = data
	}
	f.moves++
}

// Load uploads row numbers for Gather and Project: those of all slices, joined. A negative number, and one beyond the
// table, is a row of zeros. Without a table nothing is uploaded.
func (f *Features) Load(tp *grad.Tape, ids ...[]int32) device.Ints {
	if f.table == nil {
		return device.Ints{}
	}
	f.host = f.host[:0]
	for _, list := range ids {
		f.host = append(f.host, list...)
	}
	for i, r := range f.host {
		if int(r) >= f.rows {
			f.host[i] = -1
		}
	}
	return tp.Ints(f.host)
}

// Known is the row of the table that belongs to an id; all that have none are one.
func (f *Features) Known(id int32) uint32 {
	if f.table == nil || id < 0 || int(id) >= f.rows {
		return math.MaxUint32
	}
	return uint32(id)
}

// Gather reads rows → [len(rows), width]. Columns that the table does not have are zero; width is at least Cols. Nil:
// all are zero.
func (f *Features) Gather(tp *grad.Tape, rows device.Ints, width int) *tensor.Tensor {
	if f.table == nil {
		return nil
	}
	if width == f.cols {
		return grad.Gather(tp, f.table, rows, 1)
	}
	f.fits(width)
	y := tp.Zeros(rows.Len, width)
	if rows.Len > 0 {
		f.dev.Gather(y.Mat().Columns(0, f.cols), f.table.Mat(), rows, 1)
	}
	return y
}

// Part appends to the parts of a grad.LinearSum, a linear map of a concatenation, what the features add to it: the rows
// against the columns of the weight from lo on. It appends nothing where all features are zero.
func (f *Features) Part(tp *grad.Tape, parts []grad.Part, rows device.Ints, lo int) []grad.Part {
	if f.table == nil {
		return parts
	}
	return append(parts, grad.Part{X: grad.Gather(tp, f.table, rows, 1), Lo: lo})
}

// Project is what the features add to a linear map without its bias: p rows at a time against w [out, p·width] →
// [len(rows)/p, out]. Columns of w that would meet zeros, where the table has fewer than width columns, are left out.
// Nil: all features are zero, and the map is its bias.
func (f *Features) Project(tp *grad.Tape, rows device.Ints, w *tensor.Tensor, width int) *tensor.Tensor {
	if f.table == nil {
		return nil
	}
	f.fits(width)
	if w.Rank() != 2 || w.Cols()%width != 0 || rows.Len%(w.Cols()/width) != 0 {
		panic(tensor.Mismatch("features", "a weight [out, p·width] and p row numbers for each result",
			w.Shape(), []int{width}, []int{rows.Len}))
	}
	p := w.Cols() / width
	x := grad.Gather(tp, f.table, rows, 1)             // [n·p, cols]
	x = grad.Reshape(tp, x, rows.Len/p, p*f.cols)      // [n, p·cols]
	w = f.firstColumns(tp, w, width)                   // [out, p·cols]
	return grad.Linear(tp, x, w, nil, device.Identity) // [n, out]
}

func (f *Features) fits(width int) {
	if width < f.cols || width == 0 {
		panic(tensor.Mismatch("features", "a width of at least the table's columns", []int{width}, f.table.Shape()))
	}
}

// firstColumns keeps, in each of the p blocks of width columns of w, the first Cols: w [out, p·width] → [out, p·Cols].
func (f *Features) firstColumns(tp *grad.Tape, w *tensor.Tensor, width int) *tensor.Tensor {
	if f.cols == width {
		return w
	}
	f.blocks = f.blocks[:0]
	for lo := 0; lo < w.Cols(); lo += width {
		f.blocks = append(f.blocks, grad.Columns(tp, w, lo, lo+f.cols))
	}
	return grad.Concat(tp, f.blocks...)
}
