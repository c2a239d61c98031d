package walkmamba

import (
	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/nn"
	"github.com/dygmamba/dygmamba/sample"
	"github.com/dygmamba/dygmamba/tensor"
	"github.com/dygmamba/dygmamba/walk"
)

// input brings a batch to the device before anything is computed. Its host slices are used again by the next batch.
type input struct {
	cfg        Config
	dev        device.Device
	node, edge *nn.Features
	numbers    *tensor.Tensor // [c, 1]: 0, 1, 2, …, all counts there are
	rates      device.Buffer  // of the walks' scales
	ids        []int32
	floats     []float32

	rows    int            // 2n: sources, then destinations
	patches int            // P, of each
	nodes   device.Ints    // [2n·P·p]: rows of the table of features
	edges   device.Ints    // [2n·P·p]
	delta   *tensor.Tensor // [2n·P·p]: how long ago
	present device.Ints    // [2n·P·p]: 0 at padding
	counts  device.Ints    // [2n·P, 2p]: rows of the table of encoded counts
	way     *tensor.Tensor // [2n·P, p]: 1 where the node was the source, −1 where it was the destination, 0 elsewhere
	gaps    *tensor.Tensor // [n, k]
	roles   *tensor.Tensor // [n, walk.Roles]

	products *tensor.Tensor // [2n·P·p, walkProducts]
	pairs    *tensor.Tensor // [n, walkPairs]
}

// open uploads the features, unless they are all zero, and what is the same for all batches.
func (in *input) open(env model.Env, c Config) (err error) {
	in.cfg, in.dev = c, env.Device
	if in.node, in.edge, err = env.Features(c.NodeDim, c.EdgeDim); err != nil {
		return err
	}
	numbers := make([]float32, c.RowLen()+1)
	for i := range numbers {
		numbers[i] = float32(i)
	}
	in.numbers = new(tensor.Tensor)
	in.numbers.Set(env.Device.Alloc(len(numbers)), len(numbers), 1)
	env.Device.Write(in.numbers.Data, numbers)
	var rates [walk.Scales]float32
	for s, rate := range c.options(env).Rates() {
		rates[s] = float32(rate)
	}
	in.rates = env.Device.Alloc(len(rates))
	env.Device.Write(in.rates, rates[:])
	return nil
}

func (in *input) close() {
	in.dev.Free(in.numbers.Data)
	in.dev.Free(in.rates)
	in.node.Close()
	in.edge.Close()
}

// moves changes whenever kernels that read features do.
func (in *input) moves() uint64 { return grad.Key(uint64(in.node.Moves()), uint64(in.edge.Moves())) }

// load uploads a batch, and takes the products of walk vectors.
func (in *input) load(tp *grad.Tape, b *sample.Batch) {
	n, src, dst := len(b.Queries), &b.Rows[0], &b.Rows[1]
	in.rows, in.patches = 2*n, src.Len/in.cfg.Patch
	in.floats = append(append(in.floats[:0], src.Delta...), dst.Delta...)
	in.delta = tp.Floats(in.floats, len(in.floats))
	in.ids = append(append(in.ids[:0], src.Node...), dst.Node...)
	in.present = tp.Ints(in.ids)
	in.nodes, in.edges = in.node.Load(tp, src.Node, dst.Node), in.edge.Load(tp, src.Edge, dst.Edge)
	in.ids = append(append(in.ids[:0], src.Count...), dst.Count...)
	in.placeCounts()
	in.counts = tp.Ints(in.ids)
	if in.cfg.Direction {
		in.floats = append(append(in.floats[:0], src.Way...), dst.Way...)
		in.way = tp.Floats(in.floats, in.rows*in.patches, in.cfg.Patch)
	}
	if in.cfg.TimeBlock {
		in.floats = append(in.floats[:0], b.Gaps...)
		in.cfg.logGaps(in.floats)
		in.gaps = tp.Floats(in.floats, n, in.cfg.Meetings)
	}
	if in.cfg.Roles {
		in.roles = tp.Floats(b.Walks.Roles, n, walk.Roles)
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

// placeCounts turns counts into rows of the table, which has a block of all counts for each place in a patch.
func (in *input) placeCounts() {
	block, each := int32(in.numbers.Rows()), 2*in.cfg.Patch
	for i := range in.ids {
		in.ids[i] += int32(i%each/2) * block
	}
}

// loadWalks uploads the states of all nodes and holds them against each other.
func (in *input) loadWalks(tp *grad.Tape, b *sample.Batch) {
	w, src, dst := &b.Walks, &b.Rows[0], &b.Rows[1]
	n := len(b.Queries)
	table := tp.Floats(w.Table, len(w.Table)/w.Width, w.Width)
	of := device.Walks{
		Dim: in.cfg.WalkDim, Table: table.Mat(), Rates: in.rates,
		Src: tp.Ints(w.Src), Dst: tp.Ints(w.Dst),
		SrcAge: tp.Floats(w.SrcAge, n).Data, DstAge: tp.Floats(w.DstAge, n).Data,
	}
	if in.cfg.Pair {
		pairs := of
		pairs.Pairs = true
		in.pairs = grad.Walks(tp, pairs) // [n, walkPairs]
	}
	if in.cfg.Neighbors {
		in.ids = append(append(in.ids[:0], src.Walk...), dst.Walk...)
		in.floats = append(append(in.floats[:0], src.Age...), dst.Age...)
		of.Of, of.Age, of.Each = tp.Ints(in.ids), tp.Floats(in.floats, len(in.floats)).Data, src.Len
		in.products = grad.Walks(tp, of) // [2n·P·p, walkProducts]
	}
}
