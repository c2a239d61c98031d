package cpu

import "github.com/dygmamba/dygmamba/device"

// GRU is the pointwise part of the gated recurrent unit.
func (d *Device) GRU(g device.Cell) { d.cells(device.CellGrad{Cell: g}, gruRow) }

// GRUGrad is its gradient.
func (d *Device) GRUGrad(g device.CellGrad) { d.cells(g, gruGradRow) }

// LSTM is the pointwise part of the long short-term memory cell.
func (d *Device) LSTM(g device.Cell) { d.cells(device.CellGrad{Cell: g}, lstmRow) }

// LSTMGrad is its gradient.
func (d *Device) LSTMGrad(g device.CellGrad) { d.cells(g, lstmGradRow) }

func (d *Device) cells(g device.CellGrad, step func(g *device.CellGrad, r int)) {
	if g.X.Rows == 0 || g.X.Cols == 0 {
		return
	}
	t := &d.fused.cell
	*t = cellTask{CellGrad: g, step: step, each: rowsPerChunk(g.X.Cols)}
	d.parallel(pieces(g.X.Rows, t.each), t)
}

// cellTask runs one of the four steps over all rows; a chunk is a run of rows.
type cellTask struct {
	device.CellGrad
	step func(g *device.CellGrad, r int)
	each int
}

func (t *cellTask) run(chunk, _ int) {
	for r := chunk * t.each; r < min(t.X.Rows, (chunk+1)*t.each); r++ {
		t.step(&t.CellGrad, r)
	}
}

func gruRow(g *device.CellGrad, k int) {
	x, h, state, next := row(g.X, k), row(g.H, k), row(g.State, k), row(g.NewState, k)
	n := len(next)
	for i := range next {
		r := sigmoid32(x[i] + h[i])
		z := sigmoid32(x[n+i] + h[n+i])
		c := tanh32(x[2*n+i] + r*h[2*n+i])
		next[i] = (1-z)*c + z*state[i]
	}
}

func gruGradRow(g *device.CellGrad, k int) {
	x, h, state, dnext := row(g.X, k), row(g.H, k), row(g.State, k), row(g.DNewState, k)
	dx, dh, dstate := row(g.DX, k), row(g.DH, k), row(g.DState, k)
	n := len(state)
	for i := range state {
		r := sigmoid32(x[i] + h[i])
		z := sigmoid32(x[n+i] + h[n+i])
		c := tanh32(x[2*n+i] + r*h[2*n+i])
		d := dnext[i]
		dstate[i] = d * z
		dc := d * (1 - z) * (1 - c*c)
		dz := d * (state[i] - c) * z * (1 - z)
		dr := dc * h[2*n+i] * r * (1 - r)
		dx[i], dx[n+i], dx[2*n+i] = dr, dz, dc
		dh[i], dh[n+i], dh[2*n+i] = dr, dz, dc*r
	}
}

func lstmRow(g *device.CellGrad, k int) {
	x, h, carry := row(g.X, k), row(g.H, k), row(g.Carry, k)
	next, nextCarry := row(g.NewState, k), row(g.NewCarry, k)
	n := len(next)
	for i := range next {
		in := sigmoid32(x[i] + h[i])
		keep := sigmoid32(x[n+i] + h[n+i])
		c := tanh32(x[2*n+i] + h[2*n+i])
		out := sigmoid32(x[3*n+i] + h[3*n+i])
		nextCarry[i] = keep*carry[i] + in*c
		next[i] = out * tanh32(nextCarry[i])
	}
}

// lstmGradRow takes an absent DNewState or DNewCarry as zero. State itself does not enter: only its product H does.
func lstmGradRow(g *device.CellGrad, k int) {
	x, h, carry := row(g.X, k), row(g.H, k), row(g.Carry, k)
	dx, dh, dcarry := row(g.DX, k), row(g.DH, k), row(g.DCarry, k)
	n := len(carry)
	for i := range carry {
		in := sigmoid32(x[i] + h[i])
		keep := sigmoid32(x[n+i] + h[n+i])
		c := tanh32(x[2*n+i] + h[2*n+i])
		out := sigmoid32(x[3*n+i] + h[3*n+i])
		bent := tanh32(keep*carry[i] + in*c)
		var dnext, d float32
		if g.DNewState.Given() {
			dnext = row(g.DNewState, k)[i]
		}
		if g.DNewCarry.Given() {
			d = row(g.DNewCarry, k)[i]
		}
		d += dnext * out * (1 - bent*bent)
		dcarry[i] = d * keep
		di, df := d*c*in*(1-in), d*carry[i]*keep*(1-keep)
		dc, do := d*in*(1-c*c), dnext*bent*out*(1-out)
		dx[i], dx[n+i], dx[2*n+i], dx[3*n+i] = di, df, dc, do
		dh[i], dh[n+i], dh[2*n+i], dh[3*n+i] = di, df, dc, do
	}
}
