package mersenne

import (
	"math"
	"math/bits"
	"sort"
)

// Choose fills out with distinct positions below n, len(out) ≤ n < 2³¹, as NumPy's choice without replacement does: it
// permutes 0 … n−1 by swapping place i = n−1, …, 1 with a place up to i, and takes the first ones.
//
// All n−1 numbers are drawn, but no permutation is made: the places are followed back from the end to where their
// content came from. work is scratch memory, grown when needed.
func (t *Twister) Choose(n int, out []int32, work *[]uint32) {
	if n < 1 {
		return
	}
	k, seen := len(out), (n+31)/32
	if cap(*work) < n+seen {
		*work = make([]uint32, n+seen)
	}
	// swap[i]: drawn for place i; held: a bit for every place that holds an output
	swap, held := (*work)[:n], (*work)[n:n+seen]
	swap[0] = 0
	t.descend(swap)
	clear(held)
	for i := range out {
		out[i] = int32(i)
	}
	for i := 1; i < k; i++ {
		j := swap[i]
		out[i], out[j] = out[j], out[i]
	}
	for place, o := range out { // out is now: which output place i holds; from here on swap[i] says so
		swap[place] = uint32(o)
		held[place/32] |= 1 << (place % 32)
	}
	for i := k; i < n; i++ {
		j := swap[i]
		if held[j/32]>>(j%32)&1 == 0 || j == uint32(i) {
			continue
		}
		swap[i] = swap[j]
		held[j/32] &^= 1 << (j % 32)
		held[i/32] |= 1 << (i % 32)
	}
	for w, bits := range held {
		for place := 32 * w; bits != 0; place, bits = place+1, bits>>1 {
			if bits&1 != 0 {
				out[swap[place]] = int32(place)
			}
		}
	}
}

// descend fills swap[i] with UpTo(i), for i from the last down to 1. A rejected number is overwritten by the next,
// which costs no branch.
func (t *Twister) descend(swap []uint32) {
	for i := uint32(len(swap) - 1); i > 0; {
		if t.next == words {
			t.twist()
		}
		mask := uint32(1)<<bits.Len32(i) - 1
		low := mask >> 1 // the mask serves down to here
		for _, y := range t.state[t.next:] {
			v := temper(y) & mask
			swap[i] = v
			i -= uint32(1 - (uint64(i)-uint64(v))>>63)
			t.next++
			if i == low {
				break
			}
		}
	}
}

// Integers fills out with numbers below n, n ≥ 1, as NumPy's randint and its choice with replacement do.
func (t *Twister) Integers(n int, out []int32) {
	for i := range out {
		out[i] = int32(t.UpTo(uint32(n - 1)))
	}
}

// Weighted is the position that a number x from 0 to 1 falls on, position i having the weight cumulative[i] −
// cumulative[i−1]: NumPy's choice with probabilities takes the next Float64 for each that it draws, with replacement.
// It scales the running sums so that they end at 1, and so does this where it looks.
func Weighted(cumulative []float64, x float64) int32 {
	last := cumulative[len(cumulative)-1]
	at := sort.Search(len(cumulative), func(i int) bool { return cumulative[i]/last > x })
	return int32(min(at, len(cumulative)-1))
}

// Sample gives k distinct positions below n, k ≤ n, as Python's random.sample picks them.
func (t *Twister) Sample(n, k int) []int32 {
	out := make([]int32, 0, k)
	if n <= poolLimit(k) {
		pool := make([]int32, n)
		for i := range pool {
			pool[i] = int32(i)
		}
		for left := n; len(out) < k; left-- {
			j := t.Below(uint32(left))
			out = append(out, pool[j])
			pool[j] = pool[left-1]
		}
		return out
	}
	chosen := make(map[int32]bool, k)
	for len(out) < k {
		j := int32(t.Below(uint32(n)))
		if !chosen[j] {
			chosen[j] = true
			out = append(out, j)
		}
	}
	return out
}

// poolLimit is the largest population that Python copies to a list to pick k from; above it, it remembers the chosen
// ones instead.
func poolLimit(k int) int {
	limit := 21
	if k > 5 {
		limit += int(math.Pow(4, math.Ceil(math.Log(float64(3*k))/math.Log(4))))
	}
	return limit
}
