package grad_test

import "math"

// The meaning of the operations in float64, one plain loop each. Matrices are row-major.

func linear64(x, w, b []float64, in, out int) []float64 {
	n := 0
	if in > 0 {
		n = len(x) / in
	}
	y := make([]float64, n*out)
	for r := range n {
		for o := range out {
			s := 0.0
			if b != nil {
				s = b[o]
			}
			for k := range in {
				s += x[r*in+k] * w[o*in+k]
			}
			y[r*out+o] = s
		}
	}
	return y
}

func map64(x []float64, f func(float64) float64) []float64 {
	y := make([]float64, len(x))
	for i := range x {
		y[i] = f(x[i])
	}
	return y
}

func zip64(x, y []float64, f func(a, b float64) float64) []float64 {
	z := make([]float64, len(x))
	for i := range x {
		z[i] = f(x[i], y[i])
	}
	return z
}

func relu64(s float64) float64    { return max(s, 0) }
func gelu64(s float64) float64    { return 0.5 * s * (1 + math.Erf(s/math.Sqrt2)) }
func sigmoid64(s float64) float64 { return 1 / (1 + math.Exp(-s)) }
func silu64(s float64) float64    { return s * sigmoid64(s) }
func softplus64(s float64) float64 {
	if s > 20 {
		return s
	}
	return math.Log1p(math.Exp(s))
}

func norm64(x, gamma, beta []float64) []float64 {
	c := len(gamma)
	y := make([]float64, len(x))
	for r := 0; r < len(x); r += c {
		mean, v := 0.0, 0.0
		for _, s := range x[r : r+c] {
			mean += s / float64(c)
		}
		for _, s := range x[r : r+c] {
			v += (s - mean) * (s - mean) / float64(c)
		}
		for i, s := range x[r : r+c] {
			y[r+i] = (s-mean)/math.Sqrt(v+1e-5)*gamma[i] + beta[i]
		}
	}
	return y
}

func softmax64(x []float64, c int, mask []int32, fill float64) []float64 {
	y := make([]float64, len(x))
	for r := 0; r < len(x); r += c {
		top, sum := math.Inf(-1), 0.0
		for i := r; i < r+c; i++ {
			y[i] = x[i]
			if mask != nil && mask[i] == 0 {
				y[i] = fill
			}
			top = max(top, y[i])
		}
		for i := r; i < r+c; i++ {
			y[i] = math.Exp(y[i] - top)
			sum += y[i]
		}
		for i := r; i < r+c; i++ {
			y[i] /= sum
		}
	}
	return y
}

func conv64(x, w, bias []float64, L, D, K int) []float64 {
	y := make([]float64, len(x))
	for i := range y {
		b, t, c := i/(L*D), i/D%L, i%D
		s := bias[c]
		for j := range K {
			if at := t - (K - 1) + j; at >= 0 {
				s += w[c*K+j] * x[(b*L+at)*D+c]
			}
		}
		y[i] = silu64(s)
	}
	return y
}

// scan64: skip and gate may be nil.
func scan64(u, delta, alog, B, C, skip, gate []float64, L, D, N int, exact bool) []float64 {
	y := make([]float64, len(u))
	batch := 0
	if L*D > 0 {
		batch = len(u) / (L * D)
	}
	for b := range batch {
		h := make([]float64, D*N)
		for t := range L {
			for c := range D {
				at := (b*L+t)*D + c
				s := 0.0
				for i := range N {
					a := -math.Exp(alog[c*N+i])
					decay := math.Exp(delta[at] * a)
					in := delta[at]
					if exact {
						in = (decay - 1) / a
					}
					h[c*N+i] = decay*h[c*N+i] + in*B[(b*L+t)*N+i]*u[at]
					s += C[(b*L+t)*N+i] * h[c*N+i]
				}
				if skip != nil {
					s += skip[c] * u[at]
				}
				if gate != nil {
					s *= silu64(gate[at])
				}
				y[at] = s
			}
		}
	}
	return y
}

func attention64(q, k, v []float64, heads, Q, K, D int, mask []int32, fill float64) []float64 {
	y := make([]float64, len(q))
	w := heads * D
	for b := range len(q) / max(Q*w, 1) {
		for h := range heads {
			for i := range Q {
				score := make([]float64, K)
				for j := range K {
					for c := range D {
						score[j] += q[(b*Q+i)*w+h*D+c] * k[(b*K+j)*w+h*D+c]
					}
					score[j] /= math.Sqrt(float64(D))
					if mask != nil && mask[b*K+j] == 0 {
						score[j] = fill
					}
				}
				for j, p := range softmax64(score, K, nil, 0) {
					for c := range D {
						y[(b*Q+i)*w+h*D+c] += p * v[(b*K+j)*w+h*D+c]
					}
				}
			}
		}
	}
	return y
}

func columns64(x []float64, c, lo, hi int) []float64 {
	y := []float64{}
	for r := 0; c > 0 && r < len(x); r += c {
		y = append(y, x[r+lo:r+hi]...)
	}
	return y
}

func gru64(gx, gh, h []float64, H int) []float64 {
	y := make([]float64, len(h))
	for i := range h {
		r, c := i/H, i%H
		x, g := gx[r*3*H:], gh[r*3*H:]
		reset, z := sigmoid64(x[c]+g[c]), sigmoid64(x[H+c]+g[H+c])
		n := math.Tanh(x[2*H+c] + reset*g[2*H+c])
		y[i] = (1-z)*n + z*h[i]
	}
	return y
}

func lstm64(gx, gh, carry []float64, H int) (state, next []float64) {
	state, next = make([]float64, len(carry)), make([]float64, len(carry))
	for i := range carry {
		r, c := i/H, i%H
		gate := func(k int) float64 { return gx[r*4*H+k*H+c] + gh[r*4*H+k*H+c] }
		next[i] = sigmoid64(gate(1))*carry[i] + sigmoid64(gate(0))*math.Tanh(gate(2))
		state[i] = sigmoid64(gate(3)) * math.Tanh(next[i])
	}
	return state, next
}

// mamba64 takes the weights in the order of grad.MambaWeights.
func mamba64(x []float64, w [][]float64, L, m, N, K, R int) []float64 {
	alog, skip, in, conv, convB, xw, dt, dtB, out := w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7], w[8]
	xz := linear64(x, in, nil, m, 2*m)
	u := conv64(columns64(xz, 2*m, 0, m), conv, convB, L, m, K)
	p := linear64(u, xw, nil, m, R+2*N)
	delta := map64(linear64(columns64(p, R+2*N, 0, R), dt, dtB, R, m), softplus64)
	y := scan64(u, delta, alog, columns64(p, R+2*N, R, R+N), columns64(p, R+2*N, R+N, R+2*N), skip,
		columns64(xz, 2*m, m, 2*m), L, m, N, false)
	return linear64(y, out, nil, m, m)
}
