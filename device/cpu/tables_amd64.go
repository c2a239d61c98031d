package cpu

import (
	"math/bits"
	"unsafe"

	"github.com/dygmamba/dygmamba/device"
)

// tableColumns are the arguments of the vector forms: a run of columns, from the first row of y on.
type tableColumns struct {
	y, table, rows   uintptr
	yStep, tableStep int // bytes between rows
	count, per       int // rows of y; row numbers in each
	cols             int // of the run: 32, 16, 8, 4, 2 or 1
}

//go:noescape
func gatherColumns(a *tableColumns)

//go:noescape
func scatterColumns(a *tableColumns)

func gatherVector(t *tableTask, lo, hi, _ int) {
	a := tableColumns{count: hi - lo}
	for c := 0; c < t.y.Cols; c += a.cols {
		a.prepare(t, t.table, lo, c)
		gatherColumns(&a)
	}
}

func scatterVector(t *tableTask, table device.Mat, lo, hi int) {
	a := tableColumns{count: hi - lo}
	for c := 0; c < t.y.Cols; c += a.cols {
		a.prepare(t, table, lo, c)
		scatterColumns(&a)
	}
}

// prepare fills in the run of columns that starts at c: as many runs of 32 as there are, then powers of two.
func (a *tableColumns) prepare(t *tableTask, table device.Mat, lo, c int) {
	a.per, a.rows = t.per, uintptr(unsafe.Pointer(&t.rows[lo*t.per]))
	a.y, a.yStep = place(t.y, lo, c)
	a.table, a.tableStep = place(table, 0, c)
	a.cols = min(32, 1<<(bits.Len(uint(t.y.Cols-c))-1))
}
