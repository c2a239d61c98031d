package collective

import (
	"context"
	"fmt"
)

// Local makes the engines of a group whose ranks are goroutines of this process. With one rank it is the engine of a
// training that has nobody to talk to.
func Local(size int) []Engine {
	links := make([][]chan []byte, size) // [from][to]
	for i := range links {
		links[i] = make([]chan []byte, size)
		for j := range links[i] {
			links[i][j] = make(chan []byte, 1)
		}
	}
	list := make([]Engine, size)
	for i := range list {
		list[i] = &local{rank: i, links: links}
	}
	return list
}

type local struct {
	rank  int
	links [][]chan []byte

	out, in [][]byte // of the exchange under way; nil: moved
}

func (l *local) Name() string { return "one process" }
func (l *local) Rank() int    { return l.rank }
func (l *local) Size() int    { return len(l.links) }
func (l *local) Close() error { return nil }
func (l *local) Abort()       {}

func (l *local) Exchange(ctx context.Context, out, in [][]byte) error {
	if err := l.Start(out, in); err != nil {
		return err
	}
	return l.Finish(ctx)
}

func (l *local) Start(out, in [][]byte) error {
	l.out, l.in = append(l.out[:0], out...), append(l.in[:0], in...)
	copy(l.in[l.rank], l.out[l.rank])
	l.out[l.rank], l.in[l.rank] = nil, nil
	return nil
}

// Test moves what can be moved without waiting.
func (l *local) Test() (over bool, err error) {
	over = true
	for i, b := range l.out {
		if len(b) == 0 {
			continue
		}
		if len(l.links[l.rank][i]) > 0 { // only this rank puts something in
			over = false
			continue
		}
		l.links[l.rank][i] <- append([]byte(nil), b...)
		l.out[i] = nil
	}
	for i, b := range l.in {
		if len(b) == 0 {
			continue
		}
		select {
		case got := <-l.links[i][l.rank]:
			if err := l.take(i, got); err != nil {
				return false, err
			}
		default:
			over = false
		}
	}
	return over, nil
}

func (l *local) Finish(ctx context.Context) error {
	for i, b := range l.out {
		if len(b) == 0 {
			continue
		}
		select {
		case l.links[l.rank][i] <- append([]byte(nil), b...):
			l.out[i] = nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	for i, b := range l.in {
		if len(b) == 0 {
			continue
		}
		select {
		case got := <-l.links[i][l.rank]:
			if err := l.take(i, got); err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// take keeps what a rank sent.
func (l *local) take(from int, got []byte) error {
	if len(got) != len(l.in[from]) {
		return fmt.Errorf("rank %d sent %d bytes, want %d", from, len(got), len(l.in[from]))
	}
	copy(l.in[from], got)
	l.in[from] = nil
	return nil
}
