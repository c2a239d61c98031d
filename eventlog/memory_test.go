package eventlog_test

import (
	"errors"
	"fmt"
	"runtime"
	"testing"

	"github.com/dygmamba/dygmamba/eventlog"
	"github.com/dygmamba/dygmamba/internal/eventlogtest"
)

type memoryStore struct{ log *eventlog.Memory }

func (s *memoryStore) Open(*testing.T) eventlog.Log {
	s.log = s.log.Reopen()
	return s.log
}

func TestMemory(t *testing.T) {
	eventlogtest.Run(t, func(*testing.T) eventlogtest.Store { return &memoryStore{eventlog.NewMemory()} })
}

// Forgotten batches are gone, and followers that need them are told so. Everything else goes on.
func TestMemoryForgets(t *testing.T) {
	l := eventlog.NewMemory()
	for i := range 5 {
		if _, err := l.Append(t.Context(), fmt.Sprint(i), eventlogtest.Events("x", 2)); err != nil {
			t.Fatal(err)
		}
	}
	l.Forget(0)
	if got := eventlogtest.Read(t, l, 0); len(got) != 5 {
		t.Errorf("%d batches, want all 5", len(got))
	}
	l.Forget(5) // the third batch ends with 6
	for _, after := range []uint64{0, 3} {
		err := l.Follow(t.Context(), after, func(eventlog.Batch) error { return errors.New("taken") })
		if !errors.Is(err, eventlog.ErrForgotten) {
			t.Errorf("after %d: %v, want %v", after, err, eventlog.ErrForgotten)
		}
	}
	if got := eventlogtest.Read(t, l, 4); len(got) != 3 || got[0].Last != 6 || got[0].Key != "2" {
		t.Errorf("after 4: %+v", got)
	}
	l.Forget(10)
	again := l.Reopen()
	r, err := again.Append(t.Context(), "1", nil)
	if err != nil || r != (eventlog.Receipt{Last: 4, Accepted: 2, Again: true}) {
		t.Errorf("a key of a forgotten batch: %+v, %v", r, err)
	}
	r, err = again.Append(t.Context(), "new", eventlogtest.Events("y", 1))
	if err != nil || r.Last != 11 || len(eventlogtest.Read(t, again, 10)) != 1 {
		t.Errorf("the next batch: %+v, %v", r, err)
	}
}

// A log that forgets as it goes keeps no more than it holds.
func TestMemoryIsBounded(t *testing.T) {
	l, events := eventlog.NewMemory(), eventlogtest.Events("x", 1000)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for range 1000 { // 72 MB without Forget
		r, err := l.Append(t.Context(), "", events)
		if err != nil {
			t.Fatal(err)
		}
		l.Forget(r.Last)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 4<<20 {
		t.Errorf("%d bytes are held", grown)
	}
	runtime.KeepAlive(l)
}
