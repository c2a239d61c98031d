package pcg64

import "testing"

// TestLikeNumPy compares with numbers that NumPy publishes: the first ones of its test set for PCG64, and those in the
// documentation of default_rng and in wide use.
func TestLikeNumPy(t *testing.T) {
	s := New(0xdeadbeaf)
	for i, want := range []uint64{0x60d24054e17a0698, 0xd5e79d89856e4f12, 0xd254972fe64bd782, 0xf1e3072a53c72571} {
		if got := s.Uint64(); got != want {
			t.Errorf("number %d of seed 0xdeadbeaf is %#x, want %#x", i, got, want)
		}
	}
	for seed, list := range map[uint64][]float64{
		12345: {0.22733602246716966, 0.31675833970975287, 0.7973654573327341, 0.6762546707509746, 0.391109550601909},
		42:    {0.7739560485559633, 0.4388784397520523, 0.8585979199113825, 0.6973680290593639, 0.09417734788764953},
		0:     {0.6369616873214543, 0.2697867137638703, 0.04097352393619469, 0.016527635528529094, 0.8132702392002724},
		1:     {0.5118216247002567, 0.9504636963259353, 0.14415961271963373},
	} {
		s := New(seed)
		for i, want := range list {
			if got := s.Float64(); got != want {
				t.Errorf("number %d of seed %d is %v, want %v", i, seed, got, want)
			}
		}
	}
}

// TestHalves: numbers of 32 bits are the halves of those of 64, the lower one first, and floats are their upper 24
// bits.
func TestHalves(t *testing.T) {
	s, f := New(0xdeadbeaf), New(0xdeadbeaf)
	for i, want := range []uint32{0xe17a0698, 0x60d24054, 0x856e4f12, 0xd5e79d89} {
		if got := s.Uint32(); got != want {
			t.Errorf("half %d is %#x, want %#x", i, got, want)
		}
		if got, want := f.Float32(), float32(want>>8)*0x1p-24; got != want || got < 0 || got >= 1 {
			t.Errorf("float %d is %v, want %v", i, got, want)
		}
	}
}

// TestWideSeeds: a seed of more than 32 bits is two words, and another seed than its lower one.
func TestWideSeeds(t *testing.T) {
	if New(9).Uint64() == New(9+1<<32).Uint64() {
		t.Error("the upper half of a seed makes no difference")
	}
}
