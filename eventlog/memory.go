package eventlog

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"sync"
)

// Memory is an event log without a disk: its events are lost when the process ends. An event takes 96 bytes plus its
// names and features, until Forget releases it.
type Memory struct {
	mu      sync.Mutex // guards all below; never taken while tail's is held
	batches []Batch
	forgot  uint64 // events up to this sequence are not there any more
	keys    *Receipts
	tail    Tail

	removals []Removal
	removed  Tail // of these
}

// NewMemory returns an empty log.
func NewMemory() *Memory { return &Memory{keys: NewReceipts(KeptKeys)} }

// Append keeps a copy of the events. Names are kept as they are: they may be parts of a longer text.
func (m *Memory) Append(ctx context.Context, key string, events []Event) (Receipt, error) {
	if err := ctx.Err(); err != nil {
		return Receipt{}, err
	}
	batch := Batch{Key: key, Events: slices.Clone(events)}
	if _, _, err := measure(batch); err != nil {
		return Receipt{}, err
	}
	for i := range batch.Events {
		batch.Events[i].Features = slices.Clone(batch.Events[i].Features)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.tail.Err(); err != nil {
		return Receipt{}, err
	}
	if r, ok := m.keys.Find(key); ok {
		return r, nil
	}
	r := Receipt{Last: m.tail.Last() + uint64(len(events)), Accepted: len(events)}
	if len(events) == 0 {
		return r, nil
	}
	batch.Last = r.Last
	m.batches = append(m.batches, batch)
	m.keys.Add(key, r)
	m.tail.Advance(r.Last)
	return r, nil
}

// Follow is as the contract says. It fails with ErrForgotten if an event after that sequence was forgotten.
func (m *Memory) Follow(ctx context.Context, after uint64, take func(Batch) error) error {
	return m.tail.Follow(ctx, after, m.read, take)
}

// read returns at most a few batches at a time: Forget clears the log's own list.
func (m *Memory) read(after, _ uint64) ([]Batch, error) {
	const most = 64
	m.mu.Lock()
	defer m.mu.Unlock()
	if after < m.forgot {
		return nil, fmt.Errorf("%w: it begins after sequence %d, want events after %d", ErrForgotten, m.forgot, after)
	}
	rest := m.batches[m.upTo(after):]
	return slices.Clone(rest[:min(most, len(rest))]), nil
}

// upTo is the number of batches that end at a sequence or before it.
func (m *Memory) upTo(sequence uint64) int {
	return sort.Search(len(m.batches), func(i int) bool { return m.batches[i].Last > sequence })
}

// Forget releases the batches that end at a sequence or before it. Sequences go on, and keys are still recognised. The
// only follower of a log calls it for the events that it has taken, so that they are not in memory twice.
func (m *Memory) Forget(sequence uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := m.upTo(sequence)
	if n == 0 {
		return
	}
	m.forgot = m.batches[n-1].Last
	clear(m.batches[:n])
	m.batches = m.batches[n:] // append moves what is left to a new place when this one is full
}

// Remove is as the contract says. Batches that were handed out stay as they are.
func (m *Memory) Remove(ctx context.Context, r Removal) (uint64, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	r.Sequences = slices.Clone(r.Sequences)
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.tail.Err(); err != nil {
		return 0, err
	}
	r.Number, r.Last = m.removed.Last()+1, m.tail.Last()
	if err := r.CheckSequences(0, r.Last); err != nil {
		return 0, err
	}
	if len(r.Sequences) > 0 {
		for i := m.upTo(r.Sequences[0] - 1); i < len(m.batches); i++ {
			m.batches[i].Erase(r.Sequences)
		}
	}
	m.removals = append(m.removals, r)
	m.removed.Advance(r.Number)
	return r.Number, nil
}

// FollowRemovals is as the contract says.
func (m *Memory) FollowRemovals(ctx context.Context, after uint64, take func(Removal) error) error {
	return m.removed.FollowRemovals(ctx, after, func(after, last uint64) ([]Removal, error) {
		m.mu.Lock()
		defer m.mu.Unlock()
		return slices.Clone(m.removals[after:last]), nil
	}, take)
}

// Removals is as the contract says.
func (m *Memory) Removals() uint64 { return m.removed.Last() }

// Last is as the contract says.
func (m *Memory) Last() uint64 { return m.tail.Last() }

// Close ends all followers.
func (m *Memory) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.tail.End(ErrClosed)
	m.removed.End(ErrClosed)
	return nil
}
