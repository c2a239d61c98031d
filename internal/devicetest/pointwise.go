package devicetest

import (
	"fmt"
	"math"

	"github.com/dygmamba/dygmamba/device"
)

var pointwiseSizes = [][2]int{{0, 7}, {7, 0}, {1, 1}, {7, 7}, {33, 33}, {3, 40}, {170, 100}}

// eachSize runs a case for every size, dense and with gaps.
func eachSize(g *rig, name string, run func(g *rig, rows, cols, gap int)) {
	for i, size := range pointwiseSizes {
		for _, gap := range []int{0, gaps[1+i%2]} {
			g.scope(fmt.Sprintf("%s %dx%d gap=%d", name, size[0], size[1], gap), func(g *rig) {
				run(g, size[0], size[1], gap)
			})
		}
	}
}

func testMap(g *rig) {
	for op := device.Identity; op <= device.Cos; op++ {
		eachSize(g, fmt.Sprintf("op=%d", op), func(g *rig, rows, cols, gap int) { mapCase(g, op, rows, cols, gap) })
	}
}

func mapCase(g *rig, op device.Act, rows, cols, gap int) {
	spread := 3.0
	if op == device.Cos {
		spread = 1e6
	}
	x := g.in("X", rows, cols, gap).fill(func(v float64) float64 { return spread * v })
	y := g.out("Y", rows, cols, 5-gap%5)
	g.do(func() { g.dev.Map(op, y.mat(), x.mat()) })
	y.want(g, 1e-6, func(r, c int) float64 { return activate(op, x.at(r, c)) })

	// The gradient, by the slope of the function; y holds what Map wrote.
	y.keep()
	dy, dx := g.in("DY", rows, cols, gap), g.out("DX", rows, cols, gap)
	g.do(func() { g.dev.MapGrad(op, dx.mat(), x.mat(), y.mat(), dy.mat(), device.Drop{}) })
	dx.want(g, 3e-6, func(r, c int) float64 { return dy.at(r, c) * slope(op, x.at(r, c)) })
	if op == device.Identity {
		g.do(func() { g.dev.MapGrad(op, dx.mat(), device.Mat{}, device.Mat{}, dy.mat(), device.Drop{}) })
		dx.want(g, 0, dy.at)
	}

	// In place.
	z := g.matrix("Z", sum, rows, cols, gap).fill(func(v float64) float64 { return spread * v })
	g.do(func() { g.dev.Map(op, z.mat(), z.mat()) })
	z.want(g, 1e-6, func(r, c int) float64 { return activate(op, z.at(r, c)) })
}

// slope is the derivative of activate.
func slope(op device.Act, x float64) float64 {
	y := activate(op, x)
	switch op {
	case device.ReLU:
		if x > 0 {
			return 1
		}
		return 0
	case device.GELU:
		return 0.5*math.Erfc(-x/math.Sqrt2) + x*math.Exp(-x*x/2)/math.Sqrt(2*math.Pi)
	case device.SiLU:
		s := activate(device.Sigmoid, x)
		return s * (1 + x*(1-s))
	case device.Sigmoid:
		return y * (1 - y)
	case device.Tanh:
		return 1 - y*y
	case device.Softplus:
		return activate(device.Sigmoid, x)
	case device.Exp:
		return y
	case device.Cos:
		return -math.Sin(x)
	}
	return 1
}

func testZip(g *rig) {
	f := map[device.Op]func(x, y float64) float64{
		device.Add: func(x, y float64) float64 { return x + y },
		device.Sub: func(x, y float64) float64 { return x - y },
		device.Mul: func(x, y float64) float64 { return x * y },
	}
	for op := device.Add; op <= device.Mul; op++ {
		eachSize(g, fmt.Sprintf("op=%d", op), func(g *rig, rows, cols, gap int) {
			x, y := g.in("X", rows, cols, gap), g.in("Y", rows, cols, 0)
			row, col := g.vector("row", cols), g.vector("col", rows)
			z, zRow, zCol := g.out("Z", rows, cols, gap), g.out("Z of row", rows, cols, 0),
				g.out("Z of column", rows, cols, gap)
			sums := g.matrix("sums", sum, rows, cols, gap)
			g.do(func() {
				g.dev.Zip(op, z.mat(), x.mat(), y.mat())
				g.dev.ZipRow(op, zRow.mat(), x.mat(), row.buf())
				g.dev.ZipCol(op, zCol.mat(), x.mat(), col.buf())
				g.dev.Zip(op, sums.mat(), sums.mat(), x.mat())
			})
			z.want(g, 1e-7, func(r, c int) float64 { return f[op](x.at(r, c), y.at(r, c)) })
			zRow.want(g, 1e-7, func(r, c int) float64 { return f[op](x.at(r, c), row.at(0, c)) })
			zCol.want(g, 1e-7, func(r, c int) float64 { return f[op](x.at(r, c), col.at(0, r)) })
			sums.want(g, 1e-7, func(r, c int) float64 { return f[op](sums.at(r, c), x.at(r, c)) })
		})
	}
}

func testScale(g *rig) {
	eachSize(g, "by -2.5", func(g *rig, rows, cols, gap int) {
		x, y, z := g.in("X", rows, cols, gap), g.out("Y", rows, cols, 0), g.out("copy", rows, cols, gap)
		g.do(func() {
			g.dev.Scale(y.mat(), x.mat(), -2.5)
			g.dev.Copy(z.mat(), x.mat())
		})
		y.want(g, 1e-7, func(r, c int) float64 { return -2.5 * x.at(r, c) })
		z.want(g, 0, x.at)
	})
}

func testColSum(g *rig) {
	eachSize(g, "sum", func(g *rig, rows, cols, gap int) {
		x, y, z := g.in("X", rows, cols, gap), g.result("y", cols), g.total("z", cols)
		g.do(func() {
			g.dev.ColSum(y.buf(), x.mat(), false)
			g.dev.ColSum(z.buf(), x.mat(), true)
		})
		total := func(_, c int) (s float64) {
			for r := range rows {
				s += x.at(r, c)
			}
			return s
		}
		y.want(g, 1e-6, total)
		z.wantAdded(g, 1e-6, total)
	})
}

func testRowSum(g *rig) {
	list := [][]int{{0, 7}, {7, 0}, {1, 1}, {7, 7}, {33, 33}, {3, 1000}, {400, 50}}
	g.sizes("%dx%d", list, func(g *rig, n []int, gap int) {
		x, y := g.in("X", n[0], n[1], gap), g.result("y", n[0])
		g.do(func() { g.dev.RowSum(y.buf(), x.mat()) })
		y.want(g, 1e-5, func(_, r int) (s float64) {
			for c := range n[1] {
				s += x.at(r, c)
			}
			return s
		})
	})
}
