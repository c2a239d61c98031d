// Package pcg64 answers: what would NumPy's default_rng have drawn?
//
// It is O'Neill's permuted congruential generator with 128 bits of state (XSL-RR), seeded as NumPy does: through a
// SeedSequence, which stirs the seed into a pool of four words and draws the state from that.
package pcg64

import "math/bits"

// word is a number of 128 bits.
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
