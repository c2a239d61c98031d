package shortlist

import "math"

// fit is a linear regression with a small penalty on weights, to which rows are added one by one.
type fit struct {
	width int
	all   []float64 // [width, width]: the lower half of the sum of products of each row with itself
	sums  []float64 // [width]: the sum of rows by their answers
}

// penalty keeps weights small that few rows speak about.
const penalty = 0.03

// add adds a row and its answer.
func (f *fit) add(row []float64, answer float64) {
	if f.width == 0 {
		f.width = len(row)
		f.all, f.sums = make([]float64, f.width*f.width), make([]float64, f.width)
	}
	for i, x := range row {
		if x == 0 {
			continue
		}
		to := f.all[i*f.width:][:i+1]
		for j, y := range row[:i+1] {
			to[j] += x * y
		}
		f.sums[i] += x * answer
	}
}

// solve gives the weights, by Cholesky's decomposition. The first one, of a constant, has hardly any penalty.
func (f *fit) solve() []float64 {
	w := f.width
	l := append([]float64(nil), f.all...) // becomes the lower triangle
	x := append([]float64(nil), f.sums...)
	for i := range w {
		for j := range i + 1 {
			sum := l[i*w+j]
			for k := range j {
				sum -= l[i*w+k] * l[j*w+k]
			}
			switch {
			case j < i:
				l[i*w+j] = sum / l[j*w+j]
			case i == 0:
				l[0] = math.Sqrt(sum + 1e-6)
			default:
				l[i*w+i] = math.Sqrt(max(sum+penalty, 1e-9))
			}
		}
	}
	for i := range w {
		for k := range i {
			x[i] -= l[i*w+k] * x[k]
		}
		x[i] /= l[i*w+i]
	}
	for i := w - 1; i >= 0; i-- {
		for k := i + 1; k < w; k++ {
			x[i] -= l[k*w+i] * x[k]
		}
		x[i] /= l[i*w+i]
	}
	return x
}
