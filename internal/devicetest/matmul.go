package devicetest

import (
	"fmt"
	"math"

	"github.com/dygmamba/dygmamba/device"
)

// product is one case of MatMul: sizes, how the product is taken, and how many at once.
type product struct {
	m, k, n            int
	g                  device.Gemm
	bias, pre, sharedB bool
}

var productSizes = [][3]int{
	{0, 7, 7}, {7, 0, 7}, {7, 7, 0}, {1, 1, 1}, {1, 7, 33}, {7, 7, 7}, {5, 33, 1}, {12, 3, 8}, {13, 9, 9}, {33, 33, 33},
	{33, 100, 15}, {24, 7, 100}, {97, 50, 25}, {100, 25, 50}, {210, 40, 44}, {36, 517, 40}, {780, 9, 24},
	{18, 1600, 24},
}

// productModes are combined with every size: A and B as stored or transposed, then added to C, or with bias, activation
// and pre-activation.
func productModes() (modes []product) {
	for _, trans := range [][2]bool{{false, false}, {false, true}, {true, false}, {true, true}} {
		g := device.Gemm{TransA: trans[0], TransB: trans[1]}
		modes = append(modes, product{g: g})
		g.Acc = true
		modes = append(modes, product{g: g})
		g.Acc, g.Act = false, device.GELU
		modes = append(modes, product{g: g, bias: true, pre: true})
		g.Act = device.ReLU
		modes = append(modes, product{g: g, bias: true})
		g.Act, g.Batch = device.Identity, 3
		modes = append(modes, product{g: g, sharedB: true})
		g.Acc = true
		modes = append(modes, product{g: g})
	}
	return modes
}

func testMatMul(g *rig) {
	for i, size := range productSizes {
		for j, p := range productModes() {
			if size[0]*size[1]*size[2] > 3e5 && (i+j)%3 != 0 {
				continue // a third of the large ones will do
			}
			p.m, p.k, p.n = size[0], size[1], size[2]
			name := fmt.Sprintf("%dx%dx%d tA=%v tB=%v acc=%v act=%d batch=%d",
				p.m, p.k, p.n, p.g.TransA, p.g.TransB, p.g.Acc, p.g.Act, p.g.Batch)
			g.scope(name, func(g *rig) { productCase(g, p, gaps[(i+j)%len(gaps)]) })
		}
	}
}

func productCase(g *rig, p product, gap int) {
	batch := max(1, p.g.Batch)
	stored := func(rows, cols int, turned bool) (int, int) {
		if turned {
			return cols, rows
		}
		return rows, cols
	}
	aRows, aCols := stored(p.m, p.k, p.g.TransA)
	bRows, bCols := stored(p.k, p.n, p.g.TransB)
	bCount, cRole := batch, output
	if p.sharedB {
		bCount = 1
	}
	if p.g.Acc {
		cRole = sum
	}
	a, b := g.in("A", batch*aRows, aCols, gap), g.in("B", bCount*bRows, bCols, gap)
	c := g.matrix("C", cRole, batch*p.m, p.n, gap)
	first := func(x *array, rows int) device.Mat {
		m := x.mat()
		m.Rows = rows
		return m
	}
	var bias, pre *array
	if p.bias {
		bias = g.vector("Bias", p.n)
		p.g.Bias = bias.buf()
	}
	if p.pre {
		pre = g.out("Pre", batch*p.m, p.n, gap)
		p.g.Pre = first(pre, p.m)
	}
	p.g.StepA, p.g.StepC = aRows*a.stride, p.m*c.stride
	if !p.sharedB {
		p.g.StepB = bRows * b.stride
	}
	g.do(func() { g.dev.MatMul(first(c, p.m), first(a, aRows), first(b, bRows), p.g) })
	if !g.plain() {
		return
	}
	want := make([]float64, batch*p.m*p.n)
	for r := range batch * p.m {
		for j := range p.n {
			i, s := r/p.m, 0.0
			if p.bias {
				s = bias.at(0, j)
			}
			for q := range p.k {
				x := a.item(i, aRows, r%p.m, q, p.g.TransA)
				if p.sharedB {
					i = 0
				}
				s += x * b.item(i, bRows, q, j, p.g.TransB)
				i = r / p.m
			}
			want[r*p.n+j] = s
		}
	}
	product := func(r, j int) float64 { return want[r*p.n+j] }
	switch {
	case p.g.Acc:
		c.wantAdded(g, 3e-6, product)
	case p.pre:
		pre.want(g, 3e-6, product)
		fallthrough
	default:
		c.want(g, 3e-6, func(r, j int) float64 { return activate(p.g.Act, product(r, j)) })
	}
}

// item is number (r, c) of matrix i of a batch of matrices stored with this many rows each, or of its transpose.
func (a *array) item(i, rows, r, c int, turned bool) float64 {
	if turned {
		r, c = c, r
	}
	return a.at(i*rows+r, c)
}

// activate is the function that an Act stands for.
func activate(op device.Act, x float64) float64 {
	switch op {
	case device.ReLU:
		return max(x, 0)
	case device.GELU:
		return 0.5 * x * math.Erfc(-x/math.Sqrt2)
	case device.SiLU:
		return x / (1 + math.Exp(-x))
	case device.Sigmoid:
		return 1 / (1 + math.Exp(-x))
	case device.Tanh:
		return math.Tanh(x)
	case device.Softplus:
		return math.Max(x, 0) + math.Log1p(math.Exp(-math.Abs(x)))
	case device.Exp:
		return math.Exp(x)
	case device.Cos:
		return math.Cos(x)
	}
	return x
}

func testTranspose(g *rig) {
	for _, size := range [][3]int{
		{0, 7, 7}, {2, 0, 7}, {1, 1, 1}, {1, 7, 33}, {3, 33, 7}, {2, 8, 8}, {3, 20, 172}, {1, 200, 65},
	} {
		g.scope(fmt.Sprintf("%dx%dx%d", size[0], size[1], size[2]), func(g *rig) {
			batch, rows, cols := size[0], size[1], size[2]
			x, y := g.vector("X", batch*rows*cols), g.result("Y", batch*rows*cols)
			g.do(func() { g.dev.Transpose(y.buf(), x.buf(), batch, rows, cols) })
			y.want(g, 0, func(_, at int) float64 {
				b, j, i := at/(rows*cols), at%(rows*cols)/rows, at%rows
				return x.at(0, (b*rows+i)*cols+j)
			})
		})
	}
}
