package serve

import (
	"math"
	"runtime"
	"runtime/debug"
	samples "runtime/metrics"
	"sync"
	"time"

	"github.com/dygmamba/dygmamba/internal/memory"
)

// room says whether there is room for more events: below the maximum number of events, and in memory.
type room struct {
	server *Server
	look   func() usage

	mu   sync.Mutex // guards what follows
	at   time.Time  // of the last look
	used usage
	full bool // what was last written to the log of messages
}

// usage is the memory of the process in bytes.
type usage struct {
	live  int64 // of objects that the last garbage collection found in use
	limit int64 // that the process should not exceed; 0: none is known
	free  int64 // that the machine and the control groups leave; 0: not known
}

const (
	// Columns grow by copying, and a snapshot, a later cut or another model needs room beside what is there.
	maxLive  = 0.7
	maxMoved = 0.47 // with which a later cut may still be prepared: for a moment it needs as much again
	minFree  = 32 << 20
	lookTime = 500 * time.Millisecond // between two looks
)

func newRoom(s *Server) *room { return &room{server: s, look: lookAtMemory} }

func lookAtMemory() usage {
	sample := []samples.Sample{{Name: "/gc/heap/live:bytes"}}
	samples.Read(sample)
	u := usage{limit: debug.SetMemoryLimit(-1), free: memory.Available()}
	if sample[0].Value.Kind() == samples.KindUint64 {
		u.live = int64(sample[0].Value.Uint64())
	}
	if u.limit == math.MaxInt64 {
		u.limit = 0
	}
	return u
}

// usage is what was found at the last look, which is not long ago.
func (r *room) usage() usage {
	r.mu.Lock()
	defer r.mu.Unlock()
	if time.Since(r.at) > lookTime {
		r.used, r.at = r.look(), time.Now()
	}
	return r.used
}

// refuse says why there is no room for more events, nil if there is.
func (r *room) refuse(events int) error {
	known, most := r.server.engine.now().Len(), r.server.limits().Events
	if most > 0 && known+events > most {
		return fail("events_full", "%d events are known, and %d more would be above the maximum of %d (--max-events); "+
			"--retain drops old ones", known, events, most)
	}
	u := r.usage()
	err := u.full(r.server.retainer.resting())
	r.tell(err)
	return err
}

// full says why no more memory should be used, nil if it may. A server that drops old events and does not do so just
// now must have room for as much again: it prepares a later cut beside what is there.
func (u usage) full(twice bool) error {
	switch {
	case u.limit > 0 && twice && float64(u.live) > maxLive/2*float64(u.limit):
		return fail("memory_full", "%d MiB of memory are in use, more than 35 %% of the limit of %d MiB, and dropping "+
			"old events needs as much again; want a shorter --retain, or more memory", u.live>>20, u.limit>>20)
	case u.limit > 0 && float64(u.live) > maxLive*float64(u.limit):
		return fail("memory_full", "%d MiB of memory are in use, more than 70 %% of the limit of %d MiB; --retain "+
			"drops old events", u.live>>20, u.limit>>20)
	case u.free > 0 && u.free < minFree:
		return fail("memory_full", "%d MiB of memory are free, want at least %d MiB", u.free>>20, minFree>>20)
	}
	return nil
}

// refusal is the live memory above which events are refused between two moves of the cut.
func (r *room) refusal() float64 {
	if r.server.retainer.Period > 0 {
		return maxLive / 2 * float64(r.usage().limit)
	}
	return maxLive * float64(r.usage().limit)
}

// collected is the usage right after a garbage collection, which what was dropped does not count in.
func (r *room) collected() usage {
	runtime.GC()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.used, r.at = r.look(), time.Now()
	return r.used
}

// tell writes a line when memory is full, and when it is not any more.
func (r *room) tell(err error) {
	r.mu.Lock()
	was := r.full
	r.full = err != nil
	r.mu.Unlock()
	switch {
	case err != nil && !was:
		r.server.log.Error("events are refused: " + err.Error())
	case err == nil && was:
		r.server.log.Info("events are taken again: there is memory")
	}
}
