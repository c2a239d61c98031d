// Package mersenne answers: which numbers would NumPy, Python and PyTorch have drawn?
//
// It is the Mersenne Twister MT19937 with the two seedings and the derived draws of NumPy's RandomState and Python's
// random module, bit for bit; PyTorch's CPU generator has the words and the seeding of NumPy's. Only what must repeat a
// published draw uses it; everything else draws from package stream.
package mersenne

import (
	"encoding/binary"
	"fmt"
	"math/bits"
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

// twist makes the next words of output.
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

// temper makes output of a word of state.
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
