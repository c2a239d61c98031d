package cpu

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// task is work cut into numbered chunks. What a chunk covers must follow from the task alone, never from the number of
// workers, and chunks must write to different memory: then results do not depend on the number of threads.
type task interface {
	run(chunk, worker int)
}

// pool hands the chunks of one task at a time to its workers. The caller is worker 0; workers 1 … n−1 are goroutines that
// spin for some microseconds after their last chunk, then sleep. Dispatch allocates nothing.
type pool struct {
	workers int
	spin    int // polls before a worker goes to sleep

	// task and total are written by the caller while left is 0 and read only by workers that hold a chunk.
	task  task
	total int64
	free  atomic.Int64 // chunks nobody has taken yet
	left  atomic.Int64 // chunks not finished yet

	asleep []atomic.Bool   // [workers]
	wake   []chan struct{} // [workers], one slot each
	closed atomic.Bool
	done   sync.WaitGroup
}

// pollsPerYield is how often a spinning worker looks for work before it offers its processor to other goroutines.
const pollsPerYield = 64

func (p *pool) start(workers int) {
	p.workers = workers
	if workers <= runtime.GOMAXPROCS(0) {
		p.spin = 200 * pollsPerYield // some 30 µs
	}
	p.asleep = make([]atomic.Bool, workers)
	p.wake = make([]chan struct{}, workers)
	for w := 1; w < workers; w++ {
		p.wake[w] = make(chan struct{}, 1)
		p.done.Add(1)
		go p.work(w)
	}
}

// stop ends the workers and waits for them.
func (p *pool) stop() {
	if p.closed.Swap(true) {
		return
	}
	p.rouse(p.workers)
	p.done.Wait()
}

// parallel runs t for the chunks 0 … n−1 and returns when all are done.
func (p *pool) parallel(n int, t task) {
	if n <= 0 {
		return
	}
	if n == 1 || p.workers == 1 {
		for c := range n {
			t.run(c, 0)
		}
		return
	}
	p.task, p.total = t, int64(n)
	p.left.Store(int64(n))
	p.free.Store(int64(n))
	p.rouse(min(n, p.workers))
	p.take(0)
	for i := 1; p.left.Load() > 0; i++ {
		if i%pollsPerYield == 0 {
			runtime.Gosched()
		}
	}
	p.task = nil
}

// take runs chunks until none is free.
func (p *pool) take(worker int) {
	for {
		f := p.free.Load()
		if f <= 0 {
			return
		}
		if p.free.CompareAndSwap(f, f-1) {
			p.task.run(int(p.total-f), worker)
			p.left.Add(-1)
		}
	}
}

// rouse wakes those of the workers 1 … n−1 that sleep.
func (p *pool) rouse(n int) {
	for w := 1; w < n; w++ {
		if p.asleep[w].CompareAndSwap(true, false) {
			p.wake[w] <- struct{}{}
		}
	}
}

func (p *pool) work(w int) {
	defer p.done.Done()
	for !p.closed.Load() {
		p.take(w)
		for i := 1; i <= p.spin && p.free.Load() <= 0; i++ {
			if i%pollsPerYield == 0 {
				runtime.Gosched()
			}
		}
		if p.free.Load() > 0 {
			continue
		}
		p.asleep[w].Store(true)
		if (p.free.Load() > 0 || p.closed.Load()) && p.asleep[w].CompareAndSwap(true, false) {
			continue
		}
		<-p.wake[w]
	}
}
