// Package await answers: is it done, or does nobody want it any more? It lets the end of a context be obeyed at once
// where a computation cannot be stopped in between.
package await

import (
	"context"
	"sync/atomic"
)

var abandoned atomic.Int64

// Do waits for a computation or for the end of ctx, whichever comes first. When ctx ends first, its error comes back at
// once and the computation goes on for nobody: it must only read what stays as it is, and change nothing that others
// use. A panic of the computation is the caller's.
func Do[T any](ctx context.Context, compute func() (T, error)) (T, error) {
	var value, none T
	if err := ctx.Err(); err != nil {
		return none, err
	}
	var err error
	var panicked any
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() { panicked = recover() }()
		value, err = compute()
	}()
	select {
	case <-done:
	case <-ctx.Done():
		abandoned.Add(1)
		go func() {
			<-done
			abandoned.Add(-1)
		}()
		return none, ctx.Err()
	}
	if panicked != nil {
		panic(panicked)
	}
	return value, err
}

// Abandoned says whether a computation that nobody waits for is still under way: memory that it may read must not be
// given back yet.
func Abandoned() bool { return abandoned.Load() > 0 }
