// Package collectivetest answers: does an engine keep what every collective.Engine promises?
package collectivetest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/dygmamba/dygmamba/internal/collective"
)

// Conform holds one rank of a group to the contract; all ranks call it at the same time. It returns what is wrong. The
// ranks may be processes, so this is no function of package testing.
func Conform(ctx context.Context, g *collective.Group) error {
	for _, c := range []struct {
		what string
		f    func(context.Context, *collective.Group) error
	}{
		{"members", members}, {"broadcast", broadcast}, {"gather", gather}, {"all-gather", allGather},
		{"barrier", barrier}, {"sums", sums}, {"sums block by block", blocks}, {"sums are refused", refusals},
		{"agreement", agree},
		{"faults of the program stay panics", faults},
	} {
		if err := c.f(ctx, g); err != nil {
			return fmt.Errorf("%s, rank %d of %d: %w", c.what, g.Rank(), g.Size(), err)
		}
	}
	return nil
}

func members(_ context.Context, g *collective.Group) error {
	if len(g.Members()) != g.Size() || g.Rank() < 0 || g.Rank() >= g.Size() {
		return fmt.Errorf("%d members", len(g.Members()))
	}
	if rank, size := g.Local(); rank > g.Rank() || size > g.Size() || rank >= size {
		return fmt.Errorf("local rank %d of %d", rank, size)
	}
	return nil
}

// sizes of messages: none, small ones, and one that does not fit into any library's own buffers.
var sizes = []int{0, 1, 3, 1000, 1<<19 + 7}

// message is what a rank sends: it depends on the rank, the size and the place.
func message(rank, size int) []byte {
	b := make([]byte, size)
	for i := range b {
		b[i] = byte(7*rank + i + i>>8)
	}
	return b
}

func broadcast(ctx context.Context, g *collective.Group) error {
	for _, n := range sizes {
		for root := range g.Size() {
			var own []byte
			if g.Rank() == root {
				own = message(root, n)
			}
			got, err := g.Broadcast(ctx, root, own)
			if err != nil {
				return err
			}
			if !slices.Equal(got, message(root, n)) {
				return fmt.Errorf("%d bytes from rank %d are not those that were sent", n, root)
			}
		}
	}
	if _, err := g.Broadcast(ctx, g.Size(), nil); err == nil {
		return errors.New("a root that is no rank was taken")
	}
	return nil
}

func gather(ctx context.Context, g *collective.Group) error {
	for _, n := range sizes {
		for root := range g.Size() {
			got, err := g.Gather(ctx, root, message(g.Rank(), n+g.Rank()))
			if err != nil {
				return err
			}
			if g.Rank() != root {
				if got != nil {
					return fmt.Errorf("got %d messages, only the root %d gets them", len(got), root)
				}
				continue
			}
			if err := inOrder(got, n); err != nil {
				return err
			}
		}
	}
	return nil
}

func allGather(ctx context.Context, g *collective.Group) error {
	for _, n := range sizes {
		got, err := g.AllGather(ctx, message(g.Rank(), n+g.Rank()))
		if err != nil {
			return err
		}
		if len(got) != g.Size() {
			return fmt.Errorf("%d messages", len(got))
		}
		if err := inOrder(got, n); err != nil {
			return err
		}
	}
	return nil
}

func inOrder(got [][]byte, n int) error {
	for i, b := range got {
		if !slices.Equal(b, message(i, n+i)) {
			return fmt.Errorf("%d bytes of rank %d are not those that were sent", n+i, i)
		}
	}
	return nil
}

func barrier(ctx context.Context, g *collective.Group) error {
	for range 20 {
		if err := g.Barrier(ctx); err != nil {
			return err
		}
	}
	return nil
}

// leaf is the vector of a shard. Its numbers are of very different sizes, so that another order of additions is
// noticed.
func leaf(shard, n int) []float32 {
	r := rand.New(rand.NewPCG(uint64(shard), uint64(n)))
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(r.NormFloat64() * math.Pow(10, float64(r.IntN(8)-4)))
	}
	return x
}

// sums compares with the tree as it is defined, written down once more.
func sums(ctx context.Context, g *collective.Group) error {
	differs := false
	for _, count := range []int{1, 2, 8, 16} {
		if count < g.Size() {
			continue
		}
		shards, err := collective.NewShards(count, g.Rank(), g.Size())
		if err != nil {
			return err
		}
		s := collective.NewSum(shards)
		for _, n := range []int{1, 5, 1000, 10_007} {
			s.Reset()
			lo, hi := shards.Own()
			for i := lo; i < hi; i++ {
				copy(s.Leaf(n), leaf(i, n))
			}
			got := make([]float32, n)
			if err := g.AllReduce(ctx, s, got); err != nil {
				return err
			}
			want, line := tree(0, count, n), make([]float32, n)
			for i := range count {
				for j, x := range leaf(i, n) {
					line[j] += x
				}
			}
			for i := range got {
				if math.Float32bits(got[i]) != math.Float32bits(want[i]) {
					return fmt.Errorf("%d shards, number %d of %d is %v, the tree gives %v", count, i, n, got[i],
						want[i])
				}
				differs = differs || line[i] != want[i]
			}
		}
	}
	if !differs {
		return errors.New("the numbers do not tell one order from another")
	}
	return nil
}

// blocks fills the last vector from its end while what is there is on its way.
func blocks(ctx context.Context, g *collective.Group) error {
	const count = 16
	shards, err := collective.NewShards(count, g.Rank(), g.Size())
	if err != nil {
		return err
	}
	s := collective.NewSum(shards)
	for _, bounds := range [][]int{{1, 0}, {5, 5, 2, 0}, {1000, 999, 500, 0, 0}, {70_007, 40_000, 39_999, 7, 0}} {
		n := bounds[0]
		s.Reset()
		lo, hi := shards.Own()
		for i := lo; i < hi-1; i++ {
			copy(s.Leaf(n), leaf(i, n))
		}
		s.Fold()
		last, whole, got := s.Room(n), leaf(hi-1, n), make([]float32, n)
		for i := range last {
			last[i] = float32(math.NaN()) // nobody may look there yet
		}
		s.Add(last)
		r, err := g.Reduce(s, got, bounds)
		if err != nil {
			return err
		}
		for k := range bounds[1:] {
			copy(last[bounds[k+1]:bounds[k]], whole[bounds[k+1]:bounds[k]])
			if err := r.Ready(ctx); err != nil {
				return err
			}
			for range 3 * g.Rank() { // ranks differ in how far they come
				if err := r.Move(ctx); err != nil {
					return err
				}
			}
		}
		if err := r.Finish(ctx); err != nil {
			return err
		}
		want := tree(0, count, n)
		for i := range got {
			if math.Float32bits(got[i]) != math.Float32bits(want[i]) {
				return fmt.Errorf("blocks %v, number %d is %v, the tree gives %v", bounds, i, got[i], want[i])
			}
		}
	}
	return nil
}

func tree(lo, hi, n int) []float32 {
	if hi-lo == 1 {
		return leaf(lo, n)
	}
	a, b := tree(lo, (lo+hi)/2, n), tree((lo+hi)/2, hi, n)
	for i := range a {
		a[i] += b[i]
	}
	return a
}

func refusals(ctx context.Context, g *collective.Group) error {
	if _, err := collective.NewShards(6, 0, 1); err == nil {
		return errors.New("6 shards were taken, want a power of two")
	}
	if _, err := collective.NewShards(4, 0, 5); err == nil {
		return errors.New("5 ranks for 4 shards were taken")
	}
	shards, err := collective.NewShards(64, g.Rank(), g.Size())
	if err != nil {
		return err
	}
	if err := g.AllReduce(ctx, collective.NewSum(shards), make([]float32, 3)); err == nil {
		return errors.New("a sum without all vectors was taken")
	}
	s := collective.NewSum(shards)
	for lo, hi := shards.Own(); lo < hi; lo++ {
		clear(s.Leaf(3))
	}
	for _, bounds := range [][]int{nil, {3}, {2, 0}, {3, 1}, {3, 1, 2, 0}} {
		if _, err := g.Reduce(s, make([]float32, 3), bounds); err == nil {
			return fmt.Errorf("blocks %v of 3 numbers were taken", bounds)
		}
	}
	return nil
}

func agree(ctx context.Context, g *collective.Group) error {
	if err := g.Agree(ctx, "the hash", "abc"); err != nil {
		return err
	}
	if err := g.Agree(ctx, "the hash", fmt.Sprint(g.Rank())); (err != nil) != (g.Size() > 1) {
		return fmt.Errorf("different values: %v", err)
	}
	return nil
}

// faults shows that the library has not taken over the signals by which Go notices its own mistakes.
func faults(context.Context, *collective.Group) (err error) {
	defer func() {
		if recover() == nil {
			err = errors.New("a nil pointer was read")
		}
	}()
	var p *int
	return fmt.Errorf("read %d", *p)
}
