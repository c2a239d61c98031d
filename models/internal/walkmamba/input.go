package walkmamba

import (
	"slices"

	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/internal/walk"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/models/internal/sequence"
	"github.com/dygmamba/dygmamba/nn"
	"github.com/dygmamba/dygmamba/sample"
	"github.com/dygmamba/dygmamba/tensor"
)

// input brings a batch to the device before anything is computed. Its host slices are used again by the next batch.
type input struct {
	sequence.Tables
	cfg    Config
	dev    device.Device
	rates  device.Buffer // of the walks' scales
	walks  *nn.Resident[walkState]
	states []walkState // of the batch at hand
	ids    []int32
	floats []float32
	again  periodicity

	// Positions are 2n rows: sources, then destinations; fewer where some are read once.
	sequence.Positions
	rowsOf      device.Ints    // [2n]: which of them each is; empty: all are there
	gapsOf      device.Ints    // [n]: which row of gaps each has; likewise
	way         *tensor.Tensor // [2n·P, p]: 1 where the node was the source, −1 the destination, 0 none
	gaps        *tensor.Tensor // [n, k]
	roles       *tensor.Tensor // [n, walk.Roles]
	nextItem    *tensor.Tensor // [n, walk.NextItems]
	periodicity *tensor.Tensor // [n, k]

	products *tensor.Tensor // [2n·P·p, walkProducts]
	pairs    *tensor.Tensor // [n, walkPairs]
}

// walkState is whose row of walk vectors one is.
type walkState struct {
	state
	past uint64
}

// home is where a state stays on the device: that of its node.
func (s walkState) home() int { return int(s.Node) }

// open uploads what is the same for all batches.
func (in *input) open(env model.Env, c Config) error {
	in.cfg, in.dev = c, env.Device
	if err := in.Tables.Open(env, c.NodeDim, c.EdgeDim, c.TellsKinds(), c.RowLen()); err != nil {
		return err
	}
	var rates [walk.Scales]float32
	for s, rate := range c.options(env).Rates() {
		rates[s] = float32(rate)
	}
	in.rates = env.Device.Alloc(len(rates))
	env.Device.Write(in.rates, rates[:])
	in.walks = nn.NewResident(env.Device, c.options(env).Width(), env.NumNodes, walkState.home)
	return nil
}

func (in *input) close() {
	in.dev.Free(in.rates)
	in.walks.Close()
	in.Tables.Close()
}

// shape changes whenever kernels that read features do, and with what is uploaded of walks.
func (in *input) shape(b *sample.Batch) uint64 {
	shape := in.Moves()
	if in.cfg.walks() {
		shape = grad.Key(shape, in.walks.Foresee(in.list(foundIn(b))))
	}
	return shape
}

// list is whose states the rows of a batch's table are.
func (in *input) list(w *found) []walkState {
	in.states = in.states[:0]
	for _, of := range w.Of {
		in.states = append(in.states, walkState{of, w.Past})
	}
	return in.states
}

// load uploads a batch, and takes the products of walk vectors. With share, what several queries have in common is
// uploaded once.
func (in *input) load(tp *grad.Tape, b *sample.Batch, share bool) {
	n, src, dst := len(b.Queries), &b.Rows[0], &b.Rows[1]
	gaps := b.Gaps
	var list [2][]float32
	ways := list[:0] // of each draw
	if in.cfg.Direction {
		ways = append(ways, foundIn(b).Rows[0].Way, foundIn(b).Rows[1].Way)
	}
	in.rowsOf, in.gapsOf = device.Ints{}, device.Ints{}
	if share {
		src, dst, ways, gaps = in.share(tp, b, ways)
	}
	in.Often.Begin()
	in.Positions = in.Load(tp, src, dst, in.cfg.Patch)
	if in.cfg.Direction {
		in.floats = in.floats[:0]
		for _, way := range ways {
			in.floats = append(in.floats, way...)
		}
		in.way = tp.Floats(in.floats, in.Rows*in.Patches, in.cfg.Patch)
	}
	if in.cfg.TimeBlock {
		in.floats = append(in.floats[:0], gaps...)
		in.cfg.logGaps(in.floats)
		in.gaps = tp.Floats(in.floats, len(gaps)/in.cfg.Meetings, in.cfg.Meetings)
	}
	if in.cfg.Roles {
		in.roles = tp.Floats(foundIn(b).Roles, n, walk.Roles)
	}
	if in.cfg.NextItem {
		in.nextItem = tp.Floats(foundIn(b).NextItems, n, walk.NextItems)
	}
	if in.cfg.Periodicity {
		in.loadPeriodicity(tp, b)
	}
	if in.cfg.walks() {
		in.loadWalks(tp, b)
	}
}

// never is the logarithm that stands for the gap before a pair's first meeting: longer than any other.
const never = 20

// logGaps turns gaps into logarithms, if these are wanted.
func (c Config) logGaps(gaps []float32) {
	if !c.LogTime {
		return
	}
	for i, gap := range gaps {
		if gap >= sample.Never {
			gaps[i] = never
		} else {
			sample.Logs(gaps[i:i+1], c.logUnit())
		}
	}
}

func (in *input) loadPeriodicity(tp *grad.Tape, b *sample.Batch) {
	k := in.cfg.Meetings
	in.floats = slices.Grow(in.floats[:0], len(b.Gaps))[:len(b.Gaps)]
	for lo := 0; lo < len(b.Gaps); lo += k {
		in.again.read(in.floats[lo:lo+k], b.Gaps[lo:lo+k], in.cfg.logUnit())
	}
	in.periodicity = tp.Floats(in.floats, len(b.Queries), k)
}

// loadWalks uploads the states of nodes that are not on the device yet, and holds all of them against each other.
func (in *input) loadWalks(tp *grad.Tape, b *sample.Batch) {
	w := foundIn(b)
	n := len(b.Queries)
	table, at := in.walks.Load(tp, in.list(w), w.Table)
	of := device.DecayedProducts{
		Dim: in.cfg.WalkDim, Table: table.Mat(), Rates: in.rates,
		Src: in.rowsAt(tp, at, w.Src), Dst: in.rowsAt(tp, at, w.Dst),
		SrcAge: tp.Floats(w.SrcAge, n).Data, DstAge: tp.Floats(w.DstAge, n).Data,
	}
	if in.cfg.Pair {
		pairs := of
		pairs.Pairs = true
		in.pairs = grad.DecayedProducts(tp, pairs) // [n, walkPairs]
	}
	if in.cfg.Neighbors {
		in.floats = append(append(in.floats[:0], w.Rows[0].Age...), w.Rows[1].Age...)
		of.Of, of.Age = in.rowsAt(tp, at, w.Rows[0].Walk, w.Rows[1].Walk), tp.Floats(in.floats, len(in.floats)).Data
		of.Each = b.Rows[0].Len
		in.products = grad.DecayedProducts(tp, of) // [2n·P·p, walkProducts]
	}
}

// rowsAt uploads where on the device rows of the batch's table are; a negative number stays.
func (in *input) rowsAt(tp *grad.Tape, at []int32, lists ...[]int32) device.Ints {
	in.ids = in.ids[:0]
	for _, list := range lists {
		for _, row := range list {
			if row >= 0 {
				row = at[row]
			}
			in.ids = append(in.ids, row)
		}
	}
	return tp.Ints(in.ids)
}
