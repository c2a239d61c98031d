package devicetest

import "math"

// tape records a float64 computation number by number and differentiates it: references are written once, as formulas.
type tape struct {
	nodes []node
	dots  []dot
	off   bool // nothing is recorded, and all numbers are 0
}

// node is a number that depends on at most two others, or is a dot product: then its second argument is −1 − the number
// of the dot.
type node struct {
	value, grad float64
	args        [2]num
	slopes      [2]float64
}

// dot is Σ a[i]·b[i]. As a node of its own it takes a hundredth of the memory of its products and sums.
type dot struct{ a, b []num }

// num is a number on a tape. The first number of a tape is no one's argument.
type num int32

func newTape() *tape { return &tape{nodes: make([]node, 1)} }

// reset forgets everything but the memory.
func (p *tape) reset(off bool) { p.nodes, p.dots, p.off = p.nodes[:1], p.dots[:0], off }

// leaf is a number that depends on nothing.
func (p *tape) leaf(x float64) num { return p.push(node{value: x}) }

// leaves are the numbers of an array before the call, row by row.
func (p *tape) leaves(a *array) [][]num {
	rows := matrix(a.rows, a.cols)
	for r := range rows {
		for c := range rows[r] {
			rows[r][c] = p.leaf(a.at(r, c))
		}
	}
	return rows
}

func (p *tape) push(n node) num {
	if p.off {
		return 0
	}
	p.nodes = append(p.nodes, n)
	return num(len(p.nodes) - 1)
}

func (p *tape) val(a num) float64 { return p.nodes[a].value }

// grad is the derivative with respect to a, after backward.
func (p *tape) grad(a num) float64 { return p.nodes[a].grad }

func (p *tape) add(a, b num) num {
	return p.push(node{value: p.val(a) + p.val(b), args: [2]num{a, b}, slopes: [2]float64{1, 1}})
}

func (p *tape) sub(a, b num) num {
	return p.push(node{value: p.val(a) - p.val(b), args: [2]num{a, b}, slopes: [2]float64{1, -1}})
}

func (p *tape) mul(a, b num) num {
	return p.push(node{value: p.val(a) * p.val(b), args: [2]num{a, b}, slopes: [2]float64{p.val(b), p.val(a)}})
}

func (p *tape) div(a, b num) num {
	x, y := p.val(a), p.val(b)
	return p.push(node{value: x / y, args: [2]num{a, b}, slopes: [2]float64{1 / y, -x / (y * y)}})
}

func (p *tape) scale(a num, k float64) num { return p.apply(a, k*p.val(a), k) }

// apply is a function of a with this value and slope.
func (p *tape) apply(a num, value, slope float64) num {
	return p.push(node{value: value, args: [2]num{a}, slopes: [2]float64{slope}})
}

func (p *tape) exp(a num) num {
	y := math.Exp(p.val(a))
	return p.apply(a, y, y)
}

// expm1 is eᵃ−1.
func (p *tape) expm1(a num) num { return p.apply(a, math.Expm1(p.val(a)), math.Exp(p.val(a))) }

func (p *tape) tanh(a num) num {
	y := math.Tanh(p.val(a))
	return p.apply(a, y, 1-y*y)
}

func (p *tape) sigmoid(a num) num {
	y := 1 / (1 + math.Exp(-p.val(a)))
	return p.apply(a, y, y*(1-y))
}

func (p *tape) silu(a num) num { return p.mul(a, p.sigmoid(a)) }

func (p *tape) sum(a []num) num {
	s := p.leaf(0)
	for _, v := range a {
		s = p.add(s, v)
	}
	return s
}

// dot keeps both lists: they must not change.
func (p *tape) dot(a, b []num) num {
	if p.off {
		return 0
	}
	s := 0.0
	for i, v := range a {
		s += p.val(v) * p.val(b[i])
	}
	p.dots = append(p.dots, dot{a, b})
	return p.push(node{value: s, args: [2]num{0, num(-len(p.dots))}})
}

// matrix is rows × cols numbers that are yet to be computed.
func matrix(rows, cols int) [][]num {
	x := make([][]num, rows)
	for r := range x {
		x[r] = make([]num, cols)
	}
	return x
}

// softmax is the softmax of a row; −Inf counts as absent.
func (p *tape) softmax(a []num) []num {
	top := math.Inf(-1)
	for _, v := range a {
		top = max(top, p.val(v))
	}
	out := make([]num, len(a))
	if math.IsInf(top, -1) {
		for i := range out {
			out[i] = p.leaf(0)
		}
		return out
	}
	for i, v := range a {
		out[i] = p.exp(p.sub(v, p.leaf(top)))
	}
	all := p.sum(out)
	for i, v := range out {
		out[i] = p.div(v, all)
	}
	return out
}

// backward runs the tape from y, whose gradient is dy before the call, to the leaves.
func (p *tape) backward(y [][]num, dy *array) {
	if p.off {
		return
	}
	for r := range y {
		for c, v := range y[r] {
			p.nodes[v].grad += dy.at(r, c)
		}
	}
	for i := len(p.nodes) - 1; i > 0; i-- {
		n := &p.nodes[i]
		if n.args[1] < 0 {
			d := p.dots[-n.args[1]-1]
			for j, a := range d.a {
				p.nodes[a].grad += n.grad * p.val(d.b[j])
				p.nodes[d.b[j]].grad += n.grad * p.val(a)
			}
			continue
		}
		for k, a := range n.args {
			if a != 0 && n.slopes[k] != 0 {
				p.nodes[a].grad += n.grad * n.slopes[k]
			}
		}
	}
}

// values and grads read a matrix of numbers.
func (p *tape) values(x [][]num) func(r, c int) float64 {
	return func(r, c int) float64 { return p.val(x[r][c]) }
}

func (p *tape) grads(x [][]num) func(r, c int) float64 {
	return func(r, c int) float64 { return p.grad(x[r][c]) }
}
