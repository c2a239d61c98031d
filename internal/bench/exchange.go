package bench

import (
	"context"
	"time"

	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/internal/collective"
	"github.com/dygmamba/dygmamba/tensor"
)

// ExchangeRow is what it costs to add up a vector of all ranks, and to bring one to the device and back. The rank's own
// shards are added before; all times are medians.
type ExchangeRow struct {
	Bytes  int     `json:"bytes"`
	Sum    float64 `json:"sum_ms"`    // over all ranks, in the order of the tree
	Upload float64 `json:"upload_ms"` // main memory to device
	Read   float64 `json:"read_ms"`   // device to main memory
}

// Exchange measures sums of vectors of some lengths. All ranks run it together.
func Exchange(ctx context.Context, g *collective.Group, dev device.Device, shards int, lengths []int) (
	[]ExchangeRow, error,
) {
	cut, err := collective.NewShards(shards, g.Rank(), g.Size())
	if err != nil {
		return nil, err
	}
	var rows []ExchangeRow
	for _, n := range lengths {
		row, err := exchange(ctx, g, dev, cut, n)
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	return rows, nil
}

func exchange(ctx context.Context, g *collective.Group, dev device.Device, cut collective.Shards, n int) (
	row ExchangeRow, err error,
) {
	const times = 15
	var sums, up, down []float64
	s, out := collective.NewSum(cut), make([]float32, n)
	var on device.Buffer
	if err := tensor.Guard(func() { on = dev.Alloc(n) }); err != nil {
		return row, err
	}
	defer dev.Free(on)
	for i := range times + 3 {
		s.Reset()
		lo, hi := cut.Own()
		for range hi - lo {
			clear(s.Leaf(n))
		}
		s.Fold()
		if err := g.Barrier(ctx); err != nil {
			return row, err
		}
		began := time.Now()
		if err := g.AllReduce(ctx, s, out); err != nil {
			return row, err
		}
		summed := time.Now()
		err := tensor.Guard(func() {
			dev.Write(on, out)
			device.ReadLater(dev, out[:1], on).Wait()
		})
		uploaded := time.Now()
		if err == nil {
			err = tensor.Guard(func() { dev.Read(out, on) })
		}
		if err != nil {
			return row, err
		}
		if i >= 3 { // the first ones allocate
			sums = append(sums, milliseconds(summed.Sub(began)))
			up = append(up, milliseconds(uploaded.Sub(summed)))
			down = append(down, milliseconds(time.Since(uploaded)))
		}
	}
	return ExchangeRow{Bytes: 4 * n, Sum: median(sums), Upload: median(up), Read: median(down)}, nil
}
