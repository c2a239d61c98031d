package walk

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/dygmamba/dygmamba/event"
)

// mirrored is an array, and what it has to hold.
type mirrored struct {
	paged[int32]
	want map[int32]int32
}

func newMirrored() *mirrored { return &mirrored{newPaged[int32](1, 4), map[int32]int32{}} }

func (m *mirrored) write(i, x int32) {
	e, _ := m.own(i)
	e[0] = x
	m.settle()
	m.want[i] = x
}

func (m *mirrored) fork() *mirrored {
	want := map[int32]int32{}
	for i, x := range m.want {
		want[i] = x
	}
	m.share()
	return &mirrored{m.clone(), want}
}

func (m *mirrored) wrong() bool {
	for i, x := range m.want {
		if m.at(i)[0] != x {
			return true
		}
	}
	return false
}

// TestSharedPages: whatever is written to an array, copied and released, no other array shows it, and memory is taken
// for what arrays have, and nothing else.
func TestSharedPages(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := []*mirrored{newMirrored()}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			k := rapid.IntRange(0, len(list)-1).Draw(t, "array")
			switch rapid.IntRange(0, 4).Draw(t, "what") {
			case 0:
				list = append(list, list[k].fork())
			case 1:
				if len(list) > 1 {
					list[k].release()
					list = slices.Delete(list, k, k+1)
				}
			default: // pages have 128 elements, chunks 2,048
				i := rapid.SampledFrom([]int32{0, 1, 127, 128, 2047, 2048, 5000}).Draw(t, "element")
				list[k].write(i, rapid.Int32().Draw(t, "number"))
			}
			pages, chunks := map[int32]bool{}, map[int32]bool{}
			for i, m := range list {
				if m.wrong() {
					t.Fatalf("array %d shows what was written to another", i)
				}
				m.reach(pages, chunks)
			}
			s := list[0].store
			if p, c := s.pages.given(), s.lists.given(); p != len(pages) || c != len(chunks) {
				t.Fatalf("%d pages and %d chunks are taken, arrays have %d and %d", p, c, len(pages), len(chunks))
			}
		}
	})
}

// reach notes what an array has.
func (p *paged[T]) reach(pages, chunks map[int32]bool) {
	for _, c := range p.chunks {
		if c &^= mine; c == 0 {
			continue
		}
		chunks[c] = true
		for _, id := range p.chunk(c).pages {
			if id != 0 {
				pages[id] = true
			}
		}
	}
}

// TestPagesOfGoroutines: arrays that share pages belong to a goroutine each. The race detector sees all of them write.
func TestPagesOfGoroutines(t *testing.T) {
	first := newMirrored()
	for i := range int32(6000) {
		first.write(i, i)
	}
	var group sync.WaitGroup
	for seed := range uint64(4) {
		m := first.fork()
		group.Go(func() {
			rng := rand.New(rand.NewPCG(seed, 3))
			for range 300 {
				for range 5 {
					m.write(rng.Int32N(6000), rng.Int32())
				}
				old := m
				if m = m.fork(); rng.IntN(2) == 0 {
					m, old = old, m
				}
				old.release()
				if m.wrong() {
					t.Errorf("goroutine %d sees what others wrote", seed)
					return
				}
			}
			m.release()
		})
	}
	group.Wait()
	if first.wrong() {
		t.Error("the array that all began with has changed")
	}
	first.release()
	if n := first.store.pages.given(); n != 0 {
		t.Errorf("%d pages are still taken", n)
	}
}

// TestPagesThatAreRead: a row that is to be copied stays as it is until it was, whatever happens to another state.
func TestPagesThatAreRead(t *testing.T) {
	o := Options{Dim: 4, Span: 10}
	s := NewState(o)
	s.Apply(1, []event.Node{1}, []event.Node{2})
	other := s.clone()
	row, _ := s.Row(1)
	want, got := slices.Clone(row), make([]float32, o.Width())
	s.CopyRow(1, got)
	s.Record(2, []event.Node{1}, []event.Node{2})
	other.Apply(3, []event.Node{1}, []event.Node{2})
	if s.Run(1); !slices.Equal(got, want) {
		t.Errorf("copied %v, the row was %v", got, want)
	}
}

// TestForkKeepsSnapshots: a fork that forgets snapshots takes none from the past that it comes from.
func TestForkKeepsSnapshots(t *testing.T) {
	log := new(event.Log)
	add := func(at event.Time) {
		if _, err := log.Append(event.Event{Src: event.Node(1 + log.Len()%9), Dst: 20, Time: at}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 400 {
		add(event.Time(i))
	}
	o := Options{Dim: 4, Span: 10}
	before := log.Now()
	p := Over(before, o)
	p.every = 50
	p.At(1e9)
	add(60)
	f := p.Fork(log.Now())
	f.At(1e9)
	time.Sleep(10 * time.Millisecond) // what is not needed any more goes back by and by
	for i := range 100 {
		add(event.Time(400 + i))
		f.Grow(log.Now())
		f.At(1e9)
	}
	for _, at := range []event.Time{390, 201, 120} {
		want, _ := Over(before, o).At(at).Row(20)
		if row, _ := p.At(at).Row(20); !slices.Equal(row, want) {
			t.Errorf("at %v the past says %v, a straight run %v", at, row, want)
		}
	}
}

// TestPagesOfThePast: a live past whose events come late takes memory for the states that it keeps, and so does a fork
// that took its place.
func TestPagesOfThePast(t *testing.T) {
	rng, log := rand.New(rand.NewPCG(4, 4)), new(event.Log)
	add := func(n int, late float64) {
		for range n {
			e := event.Event{Src: event.Node(1 + rng.IntN(300)), Dst: event.Node(1 + rng.IntN(300))}
			e.Time = max(0, float64(log.Len())-late*rng.Float64())
			if _, err := log.Append(e); err != nil {
				t.Fatal(err)
			}
		}
	}
	o := Options{Dim: 4, Span: 1000, Follow: true, forced: limits{nodes: 200, slots: 1 << 8, warmUp: 5000}}
	add(20000, 0)
	p := Over(log, o)
	p.Live = true
	p.At(1e9)
	for i := range 30 {
		add(500, 0)
		add(3, 3000)
		if i%3 == 0 {
			p = p.Fork(log)
		}
		p.At(1e9)
	}
	waitUntil(t, "pages go back", func() bool {
		pages := map[*store[float32]]map[int32]bool{}
		for _, s := range slices.Concat(p.kept, p.recent, []snapshot{{now: p.now, soon: p.soon}, p.near}) {
			for _, x := range []*State{s.now.state, s.soon.state} {
				if x == nil {
					continue
				}
				if pages[x.rows.store] == nil {
					pages[x.rows.store] = map[int32]bool{}
				}
				x.rows.reach(pages[x.rows.store], map[int32]bool{})
			}
		}
		for s, reached := range pages {
			s.mu.Lock()
			given := s.pages.given()
			s.mu.Unlock()
			if given != len(reached) {
				return false
			}
		}
		return true
	})
	runtime.KeepAlive(p)
}

// waitUntil lets the garbage collector find what nobody can reach, until that shows.
func waitUntil(t *testing.T, what string, is func() bool) {
	t.Helper()
	for range 200 {
		runtime.GC()
		if is() {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Errorf("%s: not after four seconds", what)
}
