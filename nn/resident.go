package nn

import (
	"slices"

	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/tensor"
)

// Resident is a table on a device of rows that many steps read: a row is uploaded by the step that wants it first, and
// stays until others need its place. K tells rows apart: whatever is asked for under the same key is the same row.
type Resident[K comparable] struct {
	dev   device.Device
	table tensor.Tensor // [places, cols]; no places before the first step
	cols  int
	moves int

	where map[K]int32
	keys  []K      // of the places that are taken
	used  []uint32 // by place: the last step that read it
	spare []bool   // by place: it was not read since the hand came by
	step  uint32
	hand  int // where the next place is looked for

	numbers, fresh []int32
	rows           []float32
}

// ResidentMultiple is what the number of rows that a step uploads is a multiple of, so that steps come in few sizes.
const ResidentMultiple = 128

// residentSteps is how many times the rows of a step there is room for.
const residentSteps = 4

// NewResident makes a table of rows of this many numbers.
func NewResident[K comparable](dev device.Device, cols int) *Resident[K] {
	return &Resident[K]{dev: dev, cols: cols, where: map[K]int32{}}
}

// Close gives the memory back.
func (r *Resident[K]) Close() {
	if len(r.used) > 0 {
		r.dev.Free(r.table.Data)
	}
	r.forget(0)
	r.table = tensor.Tensor{}
}

// Foresee is what a step that loads these keys depends on beside sizes, see grad.Tape.Replay: where the table lies and
// how many rows are uploaded. It makes room for them and is called before the step, where that is recorded.
func (r *Resident[K]) Foresee(keys []K) uint64 {
	r.grow(len(keys))
	missing := 0
	for _, k := range keys {
		if _, there := r.where[k]; !there {
			missing++
		}
	}
	return grad.Key(uint64(r.moves), uint64(uploads(missing)))
}

// Load sees that the table has the rows of these keys, which differ from each other, and tells where: keys[i] has row
// numbers[i] of the table, until the next Load. Rows are given as [len(keys), cols]; those that are in the table are
// not looked at.
func (r *Resident[K]) Load(tp *grad.Tape, keys []K, rows []float32) (table *tensor.Tensor, numbers []int32) {
	r.grow(len(keys))
	r.step++
	r.numbers, r.fresh, r.rows = r.numbers[:0], r.fresh[:0], r.rows[:0]
	for _, k := range keys {
		at, there := r.where[k]
		if !there {
			at = -1
		} else {
			r.used[at], r.spare[at] = r.step, false
		}
		r.numbers = append(r.numbers, at)
	}
	for i, at := range r.numbers {
		if at < 0 {
			at = r.take(keys[i])
			r.numbers[i] = at
			r.fresh, r.rows = append(r.fresh, at), append(r.rows, rows[i*r.cols:(i+1)*r.cols]...)
		}
	}
	if n := uploads(len(r.fresh)); n > 0 {
		for len(r.fresh) < n {
			r.fresh = append(r.fresh, -1)
		}
		r.rows = slices.Grow(r.rows, n*r.cols-len(r.rows))[:n*r.cols] // what the rest holds nobody reads
		grad.Assign(tp, &r.table, tp.Floats(r.rows, n, r.cols), tp.Ints(r.fresh))
	}
	return &r.table, r.numbers
}

// uploads is the number of rows that are uploaded where some are missing.
func uploads(missing int) int {
	return (missing + ResidentMultiple - 1) / ResidentMultiple * ResidentMultiple
}

// take gives a key the place of a row that this step does not read, and preferably none of the last steps did.
func (r *Resident[K]) take(k K) int32 {
	if n := len(r.keys); n < len(r.used) {
		r.keys = append(r.keys, k)
		r.hand = n
	} else {
		for ; r.used[r.hand] == r.step || !r.spare[r.hand]; r.hand = (r.hand + 1) % len(r.used) {
			r.spare[r.hand] = true
		}
		delete(r.where, r.keys[r.hand])
		r.keys[r.hand] = k
	}
	at := r.hand
	r.where[k], r.used[at], r.spare[at] = int32(at), r.step, false
	r.hand = (at + 1) % len(r.used)
	return int32(at)
}

// grow makes room for steps with this many rows. A table that moves begins empty.
func (r *Resident[K]) grow(rows int) {
	if rows*residentSteps/2 <= len(r.used) && len(r.used) > 0 {
		return
	}
	places := ResidentMultiple
	for places < rows*residentSteps {
		places *= 2
	}
	if len(r.used) > 0 {
		r.dev.Sync()
		r.Close() // what was there is uploaded again, so that there are never two
	}
	r.moves++
	r.table.Set(r.dev.Alloc(places*r.cols), places, r.cols)
	r.forget(places)
}

// forget makes all places free.
func (r *Resident[K]) forget(places int) {
	clear(r.where)
	r.keys, r.used, r.spare = r.keys[:0], make([]uint32, places), make([]bool, places)
	r.hand = 0
}
