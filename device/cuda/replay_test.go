//go:build linux && !nogpu

package cuda

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/dygmamba/dygmamba/device"
)

// walk takes a step of each key and counts those that ran as they are.
func walk(d *Device, keys int, first int) (plain int) {
	for key := first; key < first+keys; key++ {
		d.Replay(key, func() {
			if d.mode == eager {
				plain++
			}
		})
	}
	return plain
}

// TestReplayOfFewShapes: the first step runs as it is, the second is recorded, and all others replay it.
func TestReplayOfFewShapes(t *testing.T) {
	gpu := &fakeGPU{last: 1 << 30}
	d := gpu.device()
	defer d.Close()
	for round := range 3000 { // far longer than counts are kept
		want := 0
		if round == 0 {
			want = mostGraphs - 1
		}
		if plain := walk(d, mostGraphs-1, 0); plain != want {
			t.Fatalf("round %d: %d steps ran as they are, want %d", round, plain, want)
		}
	}
	if gpu.made != mostGraphs-1 || gpu.gone != 0 {
		t.Errorf("%d graphs were made and %d dropped", gpu.made, gpu.gone)
	}
}

// TestReplayOfManyShapes: of steps that come equally often some are recorded and stay so; one that comes more often
// takes the place of another, and when all of them have gone out of use, so do others.
func TestReplayOfManyShapes(t *testing.T) {
	gpu := &fakeGPU{last: 1 << 30}
	d := gpu.device()
	defer d.Close()
	const many = 5 * mostGraphs
	for round := range 100 {
		want := many - mostGraphs
		if round == 0 {
			want = many
		}
		if plain := walk(d, many, 0); plain != want {
			t.Fatalf("round %d: %d steps of %d ran as they are, want %d", round, plain, many, want)
		}
	}
	if gpu.made != mostGraphs || gpu.gone != 0 || len(d.recorded) != mostGraphs {
		t.Fatalf("%d graphs were made, %d dropped, %d kept; want %d, 0, %d",
			gpu.made, gpu.gone, len(d.recorded), mostGraphs, mostGraphs)
	}
	plain := 0
	for range 1000 {
		plain += walk(d, 1, many) // a favourite
	}
	if plain > 500 || gpu.made != mostGraphs+1 || gpu.gone != 1 {
		t.Errorf("a favourite ran as it is %d of 1000 times; %d graphs were made, %d dropped",
			plain, gpu.made, gpu.gone)
	}
	for range 1000 {
		plain = walk(d, mostGraphs, 2*many)
	}
	if plain != 0 {
		t.Errorf("%d of %d steps of today run as they are: yesterday's have the graphs", plain, mostGraphs)
	}
	if len(d.recorded) > mostGraphs || gpu.made-gpu.gone > mostGraphs {
		t.Errorf("%d graphs are kept", gpu.made-gpu.gone)
	}
	d.Forget()
	if gpu.made != gpu.gone || len(d.graphs) != 0 {
		t.Errorf("%d graphs and %d steps are left", gpu.made-gpu.gone, len(d.graphs))
	}
}

// TestReplayForgets: steps that never come again are not remembered for ever.
func TestReplayForgets(t *testing.T) {
	gpu := &fakeGPU{last: 1 << 30}
	d := gpu.device()
	defer d.Close()
	for day := range 20 {
		walk(d, 1000, day*1000)
	}
	if len(d.graphs) > mostKnown+agingSteps || gpu.made != 0 {
		t.Errorf("%d steps are remembered, %d recorded", len(d.graphs), gpu.made)
	}
}

// TestReplayAtOnce takes random kernels between views of a few matrices. Those that may run at once in a replayed step
// leave the bytes that they leave one after the other.
func TestReplayAtOnce(t *testing.T) {
	d := open(t)
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 1))
		const rows, cols, count = 2000, 60, 6
		start := make([]float32, rows*cols*count)
		for i := range start {
			start[i] = rng.Float32() - 0.5
		}
		memory, sums := d.Alloc(len(start)), d.Alloc(cols)
		view := func() device.Mat { // 20 columns of a matrix
			m := memory.Slice(rng.IntN(count)*rows*cols, len(start)).Mat(rows, cols)
			at := 20 * rng.IntN(3)
			return m.Columns(at, at+20)
		}
		weights := func(m device.Mat) device.Mat { return m.Band(0, 20) }
		step := func() {
			rng = rand.New(rand.NewPCG(seed, 2))
			d.Write(memory, start)
			for range 60 {
				x, y, z := view(), view(), view()
				switch rng.IntN(5) {
				case 0:
					d.Zip(device.Sub, z, x, y)
				case 1:
					d.Scale(z, x, 0.5)
				case 2:
					d.ColSum(sums.Slice(0, 20), x, true)
				case 3:
					d.Map(device.Tanh, z, x)
				case 4:
					if z.Buf.Addr != x.Buf.Addr && z.Buf.Addr != y.Buf.Addr {
						d.MatMul(z, x, weights(y), device.Gemm{})
					}
				}
			}
		}
		result := func() []float32 {
			got := make([]float32, len(start)+cols)
			d.Read(got[:len(start)], memory)
			d.Read(got[len(start):], sums)
			return got
		}
		d.Zero(sums)
		step()
		want := result()
		for replay := range 6 {
			d.Zero(sums)
			d.Replay(int(seed), step)
			if got := result(); !slices.EqualFunc(got, want, func(a, b float32) bool {
				return math.Float32bits(a) == math.Float32bits(b)
			}) {
				t.Fatalf("seed %d, replay %d: other numbers", seed, replay)
			}
		}
		d.Free(memory)
		d.Free(sums)
	}
}
