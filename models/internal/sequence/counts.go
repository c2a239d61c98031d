package sequence

import (
	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/nn"
	"github.com/dygmamba/dygmamba/tensor"
)

// Counts encodes how often a neighbour occurs in each of the two histories. Counts are small whole numbers: each is
// encoded and projected once, for every place in a patch, and positions add up the rows they need.
type Counts struct {
	layers  [2]nn.Linear
	numbers *tensor.Tensor // [c, 1]: 0, 1, 2, …, all counts there are
	dev     device.Device
	table   *tensor.Tensor // [p, c, d] of the batch at hand, once it is asked for
}

// NewCounts adds the two layers of an encoder that is d wide.
func NewCounts(s nn.Scope, d int) *Counts {
	return &Counts{layers: [2]nn.Linear{nn.NewLinear(s.In("0"), 1, d), nn.NewLinear(s.In("2"), d, d)}}
}

// Open uploads all counts up to the most that there can be.
func (c *Counts) Open(dev device.Device, most int) {
	numbers := make([]float32, most+1)
	for i := range numbers {
		numbers[i] = float32(i)
	}
	c.dev, c.numbers = dev, new(tensor.Tensor)
	c.numbers.Set(dev.Alloc(len(numbers)), len(numbers), 1)
	dev.Write(c.numbers.Data, numbers)
}

// Close gives their memory back.
func (c *Counts) Close() { c.dev.Free(c.numbers.Data) }

// Load uploads pairs of counts, one for each position, as rows of the table. They are changed to that; a negative
// count, of what is not counted, stays.
func (c *Counts) Load(tp *grad.Tape, counts []int32, patch int) device.Ints {
	placeCounts(counts, patch, c.numbers.Rows())
	return tp.Ints(counts)
}

// Begin begins a batch.
func (c *Counts) Begin() { c.table = nil }

// Table has all counts, encoded and projected by w, in a block for each place in a patch: [p, c, d].
func (c *Counts) Table(tp *grad.Tape, w *tensor.Tensor) *tensor.Tensor {
	if c.table == nil {
		hidden := c.layers[0].Act(tp, c.numbers, device.ReLU)              // [c, d]
		c.table = grad.LinearParts(tp, c.layers[1].Forward(tp, hidden), w) // [p, c, d]
	}
	return c.table
}

// placeCounts turns counts into rows of a table of such blocks.
func placeCounts(counts []int32, patch, block int) {
	if patch == 1 {
		return
	}
	each := 2 * patch
	for at := 0; at < len(counts); at += each {
		for i, count := range counts[at : at+each] {
			if count >= 0 {
				counts[at+i] = count + int32(i/2*block)
			}
		}
	}
}

// Project maps the features of positions, a patch at a time: [rows·P·p, c] → [rows·P, d].
func Project(tp *grad.Tape, x, w *tensor.Tensor, patch int) *tensor.Tensor {
	x = grad.Reshape(tp, x, x.Rows()/patch, patch*x.Cols())
	return grad.Linear(tp, x, w, nil, device.Identity)
}
