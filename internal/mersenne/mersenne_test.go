package mersenne

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/dygmamba/dygmamba/internal/golden"
)

// Python 3.11: random.seed(2020), then random.getrandbits(32) five times.
func TestPythonSeeding(t *testing.T) {
	g := NewPython(2020)
	for i, want := range []uint32{2661459254, 2660693840, 749574286, 2879324636, 3300585031} {
		if got := g.Uint32(); got != want {
			t.Errorf("output %d: %d, want %d", i, got, want)
		}
	}
}

func TestDrawsOfNumPy(t *testing.T) {
	want := golden.Draws(t).NumPy
	g := New(2)
	var work []uint32
	integers := func(n, size int) []int32 {
		out := make([]int32, size)
		g.Integers(n, out)
		return out
	}
	same(t, "randint(10)", integers(10, 8), want.Below10)
	same(t, "randint(1000)", integers(1000, 5), want.Below1000)
	chosen := make([]int32, 5)
	g.Choose(12, chosen, &work)
	same(t, "choice(12) without replacement", chosen, want.Choose5of12)
	same(t, "choice(3) with replacement", integers(3, 5), want.Repeat5of3)
	uniform := make([]float64, 3)
	for i := range uniform {
		uniform[i] = g.Float64()
	}
	same(t, "random_sample", uniform, want.Uniform)
	weighted := make([]int32, 6)
	for i := range weighted {
		weighted[i] = Weighted([]float64{0.1, 0.1 + 0.2, 0.1 + 0.2 + 0.3, 0.1 + 0.2 + 0.3 + 0.4}, g.Float64())
	}
	same(t, "choice with probabilities", weighted, want.Weighted)
}

func TestSampleOfPython(t *testing.T) {
	want := golden.Draws(t)
	same(t, "small pool", NewPython(2020).Sample(30, 7), want.SmallPool)
	if got := NewPython(2020).Sample(5, 0); len(got) != 0 {
		t.Errorf("0 of 5: %v", got)
	}
}

func TestWeightedTakesTheFirstAbove(t *testing.T) {
	g := New(1)
	for range 1000 {
		if i := Weighted([]float64{0, 0, 3, 3, 5, 5}, g.Float64()); i != 2 && i != 4 {
			t.Fatalf("drew position %d of weight 0", i)
		}
	}
}

func TestChooseIsTheHeadOfAPermutation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seed := rapid.Uint32().Draw(t, "seed")
		n := rapid.IntRange(1, 3000).Draw(t, "n")
		out := make([]int32, rapid.IntRange(0, n).Draw(t, "k"))
		work := slices.Repeat([]uint32{^uint32(0)}, rapid.IntRange(0, 200).Draw(t, "scratch"))
		g, plain := New(seed), New(seed)
		g.Choose(n, out, &work)
		if want := permutation(plain, n)[:len(out)]; !slices.Equal(out, want) {
			t.Fatalf("%v, want %v", out, want)
		}
		if g.Uint32() != plain.Uint32() {
			t.Fatal("the generators have parted")
		}
	})
}

func TestStateContinues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := New(rapid.Uint32().Draw(t, "seed"))
		for range rapid.IntRange(0, 2000).Draw(t, "used") {
			g.Uint32()
		}
		h := New(0)
		if err := h.SetState(g.State()); err != nil {
			t.Fatal(err)
		}
		for range 700 {
			if g.Uint32() != h.Uint32() {
				t.Fatal("the generators have parted")
			}
		}
	})
	for _, bad := range [][]byte{nil, make([]byte, 17), append(make([]byte, 4*words), 255, 255)} {
		if err := New(0).SetState(bad); err == nil {
			t.Errorf("a state of %d bytes was accepted", len(bad))
		}
	}
}

func BenchmarkChoose(b *testing.B) {
	t := New(2)
	var work []uint32
	out := make([]int32, 200)
	for b.Loop() {
		t.Choose(1_000_000, out, &work)
	}
	b.ReportMetric(1e6*float64(b.N)/b.Elapsed().Seconds(), "draws/s")
}

// permutation is NumPy's, as it is defined.
func permutation(g *Twister, n int) []int32 {
	p := make([]int32, n)
	for i := range p {
		p[i] = int32(i)
	}
	for i := n - 1; i > 0; i-- {
		j := g.UpTo(uint32(i))
		p[i], p[j] = p[j], p[i]
	}
	return p
}

func same[T any](t *testing.T, what string, got, want []T) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s: %s", what, diff)
	}
}
