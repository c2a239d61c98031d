package bench

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/internal/memory"
	"github.com/dygmamba/dygmamba/internal/term"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/tensor"
	"github.com/dygmamba/dygmamba/train"
)

// lengthKey is the setting that is varied: how many positions a history has, the node itself and its latest neighbours.
const lengthKey = "max_input_sequence_length"

// Neighbors asks how time and memory of training grow with the number of neighbours. It takes a few steps for every
// length of history, on the last batches of the training events, where histories are longest.
type Neighbors struct {
	Model    string // its name, for the report
	Factory  model.Factory
	Preset   string
	Settings []string // key=value, for every length
	Set      *dataset.Set
	Device   device.Device
	Threads  int   // that gather
	Lengths  []int // numbers of neighbours, the node itself among them
	Steps    int   // to measure for each of them, after some to warm up
	Planned  bool  // only find what memory a step takes, and take none

	OnBegin  func(r *NeighborsReport) error       // told what is measured, before the first row
	OnLength func(done, total int, neighbors int) // told before each length; may be nil
	OnRow    func(r *NeighborsReport) error       // told after each, when the report has one row more
}

// Check looks at the settings, before any data are there.
func (n Neighbors) Check() error {
	_, err := n.at(model.Data{}, n.Lengths[0])
	return err
}

// at is the configuration for a data set with histories of a length.
func (n Neighbors) at(data model.Data, length int) (model.Spec, error) {
	return n.Factory.Spec(n.Preset, data, append(slices.Clone(n.Settings), fmt.Sprintf("%s=%d", lengthKey, length))...)
}

// Run measures all lengths in order of size. A length that does not fit is said so in its row, and the next one
// follows.
func (n Neighbors) Run(ctx context.Context) (*NeighborsReport, error) {
	m := lengthMeter{of: n}
	if err := m.open(); err != nil {
		return nil, err
	}
	r := &NeighborsReport{
		Model: n.Model, Preset: m.Spec.Preset, Settings: n.Settings, Data: n.Set.Name, Device: n.Device.Name(),
		Threads: n.Threads, BatchSize: m.size, Steps: n.Steps,
	}
	if n.OnBegin != nil {
		if err := n.OnBegin(r); err != nil {
			return nil, err
		}
	}
	lengths := slices.Compact(slices.Sorted(slices.Values(n.Lengths)))
	for i, length := range lengths {
		if n.OnLength != nil {
			n.OnLength(i, len(lengths), length)
		}
		row, err := m.measure(ctx, length, r.Memory)
		if err != nil {
			return nil, err
		}
		r.add(row)
		if n.OnRow == nil {
			continue
		}
		if err := n.OnRow(r); err != nil {
			return nil, err
		}
	}
	return r, nil
}

type lengthMeter struct {
	meter
	of   Neighbors
	free int64 // on the device before the first length, where it tells
}

// open splits the data and takes the last whole batches of the training events.
func (m *lengthMeter) open() error {
	n := m.of
	spec, err := n.Factory.Spec(n.Preset, model.DataOf(n.Set), n.Settings...)
	if err != nil {
		return err
	}
	m.meter = meter{
		Run:     train.Run{Model: n.Model, Factory: n.Factory, Spec: spec, Set: n.Set, Device: n.Device},
		threads: n.Threads, batches: warmUp + n.Steps,
	}
	if err := m.meter.open(); err != nil {
		return err
	}
	m.events = m.past.Span((m.whole-m.batches)*m.size, m.whole*m.size)
	if m.batches <= warmUp {
		return fmt.Errorf("%s has %d whole batches of %d training events, must have at least %d",
			n.Set.Name, m.whole, m.size, warmUp+1)
	}
	if g, ok := n.Device.(device.Limited); ok {
		m.free = g.FreeBytes()
	}
	return nil
}

// measure takes the steps of one length. What goes wrong with this length alone is in the row; the error is for all of
// them. Memory that grows far beyond what is there saves even the gathering of a batch.
func (m *lengthMeter) measure(ctx context.Context, length int, memory *Growth) (row NeighborsRow, err error) {
	row.Neighbors = length
	if free := m.available(); memory != nil && free > 0 {
		if need := memory.At(float64(length)); need > 1.5*float64(free) {
			row.Problem = fmt.Sprintf("needs about %s, %s are free", term.Bytes(int64(need)), term.Bytes(free))
			return row, nil
		}
	}
	if m.Spec, err = m.of.at(model.DataOf(m.Set), length); err != nil {
		return row, err
	}
	if f, ok := m.Device.(device.Forgetter); ok { // recordings of the length before
		if err := tensor.Guard(f.Forget); err != nil {
			return NeighborsRow{Neighbors: length, Problem: err.Error()}, nil
		}
	}
	room, problem := m.foresee(ctx, &row)
	if problem == nil && !m.of.Planned {
		problem = m.take(ctx, &row, room)
	} else if problem == nil {
		row.Memory = row.Planned
	}
	if ctx.Err() != nil {
		return row, ctx.Err()
	}
	if problem != nil {
		row = NeighborsRow{Neighbors: length, Planned: row.Planned, Problem: problem.Error()}
	}
	return row, nil
}

// foresee finds what a step will take, without computing, and whether that is there. The tape may reserve room.
func (m *lengthMeter) foresee(ctx context.Context, row *NeighborsRow) (room int64, err error) {
	l, need, err := m.plan(func(l *learner) error {
		for s, err := range m.pass.Batches(ctx, l.Model, m.events.Slice(0, m.size)) {
			if err != nil {
				return err
			}
			if err := tensor.Guard(func() { l.whole(s.Batch) }); err != nil {
				return err
			}
			for i := range s.Batch.Rows {
				row.Positions = max(row.Positions, s.Batch.Rows[i].Len)
			}
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	row.Planned = need
	if free := m.available(); free > 0 && row.Planned > free {
		return 0, fmt.Errorf("needs %s, %s are free", term.Bytes(row.Planned), term.Bytes(free))
	}
	return l.Tape.Room(), nil
}

// available is the memory that a step may take, 0 where nobody tells.
func (m *lengthMeter) available() int64 {
	if m.free > 0 {
		return m.free
	}
	return memory.Available()
}

func (m *lengthMeter) take(ctx context.Context, row *NeighborsRow, room int64) error {
	l, err := m.learner(m.Device)
	if err != nil {
		return err
	}
	defer tensor.Guard(l.Close) // after a failure the device may refuse to free, too
	if err := tensor.Guard(func() { l.Tape.Reserve(room) }); err != nil {
		return err
	}
	var times, gathers []float64
	var last time.Time
	for s, err := range m.pass.Batches(ctx, l.Model, m.events) {
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
	if err := tensor.Guard(m.Device.Sync); err != nil {
		return err
	}
	row.Step, row.Gather = median(times), median(gathers)
	switch d := m.Device.(type) {
	case device.Limited:
		row.Memory = m.free - d.FreeBytes()
	case device.Metered:
		row.Memory = d.Used()
	default:
		row.Memory = row.Planned
	}
	return nil
}
