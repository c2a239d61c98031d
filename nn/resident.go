package nn

import (
	"math/bits"
	"slices"
	"sync/atomic"

	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/internal/parallel"
	"github.com/dygmamba/dygmamba/tensor"
)

// Resident is a table on a device of rows that many steps read: a row is uploaded by the step that wants it first, and
// stays until another needs its place. K tells rows apart: whatever is asked for under the same key is the same row.
//
// Every key has a home, which it shares with others. Where two of them are asked for in one step, the second is
// uploaded to a place of its own behind the homes, for this step alone.
type Resident[K comparable] struct {
	dev   device.Device
	table tensor.Tensor // [homes + guests, cols]; no places before the first step
	cols  int
	moves int

	home   func(K) int
	ample  int // homes that are worth having
	homes  []home[K]
	guests int
	step   uint32
	taken  atomic.Int64 // homes that were, when keys asked for them

	foreseen       []K     // of the last Foresee that nothing was loaded since
	numbers, fresh []int32 // of foreseen: places, and which keys are to be uploaded
	places         []int32 // where to
	rows           []float32
}

// home is a place of the table that stays.
type home[K comparable] struct {
	key   K
	taken bool   // the row of key is there
	used  uint32 // the last step that was foreseen to read it
}

// ResidentMultiple is what the number of rows that a step uploads is a multiple of, so that steps come in few sizes.
// Large numbers are multiples of an eighth of the power of two below them.
const ResidentMultiple = 128

// residentSteps is how many times the rows of a step there are homes for; ampleBytes are what homes take at most beyond
// that.
const (
	residentSteps = 4
	ampleBytes    = 2 << 30
)

// NewResident makes a table of rows of this many numbers. Home is a number of a key's own, such as that of its node:
// keys whose homes differ by less than ample do not get into each other's way on a device that is slow to upload to,
// as far as there is memory.
func NewResident[K comparable](dev device.Device, cols, ample int, home func(K) int) *Resident[K] {
	if _, far := dev.(device.Replayer); !far {
		ample = 0
	}
	return &Resident[K]{dev: dev, cols: cols, home: home, ample: min(ample, ampleBytes/4/max(1, cols))}
}

// Close gives the memory back.
func (r *Resident[K]) Close() {
	if len(r.homes) > 0 {
		r.dev.Free(r.table.Data)
	}
	r.homes, r.guests, r.foreseen = nil, 0, r.foreseen[:0]
	r.table = tensor.Tensor{}
}

// Foresee is what a step that loads these keys depends on beside sizes, see grad.Tape.Replay: where the table lies and
// how many rows are uploaded. It makes room for them and is called before the step, where that is recorded.
func (r *Resident[K]) Foresee(keys []K) uint64 {
	r.find(keys)
	return grad.Key(uint64(r.moves), uint64(uploads(len(r.fresh))))
}

// find gives places to keys, and lists which are to be uploaded.
func (r *Resident[K]) find(keys []K) {
	r.grow(len(keys))
	r.foreseen = append(r.foreseen[:0], keys...)
	r.numbers = slices.Grow(r.numbers[:0], len(keys))[:len(keys)]
	r.at(keys)
	r.step++
	r.fresh = r.fresh[:0]
	guests := len(r.homes)
	for i, at := range r.numbers {
		h := &r.homes[at]
		if h.used == r.step { // another key of this step is at home there, or will be
			r.fresh = append(r.fresh, int32(i))
			r.numbers[i] = int32(guests)
			guests++
			continue
		}
		h.used = r.step
		if !h.taken || h.key != keys[i] {
			r.fresh = append(r.fresh, int32(i))
		}
	}
}

// at notes the homes of keys. Several threads do so where they are many: most of the time goes to reading what lies
// there, which the next reader then finds near.
func (r *Resident[K]) at(keys []K) {
	const each = 2048
	if len(keys) < 2*each {
		r.atSome(keys, 0, len(keys))
		return
	}
	parallel.Ranges(len(keys), each, func(_, lo, hi int) { r.atSome(keys, lo, hi) })
}

func (r *Resident[K]) atSome(keys []K, lo, hi int) {
	taken := int64(0)
	for i := lo; i < hi; i++ {
		at := int(uint(r.home(keys[i])) % uint(len(r.homes)))
		if r.numbers[i] = int32(at); r.homes[at].taken {
			taken++
		}
	}
	r.taken.Add(taken) // so that the compiler keeps it
}

// Load sees that the table has the rows of these keys, which differ from each other, and tells where: keys[i] has row
// numbers[i] of the table, until the next Load or Foresee. Rows are given as [len(keys), cols]; those that are in the
// table are not looked at.
func (r *Resident[K]) Load(tp *grad.Tape, keys []K, rows []float32) (table *tensor.Tensor, numbers []int32) {
	if len(r.homes) == 0 || !slices.Equal(r.foreseen, keys) {
		r.find(keys)
	}
	r.foreseen = r.foreseen[:0]
	r.places, r.rows = r.places[:0], r.rows[:0]
	for _, i := range r.fresh {
		at := r.numbers[i]
		if int(at) < len(r.homes) {
			r.homes[at].key, r.homes[at].taken = keys[i], true
		}
		r.places, r.rows = append(r.places, at), append(r.rows, rows[int(i)*r.cols:(int(i)+1)*r.cols]...)
	}
	if n := uploads(len(r.fresh)); n > 0 {
		for len(r.places) < n {
			r.places = append(r.places, -1)
		}
		r.rows = slices.Grow(r.rows, n*r.cols-len(r.rows))[:n*r.cols] // what the rest holds nobody reads
		grad.Assign(tp, &r.table, tp.Floats(r.rows, n, r.cols), tp.Ints(r.places))
	}
	return &r.table, r.numbers
}

// uploads is the number of rows that are uploaded where some are missing.
func uploads(missing int) int {
	multiple := max(ResidentMultiple, 1<<bits.Len(uint(missing))>>4)
	return (missing + multiple - 1) / multiple * multiple
}

// grow makes room for steps with this many rows. A table that moves begins empty.
func (r *Resident[K]) grow(rows int) {
	if len(r.homes) > 0 && rows <= r.guests {
		return
	}
	guests := ResidentMultiple
	for guests < rows {
		guests *= 2
	}
	if len(r.homes) > 0 {
		r.dev.Sync()
		r.Close() // what was there is uploaded again, so that there are never two
	}
	homes := max(residentSteps*guests, r.ample)
	r.moves++
	r.table.Set(r.dev.Alloc((homes+guests)*r.cols), homes+guests, r.cols)
	r.homes, r.guests = make([]home[K], homes), guests
}
