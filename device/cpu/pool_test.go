package cpu

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/dygmamba/dygmamba/device"
)

// countTask counts how often each chunk ran.
type countTask struct{ ran []atomic.Int32 }

func (c *countTask) run(chunk, _ int) { c.ran[chunk].Add(1) }

// Every chunk runs once, however many workers there are and however often tasks follow each other.
func TestPoolRunsEveryChunkOnce(t *testing.T) {
	for _, workers := range []int{1, 2, 3, 16} {
		var p pool
		p.start(workers)
		for round := range 300 {
			n := round % 70
			c := &countTask{make([]atomic.Int32, n)}
			p.parallel(n, c)
			for i := range c.ran {
				if got := c.ran[i].Load(); got != 1 {
					t.Fatalf("%d workers: chunk %d of %d ran %d times", workers, i, n, got)
				}
			}
			if round%100 == 50 {
				time.Sleep(2 * time.Millisecond) // let the workers fall asleep
			}
		}
		p.stop()
		p.stop()
	}
}

func TestAllocLimit(t *testing.T) {
	d := New(Options{Threads: 1, Limit: 4000})
	defer d.Close()
	b := d.Alloc(900)
	func() {
		defer func() {
			if e, ok := recover().(*device.OutOfMemory); !ok || e.Need != 404 || e.Free != 400 {
				t.Errorf("panic value %v, want out of memory with need 404, free 400", e)
			}
		}()
		d.Alloc(101)
	}()
	d.Free(b)
	d.Alloc(1000)
	if d.Used() != 4000 {
		t.Errorf("used %d bytes, want 4000", d.Used())
	}
}

func BenchmarkDispatch(b *testing.B) {
	d := New(Options{})
	defer d.Close()
	c := &countTask{make([]atomic.Int32, 2)}
	for b.Loop() {
		d.parallel(2, c)
	}
}
