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
	t := tableTask{y: y, table: table, rows: rows.Host, per: per}
	launch(d, &d.tasks.table, t, y.Rows, rowsPerChunk(y.Cols*per), d.loops.gather)
}

// tableTask is a kernel that reads or writes rows of a table by number.
type tableTask struct {
	dev      *Device
	y, table device.Mat
	rows     []int32
	per      int
	sums     // of ScatterAdd: a dense table for every chunk
}

func gatherPlain(t *tableTask, lo, hi, _ int) {
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
	j := &d.tasks.table
	j.args = tableTask{dev: d, y: y, table: table, rows: rows.Host, per: per}
	t := &j.args
	count := min(maxTables, y.Rows*per/max(minScatter, 4*table.Rows))
	if count <= 1 {
		d.loops.scatter(t, table, 0, y.Rows)
		return
	}
	t.sums = sums{each: pieces(y.Rows, count), size: table.Rows * y.Cols}
	t.parts = d.scratch(pieces(y.Rows, t.each) * t.size)
	j.start(d, y.Rows, t.each, (*tableTask).scatter, nil)
	j.start(d, table.Rows, rowsPerChunk(y.Cols), (*tableTask).fold, nil)
}

const (
	maxTables  = 8    // tables of partial sums
	minScatter = 1024 // row numbers that make a table of their own worth while
)

// scatter adds up a share of y's rows.
func (t *tableTask) scatter(lo, hi, _ int) {
	own := device.Buffer{Host: t.sums.of(lo), Len: t.size}
	t.dev.loops.scatter(t, own.Mat(t.table.Rows, t.y.Cols), lo, hi)
}

func scatterPlain(t *tableTask, table device.Mat, lo, hi int) {
	for r := lo; r < hi; r++ {
		y := row(t.y, r)
		for _, k := range t.rows[r*t.per : (r+1)*t.per] {
			if k >= 0 {
				axpyPlain(row(table, int(k)), y, 1)
			}
		}
	}
}

// fold adds the shares' tables to rows [lo, hi) of the table.
func (t *tableTask) fold(lo, hi, _ int) {
	cols, add := t.y.Cols, t.dev.loops.zips[device.Add]
	sum := t.parts[lo*cols : hi*cols]
	for at := t.size; at < len(t.parts); at += t.size {
		add(sum, sum, t.parts[at+lo*cols:at+hi*cols])
	}
	for r := lo; r < hi; r++ {
		dst := row(t.table, r)
		add(dst, dst, sum[(r-lo)*cols:(r-lo+1)*cols])
	}
}

// Assign copies rows of y to table rows. A chunk is a run of columns and walks all rows in their order, so that the
// last of several equal row numbers wins whoever runs it.
func (d *Device) Assign(table, y device.Mat, rows device.Ints) {
	if y.Rows == 0 || y.Cols == 0 {
		return
	}
	const least = 64 // columns of a chunk: a few cache lines, so that neighbours rarely write to the same one
	t := tableTask{table: table, y: y, rows: rows.Host}
	launch(d, &d.tasks.table, t, y.Cols, max(least, rowsPerChunk(y.Rows)), func(t *tableTask, lo, hi, _ int) {
		for r := range t.y.Rows {
			if k := t.rows[r]; k >= 0 {
				copy(run(t.table, int(k), lo, hi), run(t.y, r, lo, hi))
			}
		}
	})
}
