package serve

import (
	"context"
	"fmt"

	"github.com/dygmamba/dygmamba/event"
)

// rebuild makes the server one that never had the events that another selection leaves out. It builds another past and
// another generation of the model beside the old ones; then these take over between two batches of events. It returns
// how many events are known less.
func (s *Server) rebuild(ctx context.Context, change func(selection) (selection, error)) (int, error) {
	s.models.mu.Lock() // no reload meanwhile, and no other rebuild
	defer s.models.mu.Unlock()
	was := s.engine.now()
	which, err := change(was.epoch.selection)
	if err != nil {
		return 0, err
	}
	ep := newEpoch(s.engine.set, which, was.Last, was.at)
	ep.takeFrom(was, was.Known())
	current, previous, err := s.models.reopen(ctx, ep)
	if err != nil {
		return 0, err
	}
	taken := was.Len()
	take := func() {
		now := s.engine.now()
		ep.takeFrom(now, taken)
		taken = now.Len()
	}
	take() // most of what came meanwhile
	return s.takeOver(ep, current, previous, take), nil
}

// takeFrom adds those events that came in to another epoch, from a number on, that are selected. Their nodes get the
// numbers that they would have if nothing else had come.
func (ep *epoch) takeFrom(at *state, from int) {
	const step = 1 << 14
	all, known := at.Events(), at.Known()
	var events []event.Event
	var numbers []int // of them, among those that came in
	for i := from; i < all.Len(); i++ {
		sequence := at.places.sequence(i - known)
		if all.Time[i] < ep.cut || ep.gone != nil && ep.gone(sequence) {
			continue
		}
		e := all.At(i)
		e.Src, e.Dst = ep.renumber(at.epoch.names, e.Src, true), ep.renumber(at.epoch.names, e.Dst, false)
		ep.places = ep.places.add(ep.now().Len()-ep.now().Known()+len(events), sequence)
		events, numbers = append(events, e), append(numbers, i-known)
	}
	if len(events) > step { // few come at a time otherwise, and the room that doubles is enough
		src, dst := make([]event.Node, len(events)), make([]event.Node, len(events))
		for i, e := range events {
			src[i], dst[i] = e.Src, e.Dst
		}
		ep.past.Expect(src, dst)
	}
	rows, _ := at.FeatureRows()
	for lo := 0; lo < len(events); lo += step {
		hi := min(lo+step, len(events))
		var features [][]float32
		for _, n := range numbers[lo:hi] {
			if rows != nil {
				features = append(features, at.Features(n))
			}
		}
		if err := ep.past.Add(events[lo:hi], features); err != nil {
			panic(err) // the other past took them
		}
	}
	ep.advance(at.Last, at.at)
}

// renumber is the number of a node that has another one in the epoch before.
func (ep *epoch) renumber(before *names, n event.Node, source bool) event.Node {
	if int(n) <= before.known {
		return n
	}
	i := int(n) - before.known
	if i >= len(ep.renumbered) {
		more := max(i, before.count()-before.known) + 1 - len(ep.renumbered)
		ep.renumbered = append(ep.renumbered, make([]event.Node, more)...)
	}
	if ep.renumbered[i] == 0 {
		ep.renumbered[i] = ep.names.add(before.Name(n), source)
	}
	return ep.renumbered[i]
}

// takeOver lets an epoch and its models take over, between two batches of events and two snapshots. It returns how many
// events are known less.
func (s *Server) takeOver(ep *epoch, current, previous *generation, take func()) int {
	s.snapshotter.mu.Lock()
	s.engine.mu.Lock()
	take()
	fewer := s.engine.now().Len() - ep.now().Len()
	s.engine.epoch.Store(ep)
	s.engine.keepIDs()
	old := s.models.current.Swap(current)
	s.engine.mu.Unlock()
	s.snapshotter.mu.Unlock()
	s.models.shut(old)
	s.models.shut(s.models.previous)
	s.models.previous = previous
	return fewer
}

// reopen opens the current and the previous model for another epoch. The latter may be nil. It is called with mu held.
func (m *modelSlots) reopen(ctx context.Context, ep *epoch) (current, previous *generation, err error) {
	again := func(old *generation) (*generation, error) {
		g, err := m.load(ctx, ep, old.Checkpoint, old.Learned, nil)
		if err != nil {
			return nil, fmt.Errorf("open %s again: %w", old.Checkpoint, err)
		}
		if g.Hash != old.Hash {
			m.server.log.Warn("the checkpoint has changed since it was loaded: the new one takes over",
				"checkpoint", g.Checkpoint)
		}
		m.count--
		g.Number, g.Since = old.Number, old.Since
		return g, nil
	}
	if current, err = again(m.current.Load()); err != nil || m.previous == nil {
		return current, nil, err
	}
	if previous, err = again(m.previous); err != nil {
		m.server.log.Warn("the previous model cannot be gone back to any more: " + err.Error())
	}
	return current, previous, nil
}
