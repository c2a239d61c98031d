package cpu

import "github.com/dygmamba/dygmamba/device"

// Gather sums per table rows into each row of y; a chunk is a run of rows of y.
func (d *Device) Gather(y, table device.Mat, rows device.Ints, per int) {
	if y.Rows == 0 || y.Cols == 0 {
		return
	}
	if per == 0 || table.Rows == 0 {
		clearRows(y, 0, y.Rows)
		return
	}
	t := &d.fused.gather
	*t = gatherTask{form: d.fused.forms.gather, y: y, table: table, rows: rows.Host, per: per,
		each: rowsPerChunk(y.Cols * per)}
	d.parallel(pieces(y.Rows, t.each), t)
}

type gatherTask struct {
	form     func(t *gatherTask, lo, hi int)
	y, table device.Mat
	rows     []int32
	per      int
	each     int
}

func (t *gatherTask) run(chunk, _ int) { t.form(t, chunk*t.each, min(t.y.Rows, (chunk+1)*t.each)) }

func gatherPlain(t *gatherTask, lo, hi int) {
	for r := lo; r < hi; r++ {
		y := row(t.y, r)
		clear(y)
		for _, k := range t.rows[r*t.per : (r+1)*t.per] {
			if k >= 0 {
				axpyPlain(y, row(t.table, int(k)), 1)
			}
		}
	}
}

// ScatterAdd adds rows of y to table rows, in the order of y; where there is enough to add, fixed shares of y's rows
// are first added up in tables of their own.
func (d *Device) ScatterAdd(table, y device.Mat, rows device.Ints, per int) {
	if y.Rows == 0 || y.Cols == 0 || per == 0 || table.Rows == 0 {
		return
	}
	t := &d.fused.scatter
	*t = scatterTask{y: y, table: table, rows: rows.Host, per: per, form: d.fused.forms.scatter,
		add: d.loops.zips[device.Add]}
	count := min(maxTables, y.Rows*per/max(minScatter, 4*table.Rows))
	if count <= 1 {
		t.form(t, table, 0, y.Rows)
		return
	}
	t.each = pieces(y.Rows, count)
	t.parts = d.scratch(pieces(y.Rows, t.each) * table.Rows * y.Cols)
	d.parallel(pieces(y.Rows, t.each), t)
	t.each = rowsPerChunk(y.Cols)
	d.parallel(pieces(table.Rows, t.each), (*scatterSum)(t))
}

const (
	maxTables  = 8    // tables of partial sums
	minScatter = 1024 // row numbers that make a table of their own worth while
)

type scatterTask struct {
	y, table device.Mat
	rows     []int32
	per      int
	form     func(t *scatterTask, table device.Mat, lo, hi int)
	add      func(z, x, y []float32)
	each     int
	parts    []float32 // a dense table for every chunk
}

// run adds up a share of y's rows.
func (t *scatterTask) run(chunk, _ int) {
	size := t.table.Rows * t.y.Cols
	part := t.parts[chunk*size : (chunk+1)*size]
	clear(part)
	own := device.Mat{Buf: device.Buffer{Host: part, Len: size}, Rows: t.table.Rows, Cols: t.y.Cols, Stride: t.y.Cols}
	t.form(t, own, chunk*t.each, min(t.y.Rows, (chunk+1)*t.each))
}

func scatterPlain(t *scatterTask, table device.Mat, lo, hi int) {
	for r := lo; r < hi; r++ {
		y := row(t.y, r)
		for _, k := range t.rows[r*t.per : (r+1)*t.per] {
			if k >= 0 {
				axpyPlain(row(table, int(k)), y, 1)
			}
		}
	}
}

// scatterSum adds the shares' tables to the table; a chunk is a run of table rows.
type scatterSum scatterTask

func (t *scatterSum) run(chunk, _ int) {
	cols := t.y.Cols
	lo, hi := chunk*t.each, min(t.table.Rows, (chunk+1)*t.each)
	sum := t.parts[lo*cols : hi*cols]
	for at := t.table.Rows * cols; at < len(t.parts); at += t.table.Rows * cols {
		t.add(sum, sum, t.parts[at+lo*cols:at+hi*cols])
	}
	for r := lo; r < hi; r++ {
		dst := row(t.table, r)
		t.add(dst, dst, sum[(r-lo)*cols:(r-lo+1)*cols])
	}
}
