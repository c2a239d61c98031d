package cpu

import "github.com/dygmamba/dygmamba/device"

// GRU is the pointwise part of the gated recurrent unit.
func (d *Device) GRU(g device.Cell) { d.cells(device.CellGrad{Cell: g}, (*cellTask).gru, 3) }

// GRUGrad is its gradient.
func (d *Device) GRUGrad(g device.CellGrad) { d.cells(g, (*cellTask).gruGrad, 3) }

// LSTM is the pointwise part of the long short-term memory cell.
func (d *Device) LSTM(g device.Cell) { d.cells(device.CellGrad{Cell: g}, (*cellTask).lstm, 5) }

// LSTMGrad is its gradient.
func (d *Device) LSTMGrad(g device.CellGrad) { d.cells(g, (*cellTask).lstmGrad, 5) }

// cells runs a step on every row; gates is the scratch it needs, in widths of the state.
func (d *Device) cells(g device.CellGrad, step func(t *cellTask, k int, gates []float32), gates int) {
	if g.X.Rows == 0 || g.X.Cols == 0 {
		return
	}
	t := cellTask{CellGrad: g, dev: d, step: step, gates: gates, add: d.loops.zips[device.Add],
		sigmoid: d.loops.maps[device.Sigmoid], tanh: d.loops.maps[device.Tanh]}
	launchEach(d, &d.tasks.cell, t, g.X.Rows, rowsPerChunk(g.X.Cols), func(t *cellTask, k, worker int) {
		t.step(t, k, t.dev.local(worker, t.gates*t.width()))
	})
}

// cellTask runs one of the four steps over all rows; a chunk is a run of rows.
type cellTask struct {
	device.CellGrad
	dev           *Device
	step          func(t *cellTask, k int, gates []float32)
	gates         int
	add           func(z, x, y []float32)
	sigmoid, tanh func(y, x []float32)
}

// width is the width of the state.
func (t *cellTask) width() int { return max(t.State.Cols, t.Carry.Cols) }

// gruGates computes r, z and the candidate n of row k.
func (t *cellTask) gruGates(k int, gates []float32) (r, z, n []float32) {
	x, h, w := row(t.X, k), row(t.H, k), t.width()
	t.add(gates[:2*w], x[:2*w], h[:2*w])
	t.sigmoid(gates[:2*w], gates[:2*w])
	r, z, n = gates[:w], gates[w:2*w], gates[2*w:]
	for i := range n {
		n[i] = x[2*w+i] + r[i]*h[2*w+i]
	}
	t.tanh(n, n)
	return r, z, n
}

func (t *cellTask) gru(k int, gates []float32) {
	_, z, n := t.gruGates(k, gates)
	state, next := row(t.State, k), row(t.NewState, k)
	for i := range next {
		next[i] = (1-z[i])*n[i] + z[i]*state[i]
	}
}

func (t *cellTask) gruGrad(k int, gates []float32) {
	r, z, n := t.gruGates(k, gates)
	h, state, dnext := row(t.H, k), row(t.State, k), row(t.DNewState, k)
	dx, dh, dstate := row(t.DX, k), row(t.DH, k), row(t.DState, k)
	w := t.width()
	for i, d := range dnext {
		dstate[i] = d * z[i]
		dn := d * (1 - z[i]) * (1 - n[i]*n[i])
		dz := d * (state[i] - n[i]) * z[i] * (1 - z[i])
		dr := dn * h[2*w+i] * r[i] * (1 - r[i])
		dx[i], dx[w+i], dx[2*w+i] = dr, dz, dn
		dh[i], dh[w+i], dh[2*w+i] = dr, dz, dn*r[i]
	}
}

// lstmGates computes the gates of row k and tanh of the new carry.
func (t *cellTask) lstmGates(k int, gates []float32) (in, keep, cand, out, bent []float32) {
	w := t.width()
	t.add(gates[:4*w], row(t.X, k), row(t.H, k))
	in, keep, cand, out, bent = gates[:w], gates[w:2*w], gates[2*w:3*w], gates[3*w:4*w], gates[4*w:]
	t.sigmoid(gates[:2*w], gates[:2*w])
	t.tanh(cand, cand)
	t.sigmoid(out, out)
	for i, c := range row(t.Carry, k) {
		bent[i] = keep[i]*c + in[i]*cand[i]
	}
	return in, keep, cand, out, bent
}

func (t *cellTask) lstm(k int, gates []float32) {
	_, _, _, out, bent := t.lstmGates(k, gates)
	copy(row(t.NewCarry, k), bent)
	t.tanh(bent, bent)
	next := row(t.NewState, k)
	for i := range next {
		next[i] = out[i] * bent[i]
	}
}

// lstmGrad takes an absent DNewState or DNewCarry as zero. State itself does not enter: only its product H does.
func (t *cellTask) lstmGrad(k int, gates []float32) {
	in, keep, cand, out, bent := t.lstmGates(k, gates)
	t.tanh(bent, bent)
	carry := row(t.Carry, k)
	dx, dh, dcarry := row(t.DX, k), row(t.DH, k), row(t.DCarry, k)
	var dstates, dcarries []float32
	if t.DNewState.Given() {
		dstates = row(t.DNewState, k)
	}
	if t.DNewCarry.Given() {
		dcarries = row(t.DNewCarry, k)
	}
	w := t.width()
	for i := range carry {
		var ds, d float32
		if dstates != nil {
			ds = dstates[i]
		}
		if dcarries != nil {
			d = dcarries[i]
		}
		d += ds * out[i] * (1 - bent[i]*bent[i])
		dcarry[i] = d * keep[i]
		dx[i] = d * cand[i] * in[i] * (1 - in[i])
		dx[w+i] = d * carry[i] * keep[i] * (1 - keep[i])
		dx[2*w+i] = d * in[i] * (1 - cand[i]*cand[i])
		dx[3*w+i] = ds * bent[i] * out[i] * (1 - out[i])
	}
	copy(dh, dx)
}
