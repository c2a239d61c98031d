// Package grad answers: how does the loss change with every number that went into it?
//
// A Tape runs operations on a device, remembers them, and walks back through them. Operations are plain functions that
// take the tape first; each has a hand-written backward pass made of the device's kernels. Shapes are checked here,
// once; misfits panic with *tensor.ShapeError.
package grad

import (
	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/tensor"
)

// Tape holds one step: its memory, its tensors and, when recording, its operations. It belongs to one goroutine. After
// the first step of a given shape a step allocates nothing on the Go heap.
type Tape struct {
	dev    device.Device
	record bool
	drops  bool   // dropout is on
	id     uint64 // among the process's tapes, once it replays

	floats arena
	// what is uploaded: no kernel of the step writes here, so that all of it may arrive before the first one runs
	inputs arena
	ints   blocks[device.Ints] // few: inputs, masks and keys

	tensors slab[tensor.Tensor]
	lists   []*tensor.Tensor
	parts   []Part
	ops     []Op // the slots of earlier steps are used again where the type is the same
	used    int
	walk    int // operations that a walk back has not come to yet

	uses, noted map[*tensor.Tensor]int // the first operation of each parameter, see NoteUses; nil: nobody asked

	key    device.Ints
	words  [2]int32
	stream uint32

	constants device.Buffer // 0 and 1
	rounder   device.Rounder
}

// Op is a recorded operation. Backward reads the gradient of its results and gives gradients to its inputs.
type Op interface{ Backward(tp *Tape) }

// NewTape makes a tape on dev. One that does not record is for evaluation: it keeps nothing for a backward pass, and
// dropout is off, and so is rounding on a device that rounds products while it learns.
func NewTape(dev device.Device, record bool) *Tape {
	tp := &Tape{dev: dev, record: record, drops: record, floats: newArena(dev, false), inputs: newArena(dev, true),
		ints: blocks[device.Ints]{take: dev.AllocInts, give: dev.FreeInts}}
	tp.rounder, _ = dev.(device.Rounder)
	tp.constants = dev.Alloc(2)
	dev.Write(tp.constants, []float32{0, 1})
	tp.Reset(0)
	return tp
}

// Key derives a step's dropout key from the seed of the run and the number of the step, so that a resumed run draws the
// same.
func Key(seed, step uint64) uint64 {
	z := seed*0x9e3779b97f4a7c15 + step + 1
	for range 2 {
		z += 0x9e3779b97f4a7c15
		z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
		z = (z ^ z>>27) * 0x94d049bb133111eb
		z ^= z >> 31
	}
	return z
}

// Reset starts a step: every tensor of the last one is gone. The key feeds the step's dropouts.
func (tp *Tape) Reset(key uint64) {
	tp.floats.reset()
	tp.inputs.reset()
	tp.ints.release(mark{})
	tp.tensors.reset()
	tp.lists = tp.lists[:0]
	tp.parts = tp.parts[:0]
	tp.used = 0
	tp.stream = 0
	if tp.rounder != nil {
		tp.rounder.Round(tp.record)
	}
	tp.words = [2]int32{int32(uint32(key)), int32(uint32(key >> 32))}
	tp.key = tp.Ints(tp.words[:])
}

// Device is where the tape computes.
func (tp *Tape) Device() device.Device { return tp.dev }

// Recording reports whether a backward pass may follow.
func (tp *Tape) Recording() bool { return tp.record }

// Bytes is the most device memory that steps have needed so far.
func (tp *Tape) Bytes() int64 {
	return 4*int64(tp.floats.high+tp.constants.Len) + tp.inputs.bytes() + tp.ints.bytes()
}

// Room is the part of Bytes that Reserve can provide for: all but what is uploaded, which is little, and constants.
func (tp *Tape) Room() int64 { return 4 * int64(tp.floats.high) }

// Reserve makes room for steps that have needed Room bytes elsewhere, so that a lack of memory shows now: it panics
// with *device.OutOfMemory. It is called between Reset and the first operation.
func (tp *Tape) Reserve(bytes int64) { tp.floats.reserve(int((bytes + 3) / 4)) }

// Moves counts how often the tape's memory went elsewhere: tensors of one step lie where those of the next do while it
// stays.
func (tp *Tape) Moves() int { return tp.floats.moves }

// Close gives the memory back to the device.
func (tp *Tape) Close() {
	tp.floats.free()
	tp.inputs.free()
	tp.ints.free()
	tp.dev.Free(tp.constants)
}

// Mark remembers how much memory is in use, for Release.
func (tp *Tape) Mark() Mark { return Mark(tp.floats.mark()) }

// Mark is a position in a tape's memory.
type Mark mark

// Release makes tensors created since m invalid and their memory free. A recording tape needs them and keeps them.
func (tp *Tape) Release(m Mark) {
	if !tp.record {
		tp.floats.release(mark(m))
	}
}

// Floats uploads numbers; the tensor wants no gradient. The host's slice may be used again at once.
func (tp *Tape) Floats(host []float32, shape ...int) *tensor.Tensor {
	t := tp.header(shape)
	t.Data = tp.inputs.alloc(t.Len())
	if t.Len() != len(host) {
		panic(tensor.Mismatch("floats", "as many elements as numbers given", shape, []int{len(host)}))
	}
	if len(host) > 0 {
		tp.dev.Write(t.Data, host)
	}
	return t
}

// Ints uploads integers.
func (tp *Tape) Ints(host []int32) device.Ints {
	b := tp.ints.alloc(len(host), firstBlock/8)
	if len(host) > 0 {
		tp.dev.WriteInts(b, host)
	}
	return b
}

// Zeros makes a tensor of zeros that wants no gradient.
func (tp *Tape) Zeros(shape ...int) *tensor.Tensor {
	t := tp.New(shape...)
	tp.zero(t.Data)
	return t
}

// Detach is x without its past: no gradient flows through it.
func (tp *Tape) Detach(x *tensor.Tensor) *tensor.Tensor {
	t := tp.header(x.Shape())
	t.Data, t.Stride = x.Data, x.Stride
	return t
}

// Aside runs f without recording: what it computes has no past, so no gradient flows through it, and operations keep
// nothing for a backward pass. Dropout stays as it is: on in a training step. Inputs are to be uploaded before: memory
// that operations give back inside would be used for them again, see Replay.
func (tp *Tape) Aside(f func()) {
	record := tp.record
	tp.record = false
	defer func() { tp.record = record }()
	f()
}

// Backward computes the gradient of loss, which has one element, with respect to everything tracked. It ends the step:
// the operations are forgotten, though results can still be read until Reset.
func (tp *Tape) Backward(loss *tensor.Tensor) {
	if tp.StartBack(loss) {
		tp.WalkBack(0, nil)
	}
}

// Record puts an operation on the tape. The slot of the last step is used again, so that no memory is allocated:
// op must not hold slices that it grows itself.
func Record[T any, P interface {
	*T
	Op
}](tp *Tape, op T) {
	if tp.used == len(tp.ops) {
		tp.ops = append(tp.ops, nil)
	}
	p, ok := tp.ops[tp.used].(P)
	if !ok {
		p = new(T)
		tp.ops[tp.used] = p
	}
	*p = op
	tp.used++
}

// record puts an operation with one result y on the tape if y is tracked, and reports that.
func record[T any, P interface {
	*T
	backward(tp *Tape, dy device.Mat)
}](tp *Tape, y *tensor.Tensor, op T) bool {
	if y.Tracked {
		Record(tp, single[T, P]{y, op})
	}
	return y.Tracked
}

// single is an operation with one result. Its backward pass runs when a gradient of y has arrived, gets it as a dense
// matrix, and gives its memory on or recycles it.
type single[T any, P interface {
	*T
	backward(tp *Tape, dy device.Mat)
}] struct {
	y  *tensor.Tensor
	op T
}

func (o *single[T, P]) Backward(tp *Tape) {
	if g := tp.Take(o.y); g.Len > 0 {
		P(&o.op).backward(tp, g.Mat(o.y.Rows(), o.y.Cols()))
	}
}

// list copies a list of tensors into the tape's memory.
func (tp *Tape) list(ts []*tensor.Tensor) []*tensor.Tensor {
	n := len(tp.lists)
	tp.lists = append(tp.lists, ts...)
	return tp.lists[n:len(tp.lists):len(tp.lists)]
}

// slab hands out values of one type whose addresses stay valid until reset.
type slab[T any] struct {
	blocks [][]T
	n      int
}

const slabBlock = 128

func (s *slab[T]) next() *T {
	if s.n == slabBlock*len(s.blocks) {
		s.blocks = append(s.blocks, make([]T, slabBlock))
	}
	p := &s.blocks[s.n/slabBlock][s.n%slabBlock]
	s.n++
	return p
}

func (s *slab[T]) reset() { s.n = 0 }
