package pcg64

// SeedSequence hashes words with multipliers that change from word to word.
const (
	poolBegin, poolTimes = 0x43b0d7e5, 0x931e8875 // while the seed is stirred in
	outBegin, outTimes   = 0x8b51f9dd, 0x58f38ded // while the state is drawn
	mixLeft, mixRight    = 0xca01f9dd, 0x4973f715
)

// hash is a multiplier on its way.
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
