package cpu

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// task is work cut into numbered chunks. What a chunk covers must follow from the task alone, never from the number of
// workers, and chunks must write to different memory: then results do not depend on the number of threads.
type task interface {
	run(chunk, worker int)
}

// pool hands the chunks of one task at a time to its workers. The caller is worker 0; workers 1 … n−1 are goroutines
// that spin for some microseconds after their last chunk, then sleep. Dispatch allocates nothing.
//
// Every worker starts with its own run of neighbouring chunks, in the same place for every task: what a kernel left in
// a core's cache, the next kernel finds there. A worker that is done takes chunks from the far end of the others' runs.
type pool struct {
	workers int
	spin    int // polls before a worker goes to sleep

	// task is written by the caller while left is 0 and read only by workers that hold a chunk.
	task  task
	queue []queue      // [workers]
	left  atomic.Int64 // chunks not finished yet

	closed atomic.Bool
	done   sync.WaitGroup
}

// queue is what one worker has to do, and how to wake it. It fills two cache lines, so that neighbours do not share
// one.
type queue struct {
	run    atomic.Uint64 // chunks nobody has taken yet: first<<32 | end
	asleep atomic.Bool
	wake   chan struct{} // one slot
	_      [104]byte
}

// patience is how often the caller polls for the last chunks, some milliseconds, before it takes it that a worker has
// lost its processor to another program and sleeps meanwhile.
const patience = 20_000 * pollsPerYield

// pollsPerYield is how often a spinning worker looks for work before it offers its processor to other goroutines.
const pollsPerYield = 64

func (p *pool) start(workers int) {
	p.workers = workers
	if workers <= runtime.GOMAXPROCS(0) {
		p.spin = 200 * pollsPerYield // some 30 µs
	}
	p.queue = make([]queue, workers)
	for w := 1; w < workers; w++ {
		p.queue[w].wake = make(chan struct{}, 1)
		p.done.Add(1)
		go p.work(w)
	}
}

// stop ends the workers and waits for them.
func (p *pool) stop() {
	if p.closed.Swap(true) {
		return
	}
	p.wake(p.workers)
	p.done.Wait()
}

// parallel runs t for the chunks 0 … n−1 and returns when all are done.
func (p *pool) parallel(n int, t task) {
	if n <= 1 || p.workers == 1 {
		for c := range n {
			t.run(c, 0)
		}
		return
	}
	p.task = t
	p.left.Store(int64(n))
	for w := range p.queue {
		first, end := w*n/p.workers, (w+1)*n/p.workers
		p.queue[w].run.Store(uint64(first)<<32 | uint64(end))
	}
	p.wake(min(n, p.workers))
	p.help(0)
	for i := 1; p.left.Load() > 0; i++ {
		switch {
		case i > patience:
			time.Sleep(20 * time.Microsecond)
		case i%pollsPerYield == 0:
			runtime.Gosched()
		}
	}
	p.task = nil
}

// help runs chunks until none is free, and reports whether it ran any.
func (p *pool) help(worker int) (ran bool) {
	for i := range p.workers {
		w := worker + i
		if w >= p.workers {
			w -= p.workers
		}
		for {
			chunk, ok := p.queue[w].take(i == 0)
			if !ok {
				break
			}
			p.task.run(chunk, worker)
			p.left.Add(-1)
			ran = true
		}
	}
	return ran
}

// take takes the first chunk, or the last.
func (q *queue) take(first bool) (chunk int, ok bool) {
	for {
		r := q.run.Load()
		lo, end := r>>32, r&(1<<32-1)
		switch {
		case lo >= end:
			return 0, false
		case first:
			if q.run.CompareAndSwap(r, r+1<<32) {
				return int(lo), true
			}
		default:
			if q.run.CompareAndSwap(r, r-1) {
				return int(end - 1), true
			}
		}
	}
}

// wake wakes those of the workers 1 … n−1 that sleep.
func (p *pool) wake(n int) {
	for w := 1; w < n; w++ {
		if q := &p.queue[w]; q.asleep.CompareAndSwap(true, false) {
			q.wake <- struct{}{}
		}
	}
}

func (p *pool) work(w int) {
	defer p.done.Done()
	q := &p.queue[w]
	for idle := 0; !p.closed.Load(); idle++ {
		if p.help(w) {
			idle = 0
		}
		if idle < p.spin/pollsPerYield {
			for i := 0; i < pollsPerYield && q.empty(); i++ {
			}
			runtime.Gosched()
			continue
		}
		q.asleep.Store(true)
		if (!q.empty() || p.closed.Load()) && q.asleep.CompareAndSwap(true, false) {
			continue
		}
		<-q.wake
		idle = 0
	}
}

func (q *queue) empty() bool {
	r := q.run.Load()
	return r>>32 >= r&(1<<32-1)
}
