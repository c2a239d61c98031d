package predict

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/tensor"
)

// mark is what a model remembered of the first events, so that a query about an earlier time need not begin again.
type mark struct {
	events int
	latest event.Time
	state  []tensor.Named
}

// maxMarks is the number of marks that a past gets at most.
const maxMarks = 16

// KeepMarks lets a model that remembers keep what it knew after some of the events, within a number of bytes. Queries
// about earlier times then go on from there.
func (p *Predictor) KeepMarks(bytes int) {
	if s := p.stream; s != nil && s.log != nil {
		size := s.pass.BatchSize
		units := (s.log.Len()/size + maxMarks) / maxMarks
		s.stride, s.budget = units*size, bytes
	}
}

// mark makes a mark where one is due.
func (s *stream) mark() error {
	at, found := slices.BinarySearchFunc(s.marks, s.seen, func(m mark, n int) int { return cmp.Compare(m.events, n) })
	if s.stride == 0 || s.seen%s.stride != 0 || found {
		return nil
	}
	state, err := s.memory.Snapshot()
	if err != nil {
		return err
	}
	used := 0
	for _, t := range state {
		used += 4*len(t.Data) + len(t.Bytes)
	}
	if (len(s.marks)+1)*used > s.budget {
		return nil
	}
	s.marks = slices.Insert(s.marks, at, mark{s.seen, s.latest, state})
	return nil
}

// goBack makes the model remember at most the first n events: as of the last mark before, or nothing.
func (s *stream) goBack(n int) error {
	from := mark{latest: math.Inf(-1)}
	for _, m := range s.marks {
		if m.events <= n {
			from = m
		}
	}
	if err := s.memory.Restore(from.state); err != nil {
		return err
	}
	s.seen, s.latest = from.events, from.latest
	return nil
}

// Behind is how many events a model that remembers must learn of before it can answer queries at these times, the
// earliest of them first. Back says that it must go back for that.
func (p *Predictor) Behind(first, last event.Time) (events int, back bool) {
	s := p.stream
	if s == nil || s.log == nil {
		return 0, false
	}
	least, most := s.unitsBefore(first), s.unitsBefore(last)
	if s.mine && s.seen >= 0 && s.seen <= least {
		return most - s.seen, false
	}
	from := 0
	for _, m := range s.marks {
		if m.events <= least {
			from = m.events
		}
	}
	return most - from, true
}

// Replay lets a model that remembers learn of at most this many units of what a query at a time may know. It goes back
// if it must. It says how many events are left.
func (p *Predictor) Replay(ctx context.Context, at event.Time, units int) (left int, err error) {
	s := p.stream
	if s == nil {
		return 0, nil
	}
	want := s.unitsBefore(at)
	next := units * s.pass.BatchSize
	if s.mine && s.seen >= 0 && s.seen <= want {
		next += s.seen - s.seen%s.pass.BatchSize
	} else if err := s.take(); err != nil {
		return 0, err
	} else if s.seen > want {
		for _, m := range s.marks {
			if m.events <= want {
				next = m.events + units*s.pass.BatchSize
			}
		}
	}
	if err := s.reach(ctx, min(next, want)); err != nil {
		return 0, fmt.Errorf("replay: %w", err)
	}
	return want - s.seen, nil
}
