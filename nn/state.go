package nn

import (
	"encoding/binary"
	"fmt"
	"iter"
	"math/bits"
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

	// rows that were written since all were zero, a bit each; nil: nobody says which
	touched []uint64
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
	known, sparse := s.few()
	for _, t := range s.tables {
		cols := t.Cols()
		wider := s.alloc(rows * cols)
		if sparse {
			for lo, hi := range runs(known) {
				part := func(b device.Buffer) device.Mat { return b.Slice(lo*cols, hi*cols).Mat(hi-lo, cols) }
				s.dev.Copy(part(wider), part(t.Data))
			}
		} else {
			s.dev.Copy(wider.Mat(s.rows, cols), t.Mat())
		}
		old := t.Data
		t.Set(wider, rows, cols)
		s.dev.Sync()
		s.dev.Free(old)
	}
	s.rows = rows
	s.moves++
}

// Touch says which rows a step will write; those below 0 are none. A model that says so from the beginning, and for
// every step, can remember very many nodes: rows that were never written are then neither copied nor saved.
func (s *State) Touch(rows []int32) {
	if s.touched == nil {
		s.touched = make([]uint64, (s.rows+63)/64)
	}
	for _, r := range rows {
		if r >= 0 && int(r) < s.rows {
			s.touch(int(r))
		}
	}
}

func (s *State) touch(row int) {
	if more := row/64 + 1 - len(s.touched); more > 0 {
		s.touched = append(s.touched, make([]uint64, more)...)
	}
	s.touched[row/64] |= 1 << (row % 64)
}

// few are the rows that were written, ascending, where the tables are large and most rows are zero. Row 0 is always
// there.
func (s *State) few() (rows []int32, ok bool) {
	cols := 0
	for _, t := range s.tables {
		cols += t.Cols()
	}
	if s.touched == nil || 4*s.rows*cols < denseBytes {
		return nil, false
	}
	count := 1
	for _, word := range s.touched {
		count += bits.OnesCount64(word)
	}
	if 2*count > s.rows {
		return nil, false
	}
	rows = append(make([]int32, 0, count), 0)
	for i, word := range s.touched {
		for ; word != 0; word &= word - 1 {
			if r := 64*i + bits.TrailingZeros64(word); r > 0 {
				rows = append(rows, int32(r))
			}
		}
	}
	return rows, true
}

// denseBytes is the size up to which tables are copied out as a whole.
var denseBytes = 256 << 20

// runs are the first of each run of consecutive rows, and the one behind its last.
func runs(rows []int32) iter.Seq2[int, int] {
	return func(yield func(lo, hi int) bool) {
		for i := 0; i < len(rows); {
			j := i + 1
			for j < len(rows) && rows[j] == rows[j-1]+1 {
				j++
			}
			if !yield(int(rows[i]), int(rows[j-1])+1) {
				return
			}
			i = j
		}
	}
}

// Reset forgets everything.
func (s *State) Reset() {
	clear(s.touched)
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

// Snapshot copies everything out: whole tables, or, where these are large and few rows were written, those rows and
// their numbers.
func (s *State) Snapshot() []tensor.Named {
	var list []tensor.Named
	known, sparse := s.few()
	for _, t := range s.tables {
		if !sparse {
			host := make([]float32, t.Len())
			s.dev.Read(host, t.Data)
			list = append(list, tensor.Named{Name: t.Name, Shape: slices.Clone(t.Shape()), Data: host})
			continue
		}
		cols := t.Cols()
		host := make([]float32, 0, len(known)*cols)
		for lo, hi := range runs(known) {
			from := len(host)
			host = host[:from+(hi-lo)*cols]
			s.dev.Read(host[from:], t.Data.Slice(lo*cols, hi*cols))
		}
		list = append(list, tensor.Named{Name: t.Name, Shape: []int{len(known), cols}, Data: host})
	}
	if sparse {
		list = append(list, numbersOf(known))
	}
	return list
}

// Written is Snapshot to be written to a file before the next step. What a processor can read is not copied.
func (s *State) Written() (list []tensor.Named) {
	if s.tables[0].Data.Host == nil {
		return s.Snapshot()
	}
	known, sparse := s.few()
	for _, t := range s.tables {
		x, cols := tensor.Named{Name: t.Name, Shape: slices.Clone(t.Shape())}, t.Cols()
		if !sparse {
			x.Pieces = [][]float32{t.Data.Host}
		} else {
			x.Shape[0] = len(known)
			for lo, hi := range runs(known) {
				x.Pieces = append(x.Pieces, t.Data.Host[lo*cols:hi*cols])
			}
		}
		list = append(list, x)
	}
	if sparse {
		list = append(list, numbersOf(known))
	}
	return list
}

// numbersOf are the numbers of rows.
func numbersOf(known []int32) tensor.Named {
	numbers := make([]byte, 0, 4*len(known))
	for _, r := range known {
		numbers = binary.LittleEndian.AppendUint32(numbers, uint32(r))
	}
	return tensor.Named{Name: rowNumbers, Shape: []int{len(numbers)}, Bytes: numbers}
}

// rowNumbers is the name of the numbers of rows, 4 bytes each, where not all are there.
const rowNumbers = "rows"

// Restore puts back what Snapshot copied out, with fewer rows as it may have; nil forgets everything. Nothing changes
// on an error.
func (s *State) Restore(list []tensor.Named) error {
	if list == nil {
		s.Reset()
		return nil
	}
	known, sparse, err := rowsIn(list)
	if err != nil {
		return err
	}
	rows := 0
	for _, t := range s.tables {
		from, ok := tensor.Find(list, t.Name)
		if !ok || len(from.Shape) != 2 || from.Shape[1] != t.Cols() || len(from.Data) != from.Shape[0]*from.Shape[1] {
			return fmt.Errorf("memory %s has shape %v, must be [nodes, %d]", t.Name, from.Shape, t.Cols())
		}
		if sparse && from.Shape[0] != len(known) {
			return fmt.Errorf("memory %s has %d rows, must have %d as there are numbers of rows", t.Name,
				from.Shape[0], len(known))
		}
		if i := slices.IndexFunc(from.Data, func(x float32) bool { return x-x != 0 }); i >= 0 {
			return fmt.Errorf("memory %s, row %d is %v, must be a finite number", t.Name, i/t.Cols(), from.Data[i])
		}
		rows = max(rows, from.Shape[0])
	}
	if sparse {
		rows = int(known[len(known)-1]) + 1
	}
	s.Grow(rows)
	s.Reset()
	for _, t := range s.tables {
		from, _ := tensor.Find(list, t.Name)
		if !sparse {
			s.restore(t, 0, from.Data)
			continue
		}
		data, cols := from.Data, t.Cols()
		for lo, hi := range runs(known) {
			s.restore(t, lo, data[:(hi-lo)*cols])
			data = data[(hi-lo)*cols:]
		}
	}
	return nil
}

// restore writes some rows of a table, and takes down which of them are not zero.
func (s *State) restore(t *Table, row int, data []float32) {
	cols := t.Cols()
	if len(data) > 0 {
		s.dev.Write(t.Data.Slice(row*cols, row*cols+len(data)), data)
	}
	if s.touched == nil {
		return
	}
	for i := range len(data) / cols {
		if slices.ContainsFunc(data[i*cols:(i+1)*cols], func(x float32) bool { return x != 0 }) {
			s.touch(row + i)
		}
	}
}

// rowsIn are the numbers of the rows of a snapshot that does not have all.
func rowsIn(list []tensor.Named) (rows []int32, sparse bool, err error) {
	numbers, sparse := tensor.Find(list, rowNumbers)
	if !sparse {
		return nil, false, nil
	}
	if len(numbers.Bytes) == 0 || len(numbers.Bytes)%4 != 0 {
		return nil, true, fmt.Errorf("memory: numbers of rows have %d bytes, must have 4 for each row",
			len(numbers.Bytes))
	}
	for b := numbers.Bytes; len(b) > 0; b = b[4:] {
		r := int32(binary.LittleEndian.Uint32(b))
		if n := len(rows); r < 0 || n > 0 && r <= rows[n-1] {
			return nil, true, fmt.Errorf("memory: row %d, must be after the row before", r)
		}
		rows = append(rows, r)
	}
	return rows, true, nil
}

// Close gives the memory back.
func (s *State) Close() {
	for _, t := range s.tables {
		s.dev.Free(t.Data)
	}
}
