package grad_test

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/device/cpu"
	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/internal/dry"
	"github.com/dygmamba/dygmamba/tensor"
)

// TestShapeErrors shows that misfits panic with the name of the operation and the shapes.
func TestShapeErrors(t *testing.T) {
	dev := cpu.New(cpu.Options{Threads: 1})
	defer dev.Close()
	tp := grad.NewTape(dev, true)
	z := func(d ...int) *tensor.Tensor { return tp.Zeros(d...) }
	none := device.Ints{}
	mask := tp.Ints([]int32{1, 0, 1})
	cell := grad.CellWeights{In: z(6, 4), State: z(6, 2)}
	block := mambaWeights(tensors{z(6, 3), z(6), z(12, 6), z(6, 1, 4), z(6), z(7, 6), z(6, 1), z(6), z(6, 6)})
	cases := []struct {
		want string // the operation and both shapes
		f    func()
	}{
		{"linear: got [2×3] and [4×5]", func() { grad.Linear(tp, z(2, 3), z(4, 5), nil, device.Identity) }},
		{"linear: got [3] and [4×5]", func() { grad.Linear(tp, z(2, 5), z(4, 5), z(3), device.Identity) }},
		{"linear sum: got [2×4] and [4×5]", func() {
			grad.LinearSum(tp, z(4, 5), nil, device.Identity, grad.Part{X: z(2, 4), Lo: 2})
		}},
		{"linear sum: got [4×5]", func() { grad.LinearSum(tp, z(4, 5), nil, device.Identity, grad.Part{X: z(4)}) }},
		{"linear parts: got [2×3] and [4×5]", func() { grad.LinearParts(tp, z(2, 3), z(4, 5)) }},
		{"matmul: got [2×3] and [4×5]", func() { grad.MatMul(tp, z(2, 3), z(4, 5), false, false) }},
		{"matmul: got [2×3×4] and [3×4×5]", func() { grad.MatMul(tp, z(2, 3, 4), z(3, 4, 5), false, false) }},
		{"transpose: got [3]", func() { grad.Transpose(tp, z(3)) }},
		{"add: got [2×3] and [2×2]", func() { grad.Add(tp, z(2, 3), z(2, 2)) }},
		{"sub: got [2×3] and [2]", func() { grad.Sub(tp, z(2, 3), z(2)) }},
		{"mul: got [2×3] and [3×1]", func() { grad.Mul(tp, z(2, 3), z(3, 1)) }},
		{"reshape: got [2×3] and [7]", func() { grad.Reshape(tp, z(2, 3), 7) }},
		{"columns: got [2×3] and [1×4]", func() { grad.Columns(tp, z(2, 3), 1, 4) }},
		{"rows: got [2×3] and [1×4]", func() { grad.Rows(tp, z(2, 3), 1, 4) }},
		{"split: got [2×3] and [3]", func() { grad.Split(tp, z(2, 3), 3) }},
		{"concat: got [2×3] and [3×3]", func() { grad.Concat(tp, z(2, 3), z(3, 3)) }},
		{"stack: got [2×3] and [2×4]", func() { grad.Stack(tp, z(2, 3), z(2, 4)) }},
		{"layer norm: got [2×3] and [4] and [3]", func() { grad.LayerNorm(tp, z(2, 3), z(4), z(3)) }},
		{"add norm: got [2×3] and [3×2]", func() { grad.AddNorm(tp, z(2, 3), z(3, 2), z(3), z(3)) }},
		{"softmax: got [2×3] and [3]", func() { grad.Softmax(tp, z(2, 3), mask, 0) }},
		{"attention: got [2×3×4] and [2×5×6]", func() {
			grad.Attention(tp, z(2, 3, 4), z(2, 5, 6), z(2, 5, 6), grad.Heads{Heads: 2})
		}},
		{"conv: got [2×3×4] and [5×4]", func() { grad.Conv(tp, z(2, 3, 4), z(5, 4), z(4)) }},
		{"scan: got [2×3×4] and [2×3×5]", func() {
			grad.Scan(tp, grad.ScanArgs{U: z(2, 3, 4), Delta: z(2, 3, 5), ALog: z(4, 2), B: z(2, 3, 2), C: z(2, 3, 2)})
		}},
		{"time code: got [2] and [3×1] and [4]", func() { grad.TimeCode(tp, z(2), z(3, 1), z(4), none) }},
		{"pool: got [2×3] and [2×4×5]", func() { grad.Pool(tp, z(2, 3), z(2, 4, 5)) }},
		{"dot: got [2×3] and [2×4×5]", func() { grad.Dot(tp, z(2, 3), z(2, 4, 5)) }},
		{"outer: got [2×3] and [3×4]", func() { grad.Outer(tp, z(2, 3), z(3, 4)) }},
		{"mean of steps: got [2×0×5]", func() { grad.MeanSteps(tp, z(2, 0, 5)) }},
		{"gather: got [2×3] and [3×2]", func() { grad.Gather(tp, z(2, 3), mask, 2) }},
		{"assign: got [4×3] and [3×2] and [3]", func() { grad.Assign(tp, z(4, 3), z(3, 2), mask) }},
		{"assign: got [4×3] and [2×3] and [3]", func() { grad.Assign(tp, z(4, 3), z(2, 3), mask) }},
		{"gru: got [5×4] and [5×3]", func() { grad.GRU(tp, z(5, 4), z(5, 3), cell) }},
		{"lstm: got [5×4] and [5×3]", func() { grad.LSTM(tp, z(5, 4), z(5, 3), z(5, 3), cell) }},
		{"lstm: got [5×12] and [5×12] and [4×3]", func() { grad.LSTMGates(tp, z(5, 12), z(5, 12), z(4, 3)) }},
		{"mamba: got [2×3×5] and [6×3]", func() { grad.Mamba(tp, z(2, 3, 5), block) }},
		{"feed-forward: got [2×3] and [4×5]", func() {
			grad.FeedForward(tp, z(2, 3), &grad.FeedForwardWeights{A: z(4, 5), B: z(3, 4)}, device.ReLU, 0)
		}},
		{"binary cross-entropy: got [2] and [3]", func() { grad.BCE(tp, z(2), z(3)) }},
		{"backward: got [2]", func() { tp.Backward(z(2)) }},
		{"floats: got [2×2] and [3]", func() { tp.Floats(make([]float32, 3), 2, 2) }},
		{"shape: got [1×1×1×1×1]", func() { tp.Zeros(1, 1, 1, 1, 1) }},
	}
	for _, c := range cases {
		var misfit *tensor.ShapeError
		if err := tensor.Guard(c.f); !errors.As(err, &misfit) || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("got %v, want %s …", err, c.want)
		}
	}
}

// TestFanOut uses one tensor in several places and through several views.
func TestFanOut(t *testing.T) {
	dev := cpu.New(cpu.Options{Threads: 1})
	defer dev.Close()
	tp := grad.NewTape(dev, true)
	x := tp.Floats([]float32{1, 2, 3, 4, 5, 6}, 2, 3)
	x.Tracked = true
	left, right := grad.Columns(tp, x, 0, 2), grad.Columns(tp, x, 1, 3)
	y := grad.Add(tp, grad.Mul(tp, left, right), grad.Rows(tp, left, 0, 2)) // [2, 2]: x₀x₁+x₀, x₁x₂+x₁
	tp.Backward(grad.Sum(tp, grad.Add(tp, y, y)))
	got := make([]float32, 6)
	dev.Read(got, x.Grad)
	want := []float32{2 * (2 + 1), 2 * (1 + 3 + 1), 2 * 2, 2 * (5 + 1), 2 * (4 + 6 + 1), 2 * 5}
	if !slices.Equal(got, want) {
		t.Errorf("gradient %v, want %v", got, want)
	}
}

// TestUnreached shows that parameters outside the loss's past stay untouched, and so do inputs behind Detach.
func TestUnreached(t *testing.T) {
	dev := cpu.New(cpu.Options{Threads: 1})
	defer dev.Close()
	tp := grad.NewTape(dev, true)
	used, unused, cut := param(2, 3).place(tp, dev, make([]float64, 6)), param(2, 3).place(tp, dev, make([]float64, 6)),
		param(3, 3).place(tp, dev, make([]float64, 9))
	x := tp.Floats(make([]float32, 12), 4, 3)
	grad.Linear(tp, x, unused, nil, device.Identity)
	h := tp.Detach(grad.Linear(tp, x, cut, nil, device.Identity))
	tp.Backward(grad.Sum(tp, grad.Linear(tp, h, grad.Rows(tp, used, 0, 1), nil, device.Identity)))
	if !used.Touched || unused.Touched || cut.Touched {
		t.Errorf("touched: used %v, unused %v, cut off %v; want only the first",
			used.Touched, unused.Touched, cut.Touched)
	}
}

// TestDropout checks rate, scale, gradient, independence of streams and that evaluation drops nothing.
func TestDropout(t *testing.T) {
	dev := cpu.New(cpu.Options{Threads: 2})
	defer dev.Close()
	tp := grad.NewTape(dev, true)
	const n, rate = 1 << 15, 0.3
	ones := slices.Repeat([]float32{1}, n)
	draw := func(key uint64) (first, second, gradient []float32) {
		tp.Reset(key)
		x := tp.Floats(ones, n/8, 8)
		x.Tracked = true
		a := grad.Dropout(tp, x, rate)
		first, second = dense(tp, a), dense(tp, grad.Dropout(tp, x, rate))
		tp.Backward(grad.Sum(tp, a))
		gradient = make([]float32, n)
		dev.Read(gradient, x.Grad)
		return first, second, gradient
	}
	first, second, gradient := draw(grad.Key(1, 5))
	kept, agree := 0, 0
	for i, y := range first {
		if y != 0 {
			kept++
			if math.Abs(float64(y)-1/(1-rate)) > 1e-6 {
				t.Fatalf("a kept number is %v, want %v", y, 1/(1-rate))
			}
		}
		if (y == 0) == (second[i] == 0) {
			agree++
		}
	}
	if p := float64(kept) / n; math.Abs(p-(1-rate)) > 0.01 {
		t.Errorf("kept %.3f of the numbers, want %.3f", p, 1-rate)
	}
	if p := float64(agree) / n; math.Abs(p-(0.7*0.7+0.3*0.3)) > 0.01 {
		t.Errorf("two dropouts of a step agree in %.3f of the numbers, want independence: 0.58", p)
	}
	if !slices.Equal(first, gradient) {
		t.Error("the gradient is dropped elsewhere than the numbers")
	}
	if again, _, _ := draw(grad.Key(1, 5)); !slices.Equal(again, first) {
		t.Error("the same key drops differently")
	}
	if other, _, _ := draw(grad.Key(1, 6)); slices.Equal(other, first) {
		t.Error("the next step drops the same")
	}
	eval := grad.NewTape(dev, false)
	x := eval.Floats(ones, n)
	if grad.Dropout(eval, x, rate) != x {
		t.Error("a tape that does not record drops")
	}
}

// TestFeedForwardDrops shows that the fused block is the composed one, dropouts included, bit for bit.
func TestFeedForwardDrops(t *testing.T) {
	dev := cpu.New(cpu.Options{Threads: 2})
	defer dev.Close()
	run := func(fused bool) (out [][]float32) {
		tp := grad.NewTape(dev, true)
		tp.Reset(7)
		ramp := func(d ...int) *tensor.Tensor {
			v := make([]float64, d[0]*d[1])
			for i := range v {
				v[i] = math.Sin(float64(i))
			}
			return param(d...).place(tp, dev, v)
		}
		x, a, b, c, d := ramp(33, 7), ramp(9, 7), ramp(1, 9), ramp(5, 9), ramp(1, 5)
		var y *tensor.Tensor
		if fused {
			y = grad.FeedForward(tp, x, &grad.FeedForwardWeights{A: a, ABias: b, B: c, BBias: d}, device.GELU, 0.4)
		} else {
			h := grad.Dropout(tp, grad.Linear(tp, x, a, b, device.GELU), 0.4)
			y = grad.Dropout(tp, grad.Linear(tp, h, c, d, device.Identity), 0.4)
		}
		out = append(out, dense(tp, y))
		tp.Backward(grad.Sum(tp, grad.Mul(tp, y, y)))
		for _, p := range (tensors{x, a, b, c, d}) {
			g := make([]float32, p.Len())
			dev.Read(g, p.Grad)
			out = append(out, g)
		}
		return out
	}
	fused, composed := run(true), run(false)
	for i := range fused {
		if !slices.Equal(fused[i], composed[i]) {
			t.Errorf("array %d (result, then gradients) differs between the fused and the composed block", i)
		}
	}
}

// TestAttentionDrops differentiates attention with dropout numerically: the same key drops the same weights every time.
func TestAttentionDrops(t *testing.T) {
	dev := cpu.New(cpu.Options{Threads: 2})
	defer dev.Close()
	tp := grad.NewTape(dev, true)
	values := make([][]float32, 3)
	for i := range values {
		for j := range 2 * 5 * 6 {
			values[i] = append(values[i], float32(math.Sin(float64(i*77+j))))
		}
	}
	in := make(tensors, 3)
	run := func(rate float32) *tensor.Tensor {
		tp.Reset(11)
		for i, v := range values {
			in[i] = tp.Floats(v, 2, 5, 6)
			in[i].Tracked = true
		}
		y := grad.Attention(tp, in[0], in[1], in[2], grad.Heads{Heads: 2, Drop: rate})
		return grad.Sum(tp, grad.Mul(tp, y, y))
	}
	value := func(rate float32) float64 { return float64(dense(tp, run(rate))[0]) }
	if value(0.5) == value(0) {
		t.Error("dropout changes nothing")
	}
	tp.Backward(run(0.5))
	gradients := make([][]float32, 3)
	for i, x := range in {
		gradients[i] = make([]float32, x.Len())
		dev.Read(gradients[i], x.Grad)
	}
	const h = 1e-2
	for i, v := range values {
		for j := 0; j < len(v); j += 7 {
			old := v[j]
			v[j] = old + h
			up := value(0.5)
			v[j] = old - h
			down := value(0.5)
			v[j] = old
			if want := (up - down) / (2 * h); math.Abs(float64(gradients[i][j])-want) > 5e-3*max(1, math.Abs(want)) {
				t.Errorf("input %d: gradient %d is %v, want %v", i, j, gradients[i][j], want)
			}
		}
	}
}

// TestArena shows that memory settles into one block of the size that a dry run foretells.
func TestArena(t *testing.T) {
	step := func(tp *grad.Tape, n int) {
		tp.Reset(1)
		x := tp.Zeros(n, 300)
		x.Tracked = true
		w := tp.Zeros(300, 300)
		for range 4 {
			x = grad.Linear(tp, x, w, nil, device.GELU)
		}
		tp.Backward(grad.Sum(tp, x))
	}
	plan := grad.NewTape(dry.New(0), true)
	step(plan, 1000)

	dev := cpu.New(cpu.Options{Threads: 1})
	defer dev.Close()
	tp := grad.NewTape(dev, true)
	step(tp, 10)
	step(tp, 1000)
	if tp.Bytes() != plan.Bytes() {
		t.Errorf("a step needs %d bytes, the dry run said %d", tp.Bytes(), plan.Bytes())
	}
	forward := int64(4 * 4 * 300 * 1000 * 2) // four layers keep result and pre-activation
	if b := tp.Bytes(); b < forward || b > forward*7/4 {
		t.Errorf("a step needs %d bytes for %d bytes of activations: gradients are not recycled", b, forward)
	}

	counted := dry.New(0)
	grown := grad.NewTape(counted, true)
	step(grown, 10)
	step(grown, 1000)
	grown.Reset(1)
	if counted.Bytes() > grown.Bytes()+1<<18 {
		t.Errorf("%d bytes are allocated after growing to %d", counted.Bytes(), grown.Bytes())
	}

	small := dry.New(plan.Bytes() / 2)
	err := tensor.Guard(func() { grad.NewTape(small, true).Reserve(plan.Bytes()) })
	if !errors.As(err, new(*device.OutOfMemory)) {
		t.Errorf("reserving more than there is: got %v, want out of memory", err)
	}
	exact := dry.New(plan.Bytes() + 1<<18)
	tight := grad.NewTape(exact, true)
	tight.Reserve(plan.Bytes())
	step(tight, 1000)
	if exact.Peak() > plan.Bytes()+1<<18 {
		t.Error("a reserved tape allocated more")
	}
	tight.Close()
	if exact.Bytes() != 0 {
		t.Errorf("%d bytes are left after Close", exact.Bytes())
	}
}

// TestRelease shows that evaluation reuses the memory of what was released, and keeps nothing inside fused operations.
func TestRelease(t *testing.T) {
	d := dry.New(0)
	tp := grad.NewTape(d, false)
	x := tp.Zeros(100, 30, 64)
	w := mambaWeights(tensors{tp.Zeros(64, 16), tp.Zeros(64), tp.Zeros(128, 64), tp.Zeros(64, 1, 4), tp.Zeros(64),
		tp.Zeros(36, 64), tp.Zeros(64, 4), tp.Zeros(64), tp.Zeros(64, 64)})
	grad.Mamba(tp, x, w)
	once := tp.Bytes()
	for range 10 {
		m := tp.Mark()
		grad.Mamba(tp, x, w)
		tp.Release(m)
	}
	if tp.Bytes() > once+int64(4*x.Len()) {
		t.Errorf("ten blocks need %d bytes, one %d", tp.Bytes(), once)
	}
}

// TestAside: what is computed aside is computed as elsewhere, dropout included, but no gradient flows through it.
func TestAside(t *testing.T) {
	dev := cpu.New(cpu.Options{Threads: 1})
	defer dev.Close()
	tp := grad.NewTape(dev, true)
	defer tp.Close()
	x := tp.Floats([]float32{1, 2, 3, 4}, 2, 2)
	x.Tracked = true
	var aside *tensor.Tensor
	tp.Aside(func() {
		aside = grad.Mul(tp, x, x)
		dropped := dense(tp, grad.Dropout(tp, tp.Floats(slices.Repeat([]float32{1}, 64), 64), 0.5))
		if !slices.Contains(dropped, 0) || !slices.Contains(dropped, 2) {
			t.Errorf("dropout aside gives %v", dropped)
		}
	})
	if got := dense(tp, aside); !slices.Equal(got, []float32{1, 4, 9, 16}) || aside.Tracked {
		t.Errorf("aside is %v, tracked %v", got, aside.Tracked)
	}
	tp.Backward(grad.Sum(tp, grad.Mul(tp, aside, x))) // the gradient of x² is left out: x² remains
	got := make([]float32, 4)
	dev.Read(got, x.Grad)
	if !slices.Equal(got, []float32{1, 4, 9, 16}) {
		t.Errorf("the gradient is %v", got)
	}
	eval := grad.NewTape(dev, false)
	defer eval.Close()
	eval.Aside(func() {
		if y := eval.Floats([]float32{1}, 1); grad.Dropout(eval, y, 0.5) != y {
			t.Error("a tape for evaluation drops aside")
		}
	})
}
