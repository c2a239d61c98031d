// Package rng answers: what is drawn next? It is the program's own generator: fast, seeded, and able to continue
// where it stopped.
//
// A Source is the PCG-DXSM generator of math/rand/v2 with the seed in one half of its 128-bit state and the FNV-1a hash
// of the stream's name in the other, so that draws added to one stream never move those of another. Bounded numbers are
// the high half of a 64×64-bit product with rejection (Lemire), floats the top 53 bits; both are written out here so
// that no library update can change them.
package rng

import (
	"hash/fnv"
	"math/bits"
	"math/rand/v2"
)

// Source is one named stream of draws. It is not safe for concurrent use.
type Source struct {
	pcg        rand.PCG
	seed, name uint64
}

// New starts the named stream of a seed.
func New(seed uint64, name string) *Source {
	h := fnv.New64a()
	h.Write([]byte(name))
	s := &Source{seed: seed, name: h.Sum64()}
	s.Reset()
	return s
}

// Reset starts the stream over.
func (s *Source) Reset() { s.pcg.Seed(s.seed, s.name) }

// Uint64 is the next 64 bits.
func (s *Source) Uint64() uint64 { return s.pcg.Uint64() }

// Below is uniform in 0 … n−1, n ≥ 1.
func (s *Source) Below(n int) int {
	bound := uint64(n)
	hi, lo := bits.Mul64(s.pcg.Uint64(), bound)
	if lo < bound {
		for least := -bound % bound; lo < least; {
			hi, lo = bits.Mul64(s.pcg.Uint64(), bound)
		}
	}
	return int(hi)
}

// Float64 is uniform in [0, 1).
func (s *Source) Float64() float64 { return float64(s.pcg.Uint64()>>11) / (1 << 53) }

// Sample gives k distinct positions below n, k ≤ n: the head of a Fisher–Yates shuffle from the front, place i swapped
// with one from i on.
func (s *Source) Sample(n, k int) []int32 {
	place := make(map[int32]int32, k) // what stands where it did not at first
	out := make([]int32, k)
	for i := range out {
		j := int32(i + s.Below(n-i))
		out[i] = at(place, j)
		place[j] = at(place, int32(i))
	}
	return out
}

func at(place map[int32]int32, i int32) int32 {
	if v, moved := place[i]; moved {
		return v
	}
	return i
}

// State is where the stream stands, for SetState.
func (s *Source) State() []byte { return s.AppendState(nil) }

// AppendState appends the state to b.
func (s *Source) AppendState(b []byte) []byte {
	b, _ = s.pcg.AppendBinary(b) // never fails
	return b
}

// SetState continues from a State; Reset still goes back to the start of this stream.
func (s *Source) SetState(b []byte) error { return s.pcg.UnmarshalBinary(b) }
