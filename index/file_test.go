package index_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/index"
)

// filed is an index as a file would have it, of a log that then uses it.
func filed(log *event.Log, size int, check func(event.Node) error) *index.File {
	f := &index.File{Start: index.Starts(log), Check: check}
	for _, s := range index.Shards(f.Start, size) {
		words := make([]event.Time, 2*(f.Start[s.Hi]-f.Start[s.Lo]))
		index.Fill(log, f.Start, s, words)
		f.Words = append(f.Words, words...)
	}
	log.SetIndex(f)
	return f
}

func sameHistories(t *testing.T, what string, got, want index.View) {
	t.Helper()
	if got.NumNodes() != want.NumNodes() {
		t.Errorf("%s: %d nodes, want %d", what, got.NumNodes(), want.NumNodes())
		return
	}
	for n := event.Node(0); int(n) <= want.NumNodes(); n++ {
		for _, at := range []event.Time{-1, 0, 10, 10.5, 33, math.Inf(1)} {
			a, b := got.Before(n, at), want.Before(n, at)
			if !slices.Equal(a.Edge, b.Edge) || !slices.Equal(a.Node, b.Node) || !slices.Equal(a.Time, b.Time) {
				t.Errorf("%s: node %d before %v: edges %v, want %v", what, n, at, a.Edge, b.Edge)
				return
			}
		}
	}
}

// An index in a file, however many shards it was made in, is the one made in memory. So is that of a part of the log,
// which is made from it.
func TestFile(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 9))
	for _, edges := range []func(i int) event.Edge{
		func(int) event.Edge { return 0 }, func(i int) event.Edge { return event.Edge(1000 - i) }} {
		plain, stored := event.NewLog(0), event.NewLog(0)
		for i := range 400 {
			e := event.Event{Src: event.Node(1 + rng.IntN(20)), Dst: event.Node(1 + rng.IntN(30)),
				Time: math.Floor(float64(i) / 8), Edge: edges(i)} // ties and self-loops
			plain.Append(e)
			stored.Append(e)
		}
		for _, size := range []int{1, 7, 100, 1 << 20} {
			filed(stored, size, func(event.Node) error { return nil })
			sameHistories(t, "all", index.Freeze(stored), index.Freeze(plain))
			keep := func(i int) bool { e := plain.At(i); return e.Time < 30 && e.Src != 3 && e.Dst != 3 && e.Dst < 25 }
			sameHistories(t, "part", index.Freeze(stored.Select(keep)), index.Freeze(plain.Select(keep)))
			some := func(i int) bool { return i%3 == 0 } // no nodes are left out
			sameHistories(t, "some", index.Freeze(stored.Select(some)), index.Freeze(plain.Select(some)))
			for _, n := range []int{0, 150, 399, 400} {
				if got, want := index.Totals(stored, n), index.Totals(plain, n); !slices.Equal(got, want) {
					t.Errorf("totals of %d events are %v, want %v", n, got, want)
				}
			}
			sameHistories(t, "none", index.Freeze(stored.Part(3, 3)), index.Freeze(event.NewLog(0)))
		}
		e := event.Event{Src: 5, Dst: 6, Time: 99, Edge: 5000}
		plain.Append(e)
		stored.Append(e)
		sameHistories(t, "grown", index.Freeze(stored), index.Freeze(plain))
	}
}

// Histories of a part are made while many ask for them.
func TestPartOfFileAskedAtOnce(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 9))
	log := event.NewLog(0)
	for i := range 20_000 {
		log.Append(event.Event{Src: event.Node(1 + rng.IntN(200)), Dst: event.Node(1 + rng.IntN(50)),
			Time: float64(i / 3)})
	}
	keep := func(i int) bool { e := log.At(i); return e.Time < 5000 && e.Src%9 != 0 && e.Dst%9 != 0 }
	want := index.Freeze(log.Select(keep))
	filed(log, 5_000, func(event.Node) error { return nil })
	got := index.Freeze(log.Select(keep))
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() { sameHistories(t, "part", got, want) })
	}
	readers.Wait()
}

// Histories are sorted in groups of nodes. Whatever the nodes of a group, they are those of an index that grew event by
// event.
func TestFileOfManyGroups(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 9))
	for _, nodes := range []int{40, 3_000, 100_000} {
		log, live := event.NewLog(0), index.NewLive()
		for i := range 80_000 {
			e := event.Event{Src: event.Node(1 + rng.IntN(nodes)), Dst: event.Node(1 + rng.IntN(2)),
				Time: math.Floor(float64(i) / 2500), Edge: event.Edge(i + 1)}
			if i%5 == 0 {
				e.Dst = event.Node(1 + rng.IntN(nodes))
			}
			log.Append(e)
			live.Add(e)
		}
		filed(log, 90_000, func(event.Node) error { return nil })
		sameHistories(t, fmt.Sprintf("%d nodes", nodes), index.Freeze(log), live)
	}
}

func TestFileDamage(t *testing.T) {
	log := event.NewLog(0)
	for i := range 10 {
		log.Append(event.Event{Src: event.Node(1 + i), Dst: 20, Time: float64(i)})
	}
	bad := errors.New("block 7 is damaged")
	filed(log, 100, func(n event.Node) error {
		if n == 4 {
			return bad
		}
		return nil
	})
	f := index.Freeze(log)
	f.Before(3, 99)
	for name, read := range map[string]func(){"history": func() { f.Before(4, 99) },
		"live": func() { index.Continue(f).Before(4, 99) },
		"part": func() { index.Freeze(log.Part(2, 9)).Before(4, 99) }} {
		func() {
			defer func() {
				if d, ok := recover().(*event.DamageError); !ok || !errors.Is(d, bad) {
					t.Errorf("%s: %v", name, d)
				}
			}()
			read()
		}()
	}
}
