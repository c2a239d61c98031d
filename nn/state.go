package nn

import (
	"fmt"
	"slices"

	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/tensor"
)

// State is what a model remembers and does not learn: named tables with a row for every node, zero at first. Kernels of
// a step write into them; between steps they can be copied out, put back, and grow.
type State struct {
	dev    device.Device
	rows   int
	tables []*Table
	moves  int
}

// Table is one of them.
type Table struct {
	*tensor.Tensor        // [rows, cols]; the header stays, its memory may move
	Name           string // in checkpoints
}

// NewState makes room for this many rows.
func NewState(dev device.Device, rows int) *State { return &State{dev: dev, rows: max(1, rows)} }

// Add makes a table.
func (s *State) Add(name string, cols int) *Table {
	t := &Table{new(tensor.Tensor), name}
	t.Set(s.alloc(s.rows*cols), s.rows, cols)
	s.tables = append(s.tables, t)
	return t
}

// Rows is the number of rows of every table.
func (s *State) Rows() int { return s.rows }

// Moves counts how often tables went to other memory: a recorded step is good until then.
func (s *State) Moves() int { return s.moves }

// Grow makes room for nodes that were not there, with some to spare; what is known of the others stays.
func (s *State) Grow(rows int) {
	if rows <= s.rows {
		return
	}
	rows = max(rows, s.rows*3/2)
	for _, t := range s.tables {
		wider := s.alloc(rows * t.Cols())
		s.dev.Copy(wider.Mat(s.rows, t.Cols()), t.Mat())
		old := t.Data
		t.Set(wider, rows, t.Cols())
		s.dev.Sync()
		s.dev.Free(old)
	}
	s.rows = rows
	s.moves++
}

// Reset forgets everything.
func (s *State) Reset() {
	for _, t := range s.tables {
		if sparse, ok := s.dev.(device.Sparse); ok {
			sparse.ZeroSparse(t.Data)
		} else {
			s.dev.Zero(t.Data)
		}
	}
}

// alloc makes room for a table. Many nodes may never occur, so their rows take no memory where the device can do that.
func (s *State) alloc(n int) device.Buffer {
	if sparse, ok := s.dev.(device.Sparse); ok {
		return sparse.AllocSparse(n)
	}
	return s.dev.Alloc(n)
}

// Snapshot copies everything out.
func (s *State) Snapshot() []tensor.Named {
	var list []tensor.Named
	for _, t := range s.tables {
		host := make([]float32, t.Len())
		s.dev.Read(host, t.Data)
		list = append(list, tensor.Named{Name: t.Name, Shape: slices.Clone(t.Shape()), Data: host})
	}
	return list
}

// Restore puts back what Snapshot copied out, with fewer rows as it may have; nil forgets everything. Nothing changes
// on an error.
func (s *State) Restore(list []tensor.Named) error {
	if list == nil {
		s.Reset()
		return nil
	}
	rows := 0
	for _, t := range s.tables {
		from, ok := tensor.Find(list, t.Name)
		if !ok || len(from.Shape) != 2 || from.Shape[1] != t.Cols() || len(from.Data) != from.Shape[0]*from.Shape[1] {
			return fmt.Errorf("memory %s has shape %v, must be [nodes, %d]", t.Name, from.Shape, t.Cols())
		}
		if i := slices.IndexFunc(from.Data, func(x float32) bool { return x-x != 0 }); i >= 0 {
			return fmt.Errorf("memory %s, row %d is %v, must be a finite number", t.Name, i/t.Cols(), from.Data[i])
		}
		rows = max(rows, from.Shape[0])
	}
	s.Grow(rows)
	s.Reset()
	for _, t := range s.tables {
		if from, _ := tensor.Find(list, t.Name); len(from.Data) > 0 {
			s.dev.Write(t.Data.Slice(0, len(from.Data)), from.Data)
		}
	}
	return nil
}

// Close gives the memory back.
func (s *State) Close() {
	for _, t := range s.tables {
		s.dev.Free(t.Data)
	}
}
