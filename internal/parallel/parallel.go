// Package parallel answers: how is work on many things shared among processors, with the same result for any number of
// them?
package parallel

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// Each does the task for every number below n, on as many goroutines as Go may use. Which goroutine takes which is left
// to chance, so tasks write to places of their own. A panic of a task is one of the caller.
func Each(n int, task func(i int)) {
	workers := min(runtime.GOMAXPROCS(0), n)
	if workers <= 1 {
		for i := range n {
			task(i)
		}
		return
	}
	var next atomic.Int64
	var running sync.WaitGroup
	var failed atomic.Pointer[any]
	for range workers {
		running.Add(1)
		go func() {
			defer running.Done()
			defer func() {
				if p := recover(); p != nil {
					failed.CompareAndSwap(nil, &p)
					next.Store(int64(n)) // nobody begins another
				}
			}()
			for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
				task(int(i))
			}
		}()
	}
	running.Wait()
	if p := failed.Load(); p != nil {
		panic(*p)
	}
}

// Chunks is how many parts Ranges cuts n things into, each of about size of them.
func Chunks(n, size int) int { return (n + size - 1) / size }

// Ranges does the task for consecutive ranges lo to hi−1 of n things, each of size of them but for the last. Part
// counts the ranges from 0.
func Ranges(n, size int, task func(part, lo, hi int)) {
	Each(Chunks(n, size), func(part int) { task(part, part*size, min(n, (part+1)*size)) })
}
