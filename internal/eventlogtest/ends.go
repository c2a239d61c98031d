package eventlogtest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/dygmamba/dygmamba/eventlog"
)

func ends(t *testing.T, s Store) {
	l := s.Open(t)
	must(t, l, "", Events("x", 1))
	must(t, l, "", Events("x", 1))
	why := errors.New("enough")
	calls := 0
	err := l.Follow(context.Background(), 0, func(eventlog.Batch) error { calls++; return why })
	if err != why || calls != 1 {
		t.Errorf("following ended with %v after %d calls, want %v after 1", err, calls, why)
	}
	ctx, cancel := context.WithCancel(context.Background())
	err = l.Follow(ctx, 0, func(b eventlog.Batch) error {
		if b.Last == 2 {
			cancel()
		}
		return nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("following ended with %v, want %v", err, context.Canceled)
	}
}

// A request that is gone before it was taken takes nothing, and what was taken is durable.
func cancelled(t *testing.T, s Store) {
	l := s.Open(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if r, err := l.Append(ctx, "", Events("x", 1)); !errors.Is(err, context.Canceled) || l.Last() != 0 {
		t.Errorf("%+v, %v, the log ends with %d", r, err, l.Last())
	}
}

func closed(t *testing.T, s Store) {
	l := s.Open(t)
	must(t, l, "", Events("x", 1))
	ended := make(chan error)
	began := make(chan struct{})
	var once sync.Once
	go func() {
		ended <- l.Follow(context.Background(), 0, func(eventlog.Batch) error {
			once.Do(func() { close(began) })
			return nil
		})
	}()
	<-began
	var wg sync.WaitGroup
	for i := range 8 { // some are taken, some are refused, none hangs
		wg.Go(func() {
			for {
				if _, err := l.Append(context.Background(), "", Events(fmt.Sprint(i), 1)); err != nil {
					if !errors.Is(err, eventlog.ErrClosed) {
						t.Errorf("append ended with %v", err)
					}
					return
				}
			}
		})
	}
	time.Sleep(5 * time.Millisecond)
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	wg.Wait()
	if err := l.Close(); err != nil {
		t.Errorf("closing a second time: %v", err)
	}
	if err := <-ended; !errors.Is(err, eventlog.ErrClosed) {
		t.Errorf("following ended with %v, want ErrClosed", err)
	}
	err := l.Follow(context.Background(), 0, func(eventlog.Batch) error { return nil })
	if !errors.Is(err, eventlog.ErrClosed) {
		t.Errorf("following a closed log: %v", err)
	}
}

func reopened(t *testing.T, s Store) {
	want := uint64(0)
	for round := range 4 {
		l := s.Open(t)
		if l.Last() != want {
			t.Errorf("round %d: the log ends with %d, want %d", round, l.Last(), want)
		}
		if all := Read(t, l, 0); len(all) != round {
			t.Errorf("round %d: %d batches", round, len(all))
		}
		want += uint64(round + 1)
		if r := must(t, l, fmt.Sprint(round), Events("x", round+1)); r.Last != want || r.Again {
			t.Errorf("round %d: %+v, want %d", round, r, want)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
}

// What was appended may be overwritten by its owner, and what was handed out by its taker.
func callers(t *testing.T, s Store) {
	l := s.Open(t)
	events := []eventlog.Event{{Src: "a", Features: []float32{1}}}
	must(t, l, "", events)
	events[0].Src, events[0].Features[0] = "b", 2
	got := Read(t, l, 0)[0].Events[0]
	if got.Src != "a" || got.Features[0] != 1 {
		t.Errorf("the log has %v after its owner changed it", got)
	}
}

func nested(t *testing.T, s Store) {
	l := s.Open(t)
	must(t, l, "", Events("x", 1))
	done := errors.New("done")
	err := l.Follow(context.Background(), 0, func(b eventlog.Batch) error {
		if b.Last == 5 {
			return done
		}
		_, err := l.Append(context.Background(), "", Events("x", 1))
		return err
	})
	if err != done {
		t.Error(err)
	}
}
