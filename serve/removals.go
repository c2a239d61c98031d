package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/eventlog"
)

// remover removes events: from the log, for all servers that follow it; then, as every follower does that hears of it,
// from the past, from what models derive from that, and from the snapshot. Weights that were trained with them stay.
type remover struct {
	server *Server

	mu sync.Mutex // held from the look at what is known to the removal from the log

	queue   sync.Mutex // guards what follows
	waiting []eventlog.Removal
	wake    chan struct{}
	tail    eventlog.Tail // of removals that are carried out
}

func newRemover(s *Server) *remover { return &remover{server: s, wake: make(chan struct{}, 1)} }

// known are the removals that the log has by now.
func (m *remover) known(ctx context.Context) (list []eventlog.Removal, err error) {
	log := m.server.options.Log
	last := log.Removals()
	if last == 0 {
		return nil, nil
	}
	err = log.FollowRemovals(ctx, 0, func(r eventlog.Removal) error {
		if list = append(list, r); r.Number >= last {
			return errEnough
		}
		return nil
	})
	if !errors.Is(err, errEnough) {
		return nil, fmt.Errorf("read the removals of the event log: %w", err)
	}
	return list, nil
}

// selected is the selection that belongs to the removals of the log, without a cut.
func (m *remover) selected(ctx context.Context, which selection) (selection, error) {
	list, err := m.known(ctx)
	if err == nil {
		which, err = which.without(list, m.server.snapshotter.data)
	}
	which.gone = nil // the log has erased them
	m.tail.Advance(which.removals)
	return which, err
}

// follow hears of removals until ctx ends.
func (m *remover) follow(ctx context.Context) {
	for {
		err := m.server.options.Log.FollowRemovals(ctx, m.tail.Last(), func(r eventlog.Removal) error {
			m.queue.Lock()
			m.waiting = append(m.waiting, r)
			m.queue.Unlock()
			select {
			case m.wake <- struct{}{}:
			default:
			}
			return nil
		})
		if ctx.Err() != nil || !errors.Is(err, eventlog.ErrAway) {
			m.tail.End(fmt.Errorf("%w: the server stops", eventlog.ErrClosed))
			return
		}
		sleep(ctx, time.Second)
	}
}

// watch carries out removals until ctx ends, those that wait together.
func (m *remover) watch(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-m.wake:
		}
		m.queue.Lock()
		list := slices.Clone(m.waiting)
		m.queue.Unlock()
		list = slices.DeleteFunc(list, func(r eventlog.Removal) bool { return r.Number <= m.tail.Last() })
		for len(list) > 0 {
			err := m.carryOut(ctx, list)
			if err == nil || ctx.Err() != nil {
				break
			}
			m.server.log.Error("could not remove events: " + err.Error())
			sleep(ctx, 10*time.Second)
		}
		m.queue.Lock()
		m.waiting = slices.DeleteFunc(m.waiting, func(r eventlog.Removal) bool { return r.Number <= m.tail.Last() })
		m.queue.Unlock()
	}
}

// carryOut makes the server one that never had the events of removals.
func (m *remover) carryOut(ctx context.Context, list []eventlog.Removal) error {
	s, began := m.server, time.Now()
	end := list[len(list)-1]
	if err := s.engine.wait(ctx, end.Last); err != nil { // what is read after that is erased already
		return err
	}
	fewer, err := s.rebuild(ctx, func(which selection) (selection, error) {
		return which.without(list, s.snapshotter.data)
	})
	if err != nil {
		return err
	}
	s.surprises.clear()
	if s.snapshotter.File != "" {
		if err := s.snapshotter.write(); err != nil {
			return err
		}
	}
	s.log.Info("removed events", "events", fewer, "seconds", time.Since(began).Seconds())
	m.tail.Advance(end.Number)
	return nil
}

// remove erases events and nodes, and returns when nothing of them is left.
func (m *remover) remove(ctx context.Context, sequences []uint64, note removalNote) error {
	r := eventlog.Removal{Sequences: sequences}
	if len(note.Rows)+len(note.Nodes) > 0 {
		note.Base = m.server.snapshotter.data()
		raw, err := json.Marshal(note)
		if err != nil {
			return err
		}
		r.Note = string(raw)
	}
	number, err := m.server.options.Log.Remove(ctx, r)
	if err != nil {
		return err
	}
	_, err = m.tail.Wait(ctx, number-1)
	return err
}

// look returns the state that has all events of the log. Nothing is removed until release is called.
func (m *remover) look(ctx context.Context) (at *state, release func(), err error) {
	m.mu.Lock()
	err = m.server.engine.wait(ctx, m.server.options.Log.Last())
	if removals := m.server.options.Log.Removals(); err == nil && removals > 0 {
		_, err = m.tail.Wait(ctx, removals-1)
	}
	if err != nil {
		m.mu.Unlock()
		return nil, nil, err
	}
	return m.server.engine.now(), m.mu.Unlock, nil
}

// postRetractions removes events by id or by sequence.
func (s *Server) postRetractions(_ http.ResponseWriter, r *http.Request) (any, error) {
	var names []string
	var sequences []uint64
	fields := []string{"ids", "sequences"}
	if err := read(bodyOf(r).text, 0, func(sc *scanner) {
		present := sc.object(fields, func(field int) {
			sc.array(func(int) {
				if field == 0 {
					names = append(names, boundID(r, sc.string("the id of an event")))
				} else {
					sequences = append(sequences, uint64(sc.integer("a sequence", 1, 1<<53)))
				}
			})
		})
		if present != 1 && present != 2 {
			panic(bad("the document", "neither ids nor sequences, or both", `{"ids": [...]} or {"sequences": [...]}`))
		}
	}); err != nil {
		return nil, err
	}
	if len(names)+len(sequences) == 0 {
		return nil, bad("the document", "an empty list", "at least one event")
	}
	at, release, err := s.remover.look(r.Context())
	if err != nil {
		return nil, err
	}
	defer release()
	var unknown []string
	base := s.engine.baseRows(at, names)
	var note removalNote
	for _, id := range names {
		row, known := base[plainID(id)]
		if known {
			note.Rows = append(note.Rows, row)
		}
		if sequence, ok := s.engine.ids.find(id); ok {
			sequences = append(sequences, sequence)
		} else if !known {
			unknown = append(unknown, strconv.Quote(clip(plainID(id))))
		}
	}
	for _, sequence := range sequences {
		if _, ok := at.places.find(sequence, at.Len()-at.Known()); !ok {
			unknown = append(unknown, strconv.FormatUint(sequence, 10))
		}
	}
	if len(unknown) > 0 {
		const shown = 5
		list := strings.Join(unknown[:min(shown, len(unknown))], ", ")
		if n := len(unknown) - shown; n > 0 {
			list += fmt.Sprintf(" and %d more", n)
		}
		return nil, fail("not_found", "no events are known as %s; nothing was removed", list)
	}
	slices.Sort(sequences)
	sequences = slices.Compact(sequences)
	slices.Sort(note.Rows)
	note.Rows = slices.Compact(note.Rows)
	if err := s.remover.remove(r.Context(), sequences, note); err != nil {
		return nil, err
	}
	return struct {
		Retracted int `json:"retracted"`
	}{len(sequences) + len(note.Rows)}, nil
}

// baseRows are the events of the data set that have ids and are still known, by number. Their ids belong to no token:
// whoever may retract events may retract these.
func (e *engine) baseRows(at *state, ids []string) map[string]int {
	if e.set.IDs == nil || len(ids) == 0 {
		return nil
	}
	wanted := make(map[string]bool, len(ids))
	for _, id := range ids {
		wanted[plainID(id)] = true
	}
	found, all, keeps := map[string]int{}, e.set.Log.All(), at.epoch.keeps(e.set)
	for i := range all.Len() {
		if id := e.set.IDs.At(int(all.Edge(i))); id != "" && wanted[id] && keeps(i) {
			found[id] = i
		}
	}
	return found
}

// deleteNode erases a node: its events, its name and what was derived from them.
func (s *Server) deleteNode(_ http.ResponseWriter, r *http.Request) (any, error) {
	name, side := r.PathValue("id"), r.URL.Query().Get("side")
	if want := wrongID(name, s.engine.names().numbers(), s.limits().ID); want != "" {
		return nil, bad("the node", strconv.Quote(clip(name)), want)
	}
	if apart := s.engine.names().apart; side != "" && (side != "source" && side != "destination" || !apart) {
		want := "source or destination"
		if !apart {
			want = "no side: sources and destinations of this data set are the same nodes"
		}
		return nil, bad("side", strconv.Quote(clip(side)), want)
	}
	at, release, err := s.remover.look(r.Context())
	if err != nil {
		return nil, err
	}
	defer release()
	erase := map[event.Node]bool{}
	var note removalNote
	for _, source := range []bool{true, false} {
		if side != "" && (side == "source") != source {
			continue
		}
		if id, ok := at.epoch.names.find(name, source); ok && !erase[id] {
			if at.epoch.nodes[id] && at.Before(id, math.Inf(1)).Len() == 0 {
				continue // it was erased before
			}
			erase[id] = true
			if int(id) <= at.epoch.names.known {
				note.Nodes = append(note.Nodes, id)
			}
		}
	}
	if len(erase) == 0 {
		return nil, fail("not_found", "node %q is unknown", clip(name))
	}
	events, known := 0, at.Known()
	var sequences []uint64
	for all, i := at.Events(), 0; i < all.Len(); i++ {
		if !erase[all.Src[i]] && !erase[all.Dst[i]] {
			continue
		}
		if events++; i >= known {
			sequences = append(sequences, at.places.sequence(i-known))
		}
	}
	slices.Sort(sequences)
	if err := s.remover.remove(r.Context(), sequences, note); err != nil {
		return nil, err
	}
	return struct {
		Events int `json:"events"`
	}{events}, nil
}

// boundID is the id of an event as the log keeps it: ids of different tokens are different.
func boundID(r *http.Request, id string) string {
	if name, _ := r.Context().Value(tokenKey{}).(string); name != "" {
		return name + "\x00" + id
	}
	return id
}

// plainID is the id as it was sent.
func plainID(id string) string { return id[strings.IndexByte(id, 0)+1:] }
