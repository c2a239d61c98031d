// Package mersenne answers: which numbers would NumPy, Python and PyTorch have drawn?
//
// It is the Mersenne Twister MT19937 with the two seedings and the derived draws of NumPy's RandomState and Python's
// random module, bit for bit; PyTorch's CPU generator has the words and the seeding of NumPy's. Only what must repeat a
// published draw uses it; everything else draws from package stream.
package mersenne

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"sort"
)

const (
	words  = 624
	middle = 397
)

// Twister is one generator. It is not safe for concurrent use.
type Twister struct {
	state [words]uint32
	next  int // the word of state to give out next; words: all used up
}

// New seeds as NumPy's RandomState(seed) does.
func New(seed uint32) *Twister {
	t := new(Twister)
	t.Seed(seed)
	return t
}

// NewPython seeds as Python's random.seed(seed) does for a number below 2³²: the seed is the only word of the key.
func NewPython(seed uint32) *Twister {
	t := New(19650218)
	s := &t.state
	i := 1
	for range words {
		s[i] = (s[i] ^ (s[i-1]^s[i-1]>>30)*1664525) + seed
		if i++; i == words {
			s[0], i = s[words-1], 1
		}
	}
	for range words - 1 {
		s[i] = (s[i] ^ (s[i-1]^s[i-1]>>30)*1566083941) - uint32(i)
		if i++; i == words {
			s[0], i = s[words-1], 1
		}
	}
	s[0] = 1 << 31
	return t
}

// Seed starts over as New(seed) would.
func (t *Twister) Seed(seed uint32) {
	t.state[0] = seed
	for i := 1; i < words; i++ {
		seed = 1812433253*(seed^seed>>30) + uint32(i)
		t.state[i] = seed
	}
	t.next = words
}

// Uint32 is the next 32 bits.
func (t *Twister) Uint32() uint32 {
	if t.next == words {
		t.twist()
	}
	t.next++
	return temper(t.state[t.next-1])
}

// Float64 is uniform in [0, 1) with 53 bits.
func (t *Twister) Float64() float64 {
	a := t.Uint32() >> 5
	b := t.Uint32() >> 6
	return (float64(a)*(1<<26) + float64(b)) / (1 << 53)
}

// UpTo is uniform in 0 … most: bits are masked to the width of most and drawn again while above it. most = 0 draws
// nothing. NumPy draws bounded numbers this way.
func (t *Twister) UpTo(most uint32) uint32 {
	if most == 0 {
		return 0
	}
	mask := uint32(1)<<bits.Len32(most) - 1
	for {
		if v := t.Uint32() & mask; v <= most {
			return v
		}
	}
}

// Below is uniform in 0 … n−1, n ≥ 1, from the high bits. Python draws bounded numbers this way.
func (t *Twister) Below(n uint32) uint32 {
	shift := 32 - bits.Len32(n)
	for {
		if v := t.Uint32() >> shift; v < n {
			return v
		}
	}
}

func (t *Twister) twist() {
	s := &t.state
	for i := range words - middle {
		s[i] = s[i+middle] ^ mix(s[i], s[i+1])
	}
	for i := words - middle; i < words-1; i++ {
		s[i] = s[i+middle-words] ^ mix(s[i], s[i+1])
	}
	s[words-1] = s[middle-1] ^ mix(s[words-1], s[0])
	t.next = 0
}

func temper(y uint32) uint32 {
	y ^= y >> 11
	y ^= y << 7 & 0x9d2c5680
	y ^= y << 15 & 0xefc60000
	return y ^ y>>18
}

func mix(hi, lo uint32) uint32 {
	y := hi&(1<<31) | lo&(1<<31-1)
	return y>>1 ^ -(y&1)&0x9908b0df
}

const stateSize = 4*words + 2

// State is where the generator stands, for SetState.
func (t *Twister) State() []byte { return t.AppendState(make([]byte, 0, stateSize)) }

// AppendState appends the state to b: 624 words and the number of those used, little-endian.
func (t *Twister) AppendState(b []byte) []byte {
	for _, w := range t.state {
		b = binary.LittleEndian.AppendUint32(b, w)
	}
	return binary.LittleEndian.AppendUint16(b, uint16(t.next))
}

// SetState continues from a State.
func (t *Twister) SetState(b []byte) error {
	if len(b) != stateSize {
		return fmt.Errorf("generator state has %d bytes, a Mersenne Twister's has %d", len(b), stateSize)
	}
	next := int(binary.LittleEndian.Uint16(b[4*words:]))
	if next > words {
		return fmt.Errorf("generator state says %d words are used, there are %d", next, words)
	}
	for i := range t.state {
		t.state[i] = binary.LittleEndian.Uint32(b[4*i:])
	}
	t.next = next
	return nil
}

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
