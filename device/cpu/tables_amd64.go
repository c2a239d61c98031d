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
}

//go:noescape
func gather32(a *tableColumns)

//go:noescape
func gather16(a *tableColumns)

//go:noescape
func gather8(a *tableColumns)

//go:noescape
func gather4(a *tableColumns)

//go:noescape
func gather2(a *tableColumns)

//go:noescape
func gather1(a *tableColumns)

//go:noescape
func scatter32(a *tableColumns)

//go:noescape
func scatter16(a *tableColumns)

//go:noescape
func scatter8(a *tableColumns)

//go:noescape
func scatter4(a *tableColumns)

//go:noescape
func scatter2(a *tableColumns)

//go:noescape
func scatter1(a *tableColumns)

func gatherVector(t *gatherTask, lo, hi int) {
	a := tableColumns{count: hi - lo, per: t.per, rows: uintptr(unsafe.Pointer(&t.rows[lo*t.per]))}
	for c := 0; c < t.y.Cols; {
		a.y, a.yStep = place(t.y, lo, c)
		a.table, a.tableStep = place(t.table, 0, c)
		n := columnRun(t.y.Cols - c)
		switch n {
		case 32:
			gather32(&a)
		case 16:
			gather16(&a)
		case 8:
			gather8(&a)
		case 4:
			gather4(&a)
		case 2:
			gather2(&a)
		default:
			gather1(&a)
		}
		c += n
	}
}

func scatterVector(t *scatterTask, table device.Mat, lo, hi int) {
	a := tableColumns{count: hi - lo, per: t.per, rows: uintptr(unsafe.Pointer(&t.rows[lo*t.per]))}
	for c := 0; c < t.y.Cols; {
		a.y, a.yStep = place(t.y, lo, c)
		a.table, a.tableStep = place(table, 0, c)
		n := columnRun(t.y.Cols - c)
		switch n {
		case 32:
			scatter32(&a)
		case 16:
			scatter16(&a)
		case 8:
			scatter8(&a)
		case 4:
			scatter4(&a)
		case 2:
			scatter2(&a)
		default:
			scatter1(&a)
		}
		c += n
	}
}

// columnRun is the length of the first of the runs that cols columns are cut into: as many of 32 as there are, then
// powers of two.
func columnRun(cols int) int { return min(32, 1<<(bits.Len(uint(cols))-1)) }
