package grad

import (
	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/tensor"
)

// Gather sums rows of a table by number: y[r] = Σ_{m<per} table[rows[r·per+m]]; a negative number is a row of zeros.
// table [..., c] counts all its rows → [len(rows)/per, c].
func Gather(tp *Tape, table *tensor.Tensor, rows device.Ints, per int) *tensor.Tensor {
	if per < 1 || rows.Len%per != 0 {
		panic(tensor.Mismatch("gather", "a multiple of per row numbers", table.Shape(), []int{rows.Len, per}))
	}
	y := tp.Result([]int{rows.Len / per, table.Cols()}, table)
	if y.Len() > 0 {
		tp.dev.Gather(y.Mat(), table.Mat(), rows, per)
		record(tp, y, gather{table, rows, per})
	}
	return y
}

// Assign writes rows of a table by number: table[rows[r]] = y[r]; a negative number writes nothing, and of several
// equal ones the last wins. table [..., c] counts all its rows; y [..., c] has as many as there are numbers, none of
// them in the table.
//
// It changes state and is no operation to differentiate: nothing is recorded, and no gradient flows from the table back
// to y. What the tape recorded before must not need the table's old numbers for its backward pass; Gather, which reads
// a table, does not.
func Assign(tp *Tape, table *tensor.Tensor, y *tensor.Tensor, rows device.Ints) {
	if table.Cols() != y.Cols() || rows.Len != y.Rows() {
		want := "equal widths and a row number for every row"
		panic(tensor.Mismatch("assign", want, table.Shape(), y.Shape(), []int{rows.Len}))
	}
	if y.Len() > 0 {
		tp.dev.Assign(table.Mat(), y.Mat(), rows)
	}
}

type gather struct {
	table *tensor.Tensor
	rows  device.Ints
	per   int
}

func (o *gather) backward(tp *Tape, dy device.Mat) {
	tp.dev.ScatterAdd(tp.Accum(o.table), dy, o.rows, o.per)
	tp.Recycle(dy.Buf)
}

// DecayedProducts holds vectors that decay against each other, see device.DecayedProducts: [len(Of), scales·32], or
// [n, scales·36] for Pairs. Nothing is differentiated.
func DecayedProducts(tp *Tape, w device.DecayedProducts) *tensor.Tensor {
	n := w.Src.Len
	width := (1 + w.Rates.Len*device.DecayLevels) * w.Dim
	if w.Dst.Len != n || w.SrcAge.Len != n || w.DstAge.Len != n || w.Table.Cols != width || w.Age.Len != w.Of.Len ||
		w.Of.Len > 0 && (w.Pairs || w.Each < 1 || n < 1 || w.Of.Len%(n*w.Each) != 0) {
		want := "two rows and ages a query, as many rows for each, and a table of as many vectors"
		panic(tensor.Mismatch("decayed products", want, []int{n, w.Dst.Len, w.SrcAge.Len, w.DstAge.Len},
			[]int{w.Of.Len, w.Age.Len, w.Each}, []int{w.Table.Rows, w.Table.Cols, width}))
	}
	rows := w.Of.Len
	if w.Pairs {
		rows = n
	}
	y := tp.New(rows, w.Columns())
	if y.Len() > 0 {
		w.Y = y.Mat()
		tp.dev.DecayedProducts(w)
	}
	return y
}
