package main

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/dygmamba/dygmamba/device/dry"
	"github.com/dygmamba/dygmamba/internal/memory"
	"github.com/dygmamba/dygmamba/internal/term"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/tensor"
)

// lengthMeter measures training steps with histories of different length.
type lengthMeter struct {
	stepMeter
	preset   string
	settings []string
	free     int64 // on the device before the first length, where it tells
}

// at is the configuration with histories of a length.
func (m *lengthMeter) at(length int) (model.Spec, error) {
	name := ""
	if m.set != nil {
		name = m.set.Name
	}
	return m.factory.Spec(m.preset, name, append(slices.Clone(m.settings), fmt.Sprintf("%s=%d", lengthKey, length))...)
}

// open splits the data and takes the last whole batches of the training events.
func (m *lengthMeter) open() (err error) {
	if m.spec, err = m.factory.Spec(m.preset, m.set.Name, m.settings...); err != nil {
		return err
	}
	if err := m.stepMeter.open(); err != nil {
		return err
	}
	size := m.doc.BatchSize
	whole := m.train.Len() / size
	m.events = m.train.Span((whole-m.batches)*size, whole*size)
	if m.batches <= warmUp {
		return fmt.Errorf("%s has %d whole batches of %d training events, must have at least %d", m.set.Name, whole, size, warmUp+1)
	}
	if g, ok := m.dev.(interface{ FreeBytes() int64 }); ok {
		m.free = g.FreeBytes()
	}
	return nil
}

// measure takes the steps of one length. What goes wrong with this length alone is in the row; the error is for all of them. Memory that
// grows far beyond what is there saves even the gathering of a batch.
func (m *lengthMeter) measure(ctx context.Context, length int, memory *growth) (row neighborsRow, err error) {
	row.Neighbors = length
	if free := m.available(); memory != nil && free > 0 && memory.at(float64(length)) > 1.5*float64(free) {
		row.Problem = fmt.Sprintf("needs about %s, %s are free", term.Bytes(int64(memory.at(float64(length)))), term.Bytes(free))
		return row, nil
	}
	if m.spec, err = m.at(length); err != nil {
		return row, err
	}
	if f, ok := m.dev.(interface{ Forget() }); ok { // recordings of the length before
		if err := tensor.Guard(f.Forget); err != nil {
			return neighborsRow{Neighbors: length, Problem: err.Error()}, nil
		}
	}
	room, problem := m.foresee(ctx, &row)
	if problem == nil {
		problem = m.take(ctx, &row, room)
	}
	if ctx.Err() != nil {
		return row, ctx.Err()
	}
	if problem != nil {
		row = neighborsRow{Neighbors: length, Planned: row.Planned, Problem: problem.Error()}
	}
	return row, nil
}

// foresee finds what a step will take, without computing, and whether that is there. The tape may reserve room.
func (m *lengthMeter) foresee(ctx context.Context, row *neighborsRow) (room int64, err error) {
	dev, taken, own := dry.Like(m.dev)
	l, err := m.learner(dev)
	if err != nil {
		return 0, err
	}
	fixed := taken.Bytes() - l.tape.Bytes()
	for s, err := range m.pass.Batches(ctx, l.model, m.events.Slice(0, m.doc.BatchSize)) {
		if err != nil {
			return 0, err
		}
		if err := tensor.Guard(func() { l.whole(s.Batch) }); err != nil {
			return 0, err
		}
		row.Positions = max(s.Batch.Src.Len, s.Batch.Dst.Len)
	}
	row.Planned = fixed + l.tape.Bytes() + own()
	if free := m.available(); free > 0 && row.Planned > free {
		return 0, fmt.Errorf("needs %s, %s are free", term.Bytes(row.Planned), term.Bytes(free))
	}
	return l.tape.Room(), nil
}

// available is the memory that a step may take, 0 where nobody tells.
func (m *lengthMeter) available() int64 {
	if m.free > 0 {
		return m.free
	}
	return memory.Available()
}

// take takes the steps.
func (m *lengthMeter) take(ctx context.Context, row *neighborsRow, room int64) error {
	l, err := m.learner(m.dev)
	if err != nil {
		return err
	}
	defer tensor.Guard(l.close) // after a failure the device may refuse to free, too
	if err := tensor.Guard(func() { l.tape.Reserve(room) }); err != nil {
		return err
	}
	var times, gathers []float64
	var last time.Time
	for s, err := range m.pass.Batches(ctx, l.model, m.events) {
		if err != nil {
			return err
		}
		if err := tensor.Guard(func() { l.whole(s.Batch) }); err != nil {
			return err
		}
		now := time.Now()
		if s.Number >= warmUp {
			times, gathers = append(times, milliseconds(now.Sub(last))), append(gathers, milliseconds(s.Gathered))
		}
		last = now
	}
	if err := tensor.Guard(m.dev.Sync); err != nil {
		return err
	}
	row.Step, row.Gather = median(times), median(gathers)
	switch d := m.dev.(type) {
	case interface{ FreeBytes() int64 }:
		row.Memory = m.free - d.FreeBytes()
	case interface{ Used() int64 }:
		row.Memory = d.Used()
	default:
		row.Memory = row.Planned
	}
	return nil
}

// growth is a quantity that grows in proportion: Base + Each·x, neither below zero. Off is the largest distance of a measurement, relative to it.
type growth struct {
	Base float64 `json:"base"`
	Each float64 `json:"per_neighbor"`
	Off  float64 `json:"off"`
}

// fitNeeds is how many measurements show a growth.
const fitNeeds = 3

// fitGrowth finds the line with the least relative errors; nil for fewer than three measurements.
func fitGrowth(x, y []float64) *growth {
	if len(x) < fitNeeds {
		return nil
	}
	var w, wx, wy, wxx, wxy float64
	for i := range x {
		k := 1 / (y[i] * y[i])
		w, wx, wy, wxx, wxy = w+k, wx+k*x[i], wy+k*y[i], wxx+k*x[i]*x[i], wxy+k*x[i]*y[i]
	}
	g := &growth{Each: (w*wxy - wx*wy) / (w*wxx - wx*wx)}
	g.Base = (wy - g.Each*wx) / w
	if g.Base < 0 {
		g.Base, g.Each = 0, wxy/wxx
	}
	for i := range x {
		g.Off = max(g.Off, math.Abs(g.at(x[i])-y[i])/y[i])
	}
	return g
}

func (g *growth) at(x float64) float64 { return g.Base + g.Each*x }

// words says the same in a unit, and how true it is.
func (g *growth) words(format string, unit float64) string {
	return fmt.Sprintf(format+" + "+format+" per 1000 neighbours, within %.1f %%", g.Base/unit, 1000*g.Each/unit, 100*g.Off)
}

// curve is points from lo to hi, equal factors apart.
func curve(lo, hi float64) []float64 {
	const points = 60
	x := make([]float64, points)
	for i := range x {
		x[i] = lo * math.Pow(hi/lo, float64(i)/(points-1))
	}
	return x
}
