package dygmamba

import (
	"fmt"
	"slices"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/sample"
	"github.com/dygmamba/dygmamba/tensor"
)

// input brings a batch to the device before anything is computed: sources' rows first, then destinations'. Its host slices are used
// again by the next batch.
type input struct {
	cfg        Config
	dev        device.Device
	numbers    *tensor.Tensor // [RowLen+1, 1]: 0, 1, 2, …, all counts there are
	node, edge featureInput
	hostCounts []int32
	hostNodes  []int32
	hostDelta  []float32 // what several rows may share
	hostGaps   []float32
	hostSteps  []float32
	hostSome   []int32

	gaps    *tensor.Tensor // [n, k]
	rows    int            // 2n
	delta   *tensor.Tensor // [2n·RowLen]: how long ago
	present device.Ints    // [2n·RowLen]: 0 at padding
	counts  device.Ints    // [2n·P, 2p]: rows of the table of encoded counts
	steps   *tensor.Tensor // [2n, P, 1]: 1 where a patch holds anything; Paper only
	some    device.Ints    // the same as integers
}

// featureInput is a table of features on the device and the rows wanted of it; no table: all features are zero.
type featureInput struct {
	table *tensor.Tensor // [rows, cols]
	host  []int32
	rows  device.Ints // [2n·RowLen]
}

// open uploads the features, unless they are all zero.
func (in *input) open(env model.Env, c Config) error {
	if env.Node.Data != nil && env.Node.Cols > c.NodeDim {
		return fmt.Errorf("node features have %d columns, node_feat_dim is %d and must be at least as many", env.Node.Cols, c.NodeDim)
	}
	if env.Edge.Data != nil && env.Edge.Cols > c.EdgeDim {
		return fmt.Errorf("edge features have %d columns, edge_feat_dim is %d and must be at least as many", env.Edge.Cols, c.EdgeDim)
	}
	in.cfg, in.dev = c, env.Device
	in.node.open(env.Device, env.Node)
	in.edge.open(env.Device, env.Edge)
	numbers := make([]float32, c.RowLen()+1)
	for i := range numbers {
		numbers[i] = float32(i)
	}
	in.numbers = upload(env.Device, numbers, len(numbers), 1)
	return nil
}

// upload makes a tensor that stays.
func upload(dev device.Device, x []float32, rows, cols int) *tensor.Tensor {
	t := new(tensor.Tensor)
	t.Set(dev.Alloc(len(x)), rows, cols)
	dev.Write(t.Data, x)
	return t
}

func (in *input) close() {
	in.dev.Free(in.numbers.Data)
	in.node.close(in.dev)
	in.edge.close(in.dev)
}

// load uploads a batch.
func (in *input) load(tp *grad.Tape, b *sample.Batch) {
	src, dst := &b.Rows[0], &b.Rows[1]
	each := len(src.Node)
	in.rows = 2 * len(b.Queries)
	if in.cfg.pattern() {
		in.gaps = tp.Floats(b.Gaps, len(b.Queries), in.cfg.Meetings)
	}
	in.delta = tp.New(2 * each)
	if each > 0 {
		in.dev.Write(in.delta.Data.Slice(0, each), src.Delta)
		in.dev.Write(in.delta.Data.Slice(each, 2*each), dst.Delta)
	}
	in.hostNodes = append(append(in.hostNodes[:0], src.Node...), dst.Node...)
	in.present = tp.Ints(in.hostNodes)
	in.hostCounts = append(append(in.hostCounts[:0], src.Count...), dst.Count...)
	in.placeCounts()
	in.counts = tp.Ints(in.hostCounts)
	in.node.load(tp, src.Node, dst.Node)
	in.edge.load(tp, src.Edge, dst.Edge)
	if in.cfg.Arch == Paper {
		in.loadSteps(tp)
	}
}

// placeCounts turns counts into rows of the table, which has a block of RowLen+1 rows for each place in a patch.
func (in *input) placeCounts() {
	if in.cfg.Patch == 1 {
		return
	}
	block, each := int32(in.numbers.Rows()), 2*in.cfg.Patch
	for at := 0; at < len(in.hostCounts); at += each {
		for i, count := range in.hostCounts[at : at+each] {
			if count >= 0 {
				in.hostCounts[at+i] = count + int32(i/2)*block
			}
		}
	}
}

// loadSteps uploads which patches hold anything, for the paper's equations: their sequences have no padding.
func (in *input) loadSteps(tp *grad.Tape) {
	in.hostSteps, in.hostSome = in.hostSteps[:0], in.hostSome[:0]
	for last := in.cfg.Patch - 1; last < len(in.hostNodes); last += in.cfg.Patch { // padding is on the left
		some := min(in.hostNodes[last], 1)
		in.hostSteps, in.hostSome = append(in.hostSteps, float32(some)), append(in.hostSome, some)
	}
	in.steps = tp.Floats(in.hostSteps, in.rows, in.cfg.Patches(), 1)
	in.some = tp.Ints(in.hostSome)
}

func (f *featureInput) open(dev device.Device, x dataset.Features) {
	if !slices.ContainsFunc(x.Data, func(v float32) bool { return v != 0 }) {
		return
	}
	f.table = upload(dev, x.Data, x.Rows, x.Cols)
}

func (f *featureInput) close(dev device.Device) {
	if f.table != nil {
		dev.Free(f.table.Data)
	}
}

// load uploads row numbers. Rows that the table does not have, of nodes and events newer than it, count as zeros.
func (f *featureInput) load(tp *grad.Tape, src, dst []int32) {
	if f.table != nil {
		f.collect(src, dst)
		f.rows = tp.Ints(f.host)
	}
}

// collect puts the row numbers of both sides one after another; none where there is no table.
func (f *featureInput) collect(src, dst []int32) {
	if f.host = f.host[:0]; f.table == nil {
		return
	}
	f.host = append(append(f.host, src...), dst...)
	for i, r := range f.host {
		if int(r) >= f.table.Rows() {
			f.host[i] = -1
		}
	}
}
