// Package pcg64 answers: what would NumPy's default_rng have drawn?
//
// It is O'Neill's permuted congruential generator with 128 bits of state (XSL-RR), seeded as NumPy does: through a
// SeedSequence, which stirs the seed into a pool of four words and draws the state from that.
package pcg64

import "math/bits"

type word struct{ hi, lo uint64 }

func (a word) add(b word) word {
	lo, carry := bits.Add64(a.lo, b.lo, 0)
	hi, _ := bits.Add64(a.hi, b.hi, carry)
	return word{hi, lo}
}

func (a word) mul(b word) word {
	hi, lo := bits.Mul64(a.lo, b.lo)
	return word{hi + a.hi*b.lo + a.lo*b.hi, lo}
}

// multiplier is the generator's own, of 128 bits.
var multiplier = word{0x2360ed051fc65da4, 0x4385df649fccf645}

// Source draws numbers.
type Source struct {
	state, step word
	high        uint32 // of the last number that was cut in two
	waiting     bool   // high has not been given out
}

// New seeds a source as default_rng(seed) does.
func New(seed uint64) *Source {
	w := expand(seed)
	begin, stream := word{w[0], w[1]}, word{w[2], w[3]}
	s := &Source{step: word{stream.hi<<1 | stream.lo>>63, stream.lo<<1 | 1}}
	s.advance()
	s.state = s.state.add(begin)
	s.advance()
	return s
}

func (s *Source) advance() { s.state = s.state.mul(multiplier).add(s.step) }

// Uint64 is the next number: both halves of the state folded into one and turned by its six highest bits.
func (s *Source) Uint64() uint64 {
	s.advance()
	return bits.RotateLeft64(s.state.hi^s.state.lo, -int(s.state.hi>>58))
}

// Uint32 is the next half of a number, the lower one first.
func (s *Source) Uint32() uint32 {
	if s.waiting {
		s.waiting = false
		return s.high
	}
	x := s.Uint64()
	s.high, s.waiting = uint32(x>>32), true
	return uint32(x)
}

// Float64 is the next number in [0, 1), as random() draws it.
func (s *Source) Float64() float64 { return float64(s.Uint64()>>11) / (1 << 53) }

// Float32 is the next number in [0, 1), as random(dtype=float32) draws it.
func (s *Source) Float32() float32 { return float32(s.Uint32()>>8) / (1 << 24) }

// SeedSequence hashes words with multipliers that change from word to word.
const (
	poolBegin, poolTimes = 0x43b0d7e5, 0x931e8875 // while the seed is stirred in
	outBegin, outTimes   = 0x8b51f9dd, 0x58f38ded // while the state is drawn
	mixLeft, mixRight    = 0xca01f9dd, 0x4973f715
)

type hash struct{ at, times uint32 }

func (h *hash) of(x uint32) uint32 {
	x ^= h.at
	h.at *= h.times
	return fold(x * h.at)
}

func fold(x uint32) uint32 { return x ^ x>>16 }

// expand makes four words of a seed, as SeedSequence(seed).generate_state(4, uint64) does.
func expand(seed uint64) (out [4]uint64) {
	h := hash{poolBegin, poolTimes}
	pool := [4]uint32{uint32(seed), uint32(seed >> 32)}
	for i := range pool {
		pool[i] = h.of(pool[i])
	}
	for from := range pool {
		for to := range pool {
			if from != to {
				pool[to] = fold(mixLeft*pool[to] - mixRight*h.of(pool[from]))
			}
		}
	}
	h = hash{outBegin, outTimes}
	for i := range out {
		low, high := h.of(pool[2*i%4]), h.of(pool[(2*i+1)%4])
		out[i] = uint64(high)<<32 | uint64(low)
	}
	return out
}
