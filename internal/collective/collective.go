// Package collective answers: how do the processes of one training, its ranks, exchange numbers?
//
// An Engine moves bytes between ranks: MPI, NCCL, or channels within one process. A Group builds on it what a training
// needs: broadcast, gather, barrier, and sums in a fixed order. Libraries do not promise the order in which an
// all-reduce adds; here it is a tree over the shards of a batch, whatever the number of ranks.
package collective

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"unsafe"
)

// Engine moves bytes between ranks. One goroutine uses it at a time.
type Engine interface {
	Name() string
	Rank() int
	Size() int
	// Exchange sends out[i] to rank i and fills in[i] with what rank i sends to this one. All ranks call it, in the
	// same order, with lengths that fit; what a rank sends to itself is copied. It returns early when ctx ends, and the
	// engine cannot be used any more after that.
	Exchange(ctx context.Context, out, in [][]byte) error
	// Start begins an exchange and does not wait: the buffers belong to the engine until Test says that it is over.
	// There is one at a time. Messages may move only while Test is called.
	Start(out, in [][]byte) error
	// Test looks after the exchange that was started and tells whether it is over. Finish waits for it, as Exchange
	// does.
	Test() (over bool, err error)
	Finish(ctx context.Context) error
	// Close leaves the group after the last exchange.
	Close() error
	// Abort ends without waiting for the others.
	Abort()
}

// Group is all ranks of a training, seen from one of them. One goroutine uses it at a time.
type Group struct {
	engine  Engine
	members []Member
	out, in [][]byte
	sums    [][]float32 // what a sum over all ranks receives and sends
	watch   *Watch
}

// Member is where a rank runs.
type Member struct {
	Host  string `json:"host"`
	Cores string `json:"cores,omitempty"` // that it may use, as the system lists them
	PID   int    `json:"pid"`
	GPU   string `json:"gpu,omitempty"` // identity of its GPU, once it has one
}

// New makes a group of an engine and tells all ranks where the others run.
func New(ctx context.Context, e Engine) (*Group, error) {
	n := e.Size()
	g := &Group{engine: e, out: make([][]byte, n), in: make([][]byte, n)}
	err := g.AllGatherJSON(ctx, self(), &g.members)
	return g, err
}

// Engine is what moves the bytes.
func (g *Group) Engine() Engine { return g.engine }

// Rank is this process's number, from 0. Rank 0 writes files.
func (g *Group) Rank() int { return g.engine.Rank() }

// Size is the number of ranks.
func (g *Group) Size() int { return g.engine.Size() }

// Members are the places of all ranks.
func (g *Group) Members() []Member { return g.members }

// Hosts are the hosts of all ranks, in their order.
func (g *Group) Hosts() []string {
	list := make([]string, len(g.members))
	for i, m := range g.members {
		list[i] = m.Host
	}
	return list
}

// Local is the number of this rank among those of its host, and how many these are.
func (g *Group) Local() (rank, size int) {
	own := g.members[g.Rank()]
	for i, m := range g.members {
		if m.Host != own.Host {
			continue
		}
		if i < g.Rank() {
			rank++
		}
		size++
	}
	return rank, size
}

// Sharing is the number of ranks that may use the same cores as this one, itself included.
func (g *Group) Sharing() int {
	own, n := g.members[g.Rank()], 0
	for _, m := range g.members {
		if m.Host == own.Host && m.Cores == own.Cores {
			n++
		}
	}
	return n
}

// Barrier returns when all ranks have called it.
func (g *Group) Barrier(ctx context.Context) error {
	one := []byte{1}
	for i := range g.out {
		g.out[i], g.in[i] = one, make([]byte, 1)
	}
	return g.exchange(ctx)
}

// Broadcast gives every rank what the root has. The result of the root is its own data.
func (g *Group) Broadcast(ctx context.Context, root int, data []byte) ([]byte, error) {
	if root < 0 || root >= g.Size() {
		return nil, fmt.Errorf("broadcast from rank %d, must be 0 to %d", root, g.Size()-1)
	}
	var length [8]byte
	binary.LittleEndian.PutUint64(length[:], uint64(len(data)))
	send := func(b []byte, n int) ([]byte, error) {
		g.clear()
		if g.Rank() == root {
			for i := range g.out {
				if i != root {
					g.out[i] = b
				}
			}
			return b, g.exchange(ctx)
		}
		got := make([]byte, n)
		g.in[root] = got
		return got, g.exchange(ctx)
	}
	got, err := send(length[:], len(length))
	if err != nil {
		return nil, err
	}
	return send(data, int(binary.LittleEndian.Uint64(got)))
}

// Gather brings what each rank has, of any length, to the root; others get nil.
func (g *Group) Gather(ctx context.Context, root int, data []byte) ([][]byte, error) {
	if root < 0 || root >= g.Size() {
		return nil, fmt.Errorf("gather at rank %d, must be 0 to %d", root, g.Size()-1)
	}
	return g.gather(ctx, data, func(rank int) bool { return rank == root })
}

// AllGather brings what each rank has, of any length, to all.
func (g *Group) AllGather(ctx context.Context, data []byte) ([][]byte, error) {
	return g.gather(ctx, data, func(int) bool { return true })
}

func (g *Group) gather(ctx context.Context, data []byte, to func(rank int) bool) ([][]byte, error) {
	var length [8]byte
	binary.LittleEndian.PutUint64(length[:], uint64(len(data)))
	lengths := make([][]byte, g.Size())
	g.clear()
	for i := range g.out {
		lengths[i] = make([]byte, len(length))
		g.out[i], g.in[i] = length[:], lengths[i]
	}
	if err := g.exchange(ctx); err != nil {
		return nil, err
	}
	g.clear()
	var got [][]byte
	if to(g.Rank()) {
		got = make([][]byte, g.Size())
		for i := range got {
			got[i] = make([]byte, binary.LittleEndian.Uint64(lengths[i]))
			g.in[i] = got[i]
		}
	}
	for i := range g.out {
		if to(i) {
			g.out[i] = data
		}
	}
	return got, g.exchange(ctx)
}

// AllGatherFixed brings what each rank has to all, where all know the lengths: into[i] is filled by rank i.
func (g *Group) AllGatherFixed(ctx context.Context, data []byte, into [][]byte) error {
	for i := range g.out {
		g.out[i], g.in[i] = data, into[i]
	}
	return g.exchange(ctx)
}

func (g *Group) clear() {
	clear(g.out)
	clear(g.in)
}

// exchange moves g.out and g.in. When another rank is the reason that it fails, the error says which.
func (g *Group) exchange(ctx context.Context) error {
	return because(ctx, g.engine.Exchange(ctx, g.out, g.in))
}

// because tells which other rank is the reason for an error, if one is.
func because(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	var lost *LostError
	if cause := context.Cause(ctx); errors.As(cause, &lost) {
		return lost
	}
	return err
}

// Close leaves the group after the last exchange.
func (g *Group) Close() error {
	if g.watch != nil {
		g.watch.done()
	}
	return g.engine.Close()
}

// Abort leaves the group because of an error, of which the others are told.
func (g *Group) Abort(cause error) {
	if g.watch != nil {
		g.watch.failed(cause)
	}
	g.engine.Abort()
}

// Bytes is the memory of numbers. All ranks have the same order of bytes: the program is built for one kind of machine
// at a time, and all of these are little-endian.
func Bytes(x []float32) []byte {
	if len(x) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(&x[0])), 4*len(x))
}
