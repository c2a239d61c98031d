package nn_test

import (
	"math"
	"slices"
	"testing"

	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/device/cpu"
	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/internal/golden"
	"github.com/dygmamba/dygmamba/nn"
	"github.com/dygmamba/dygmamba/tensor"
)

// mambaBlock is one Mamba block of width 6 with 3 states, on 2 sequences of 5 steps; input element i is cos(0.3·i).
type mambaBlock struct {
	Width  int            `json:"d_model"`
	State  int            `json:"d_state"`
	Kernel int            `json:"d_conv"`
	Rank   int            `json:"dt_rank"`
	Params []golden.Param `json:"params"`
	Shape  []int          `json:"output_shape"`
	Output []float64      `json:"output"`
}

// TestGoldenMamba compares the block with the reference program's.
func TestGoldenMamba(t *testing.T) {
	for _, plain := range []bool{false, true} {
		dev := cpu.New(cpu.Options{Threads: 2, Plain: plain})
		defer dev.Close()
		var b mambaBlock
		golden.Load(t, "mamba_block.json", &b)
		if len(b.Params) != 9 || len(b.Output) != b.Shape[0]*b.Shape[1]*b.Shape[2] {
			t.Fatalf("stored block: %+v", b)
		}
		params := nn.NewParams(0)
		block := nn.NewMamba(params.In("m"), b.Width, b.State, b.Kernel)
		params.Place(dev)
		if len(params.All()) != len(b.Params) {
			t.Fatalf("the block has %d parameters, want %d", len(params.All()), len(b.Params))
		}
		values := golden.Fill(b.Params)
		for i, q := range params.All() {
			want := b.Params[i]
			if q.Name != "m."+want.Name || !slices.Equal(q.Shape(), want.Shape) {
				t.Errorf("parameter %d is %s %v, want %s %v", i, q.Name, q.Shape(), want.Name, want.Shape)
			}
			if err := params.Write(q, values[want.Name]); err != nil {
				t.Fatal(err)
			}
		}
		for _, record := range []bool{false, true} {
			tp := grad.NewTape(dev, record)
			x := make([]float32, len(b.Output))
			for i := range x {
				x[i] = float32(math.Cos(0.3 * float64(i)))
			}
			got := make([]float32, len(x))
			dev.Read(got, block.Forward(tp, tp.Floats(x, b.Shape...)).Data)
			for i, w := range b.Output {
				if math.Abs(float64(got[i])-w) > 2e-5*0.01 { // outputs are below 0.007 and stored to seven places
					t.Fatalf("plain %v: output %d is %v, want %v", plain, i, got[i], w)
				}
			}
		}
	}
}

// TestInit looks at initial values: bounds, means and variances as PyTorch's, and the fixed ones exactly.
func TestInit(t *testing.T) {
	dev := cpu.New(cpu.Options{Threads: 1})
	defer dev.Close()
	p := nn.NewParams(3)
	s := p.In("x")
	nn.NewLinear(s.In("linear"), 64, 200)
	nn.NewMamba(s.In("mamba"), 100, 16, 4)
	nn.NewMultiHead(s.In("attention"), 72, 2, 0)
	nn.NewGRU(s.In("gru"), 30, 64)
	nn.NewTimeEncoder(s.In("time"), 100)
	nn.NewLayerNorm(s.In("norm"), 8)
	s.Add("embedding", nn.Normal, 100, 100)
	p.Place(dev)

	uniform := map[string]float64{
		"linear.weight": 0.125, "linear.bias": 0.125,
		"mamba.in_proj.weight": 0.1, "mamba.conv1d.weight": 0.5, "mamba.conv1d.bias": 0.5, "mamba.x_proj.weight": 0.1,
		"mamba.dt_proj.weight": 1 / math.Sqrt(7), "mamba.out_proj.weight": 0.1,
		"attention.in_proj_weight": math.Sqrt(6.0 / (4 * 72)), "attention.out_proj.weight": 1 / math.Sqrt(72),
		"gru.weight_ih": 0.125, "gru.weight_hh": 0.125, "gru.bias_ih": 0.125, "gru.bias_hh": 0.125,
	}
	for name, bound := range uniform {
		mean, variance, top := moments(p.Read(p.Get("x." + name)))
		n := float64(p.Get("x." + name).Len())
		if top > bound || top < bound*(1-10/n) || math.Abs(mean) > 4*bound/math.Sqrt(3*n) ||
			math.Abs(variance/(bound*bound/3)-1) > 5/math.Sqrt(n) {
			t.Errorf("%s: mean %v, variance %v, largest %v; want uniform within ±%v", name, mean, variance, top, bound)
		}
	}
	for name, value := range map[string]float32{
		"norm.weight": 1, "norm.bias": 0, "mamba.D": 1, "time.w.bias": 0,
		"attention.in_proj_bias": 0, "attention.out_proj.bias": 0,
	} {
		for _, v := range p.Read(p.Get("x." + name)) {
			if v != value {
				t.Errorf("%s starts at %v, want %v", name, v, value)
			}
		}
	}
	mean, variance, _ := moments(p.Read(p.Get("x.embedding")))
	if math.Abs(mean) > 0.04 || math.Abs(variance-1) > 0.06 {
		t.Errorf("embedding: mean %v, variance %v; want 0 and 1", mean, variance)
	}
	for i, v := range p.Read(p.Get("x.mamba.A_log")) {
		if math.Abs(float64(v)-math.Log(float64(i%16+1))) > 1e-6 {
			t.Fatalf("A_log[%d] is %v", i, v)
		}
	}
	for i, v := range p.Read(p.Get("x.time.w.weight")) {
		if want := math.Pow(10, -9*float64(i)/99); math.Abs(float64(v)/want-1) > 2e-6 {
			t.Fatalf("frequency %d is %v, want %v", i, v, want)
		}
	}
	logs := []float32{}
	for _, v := range p.Read(p.Get("x.mamba.dt_proj.bias")) {
		logs = append(logs, float32(math.Log(math.Log1p(math.Exp(float64(v))))))
	}
	lo, hi := slices.Min(logs), slices.Max(logs)
	mean, _, _ = moments(logs)
	if float64(lo) < math.Log(0.001)-1e-3 || float64(hi) > math.Log(0.1)+1e-3 ||
		math.Abs(mean-math.Log(0.01)) > 0.5 {
		t.Errorf("steps lie within exp(%v … %v), mean exp(%v); want log-uniform in 0.001 … 0.1", lo, hi, mean)
	}
}

// TestDraws compares with the first numbers of torch.rand after torch.manual_seed(0) and (42), as PyTorch prints them.
func TestDraws(t *testing.T) {
	dev := cpu.New(cpu.Options{Threads: 1})
	defer dev.Close()
	rand := func(d *nn.Draws, x []float32) {
		for i := range x {
			x[i] = d.Uniform(0, 1)
		}
	}
	for seed, want := range map[uint64][]float64{
		0:  {0.4963, 0.7682, 0.0885, 0.1320, 0.3074},
		42: {0.8823, 0.9150, 0.3829},
	} {
		p := nn.NewParams(seed)
		p.Add("a", rand, 1)
		p.Add("b", nn.After(1, rand), len(want)-2)
		p.Place(dev)
		got := append(p.Read(p.Get("a")), p.Read(p.Get("b"))...)
		for i, w := range append(want[:1:1], want[2:]...) { // the second is passed over
			if math.Abs(float64(got[i])-w) > 0.00005 {
				t.Errorf("seed %d draws %v, want %v without the second", seed, got, want)
			}
		}
	}
}

// TestTimeEncoder rounds the product to float32 before the cosine: at 1e10, with the second frequency, that gives
// 0.98999 where exact arithmetic gives −0.396.
func TestTimeEncoder(t *testing.T) {
	for _, plain := range []bool{false, true} {
		dev := cpu.New(cpu.Options{Threads: 1, Plain: plain})
		defer dev.Close()
		p := nn.NewParams(5)
		l := nn.NewTimeEncoder(p.In("time_encoder"), 100)
		p.Place(dev)
		tp := grad.NewTape(dev, false)
		got := read(dev, l.Forward(tp, tp.Floats([]float32{1e10, 0}, 1, 2), tp.Ints([]int32{1, 0})))
		if math.Abs(float64(got[1])-0.98999) > 1e-5 {
			t.Errorf("plain %v: the code of 1e10 is %v, want 0.98999", plain, got[1])
		}
		for i, w := range p.Read(p.Get("time_encoder.w.weight")) {
			if want := math.Cos(float64(w * 1e10)); math.Abs(float64(got[i])-want) > 1e-6 {
				t.Errorf("plain %v: code %d of 1e10 is %v, want %v", plain, i, got[i], want)
			}
			if got[100+i] != 0 {
				t.Errorf("a masked code is %v", got[100+i])
			}
		}
	}
}

// TestBiLSTMEnds compares with running each walk of a tree alone, up to its end, in both directions.
func TestBiLSTMEnds(t *testing.T) {
	const in, hidden = 6, 4
	dev := cpu.New(cpu.Options{Threads: 1})
	defer dev.Close()
	p := nn.NewParams(5)
	l := nn.NewBiLSTM(p.In("l"), in, hidden)
	p.Place(dev)
	tp := grad.NewTape(dev, false)
	// Steps have numbers: level 1 has 2 to 5, level 2 has 6 to 13.
	steps := [][]float32{{1, 0, 1, 1}, {1, 1, 0, 0, 1, 0, 0, 0}}
	walks := [][]int{{0, 2, 6}, {0, 2, 7}, {0}, {0}, {1, 4, 10}, {1, 4}, {1, 5}, {1, 5}}
	x := make([]float32, (2+4+8)*in)
	for i := range x {
		x[i] = float32(math.Sin(float64(i)))
	}
	tree := nn.Tree{Levels: []int{2, 4, 8}, Fan: 2}
	for _, level := range steps {
		gaps := make([]float32, len(level))
		for i, step := range level {
			gaps[i] = 1 - step
		}
		tree.Steps = append(tree.Steps, tp.Floats(level, len(level)/2, 2))
		tree.Gaps = append(tree.Gaps, tp.Floats(gaps, len(level)/2, 2))
	}
	input := tp.Floats(x, 14, in)
	left, right := grad.Columns(tp, input, 0, 2), grad.Columns(tp, input, 2, in)
	forth, back := l.Ends(tp, &tree, grad.Part{X: left}, grad.Part{X: right, Lo: 2})
	for i, w := range walks {
		step := func(s int) *tensor.Tensor { return tp.Floats(x[s*in:(s+1)*in], 1, in) }
		h, c := tp.Zeros(1, hidden), tp.Zeros(1, hidden)
		for _, s := range w {
			h, c = grad.LSTM(tp, step(s), h, c, l.Forth)
		}
		last, _ := grad.LSTM(tp, step(w[len(w)-1]), tp.Zeros(1, hidden), tp.Zeros(1, hidden), l.Back)
		want := slices.Concat(read(dev, h), read(dev, last))
		got := slices.Concat(read(dev, forth)[i*hidden:(i+1)*hidden], read(dev, back)[i*hidden:(i+1)*hidden])
		for k, x := range want {
			if math.Abs(float64(got[k]-x)) > 1e-6 {
				t.Errorf("walk %v: %v, want %v", w, got, want)
				break
			}
		}
	}
}

// TestJoin compares with the concatenation it avoids.
func TestJoin(t *testing.T) {
	dev := cpu.New(cpu.Options{Threads: 1})
	defer dev.Close()
	p := nn.NewParams(5)
	l := nn.NewLinear(p.In("l"), 9, 4)
	p.Place(dev)
	tp := grad.NewTape(dev, false)
	ramp := make([]float32, 35)
	for i := range ramp {
		ramp[i] = float32(i) / 10
	}
	a, b := tp.Floats(ramp[:20], 5, 4), tp.Floats(ramp[10:35], 5, 5)
	got, want := read(dev, l.Join(tp, device.ReLU, a, b)), read(dev, l.Act(tp, grad.Concat(tp, a, b), device.ReLU))
	for i := range want {
		if math.Abs(float64(got[i]-want[i])) > 1e-6 {
			t.Fatalf("number %d is %v, want %v", i, got[i], want[i])
		}
	}
	if err := tensor.Guard(func() { l.Join(tp, device.ReLU, a) }); err == nil {
		t.Error("parts narrower than the weight were accepted")
	}
}

// TestSelf compares attention of a sequence to itself with attention to any keys.
func TestSelf(t *testing.T) {
	dev := cpu.New(cpu.Options{Threads: 1})
	defer dev.Close()
	p := nn.NewParams(5)
	l := nn.NewMultiHead(p.In("l"), 20, 2, 0)
	p.Place(dev)
	tp := grad.NewTape(dev, false)
	wave := make([]float32, 3*9*20)
	for i := range wave {
		wave[i] = float32(math.Sin(float64(i * i)))
	}
	x := tp.Floats(wave, 3, 9, 20)
	got, want := read(dev, l.Self(tp, x)), read(dev, l.Forward(tp, x, x, device.Ints{}))
	for i := range want {
		if math.Abs(float64(got[i]-want[i])) > 1e-6 {
			t.Fatalf("number %d is %v, want %v", i, got[i], want[i])
		}
	}
}

func read(dev device.Device, x *tensor.Tensor) []float32 {
	out := make([]float32, x.Len())
	dev.Read(out, x.Data)
	return out
}

func moments(x []float32) (mean, variance, largest float64) {
	for _, v := range x {
		mean += float64(v) / float64(len(x))
		largest = max(largest, math.Abs(float64(v)))
	}
	for _, v := range x {
		variance += (float64(v) - mean) * (float64(v) - mean) / float64(len(x))
	}
	return mean, variance, largest
}
