package eventlogtest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/dygmamba/dygmamba/eventlog"
)

func remove(t testing.TB, l eventlog.Log, note string, sequences ...uint64) uint64 {
	t.Helper()
	number, err := l.Remove(context.Background(), eventlog.Removal{Sequences: sequences, Note: note})
	if err != nil {
		t.Fatal(err)
	}
	return number
}

// Removed returns the removals of a log after a number.
func Removed(t testing.TB, l eventlog.Log, after uint64) (list []eventlog.Removal) {
	t.Helper()
	last := l.Removals()
	if last <= after {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	done := errors.New("done")
	err := l.FollowRemovals(ctx, after, func(r eventlog.Removal) error {
		if list = append(list, r); r.Number == last {
			return done
		}
		return nil
	})
	if err != done {
		t.Fatalf("following removals ended with %v after %d, want %d", err, len(list), last)
	}
	return list
}

// erasedOf are the sequences of erased events; every one of these must have lost its content.
func erasedOf(t testing.TB, batches []eventlog.Batch) (list []uint64) {
	t.Helper()
	for _, b := range batches {
		for i, e := range b.Events {
			if !e.Erased {
				continue
			}
			list = append(list, b.Last-uint64(len(b.Events)-1-i))
			if !reflect.DeepEqual(e, eventlog.Event{Erased: true}) {
				t.Errorf("of the erased event %d is left %+v", list[len(list)-1], e)
			}
		}
	}
	return list
}

// removes: what is removed keeps its sequence and loses all else, all at once or not at all, for ever.
func removes(t *testing.T, s Store) {
	l := s.Open(t)
	first := must(t, l, "k", Events("a", 3))
	must(t, l, "", Events("b", 2))
	events := Events("c", 4)
	events[0].ID, events[3].ID, events[3].Features = "i d\x00\n", "j", []float32{1}
	must(t, l, "c", events)
	if l.Removals() != 0 {
		t.Errorf("a new log has %d removals", l.Removals())
	}
	for _, bad := range [][]uint64{{10}, {1, 10}, {0}, {2, 2}, {3, 2}} {
		_, err := l.Remove(context.Background(), eventlog.Removal{Sequences: bad})
		if !errors.Is(err, eventlog.ErrUnknown) {
			t.Errorf("removing %v gave %v, want ErrUnknown", bad, err)
		}
	}
	if left := erasedOf(t, Read(t, l, 0)); left != nil || l.Removals() != 0 {
		t.Errorf("refused removals erased %v", left)
	}
	if n := remove(t, l, "first", 2, 4, 5, 9); n != 1 {
		t.Errorf("the first removal has number %d", n)
	}
	remove(t, l, "a note alone")
	check := func(when string, erased ...uint64) {
		t.Helper()
		all := Read(t, l, 0)
		if got := erasedOf(t, all); !slices.Equal(got, erased) {
			t.Errorf("%s, erased are %v, want %v", when, got, erased)
		}
		if len(all) != 3 || all[0].Key != "k" || all[2].Key != "c" || all[0].Events[0].Src != "a" ||
			all[0].Events[2].Dst != "d2" || all[2].Events[0].ID != "i d\x00\n" || all[2].Events[1].Src != "c" {
			t.Errorf("%s, the log has %+v", when, all)
		}
		want := eventlog.Receipt{Last: first.Last, Accepted: 3, Again: true}
		if r := must(t, l, "k", Events("z", 1)); r != want {
			t.Errorf("%s, the key of erased events gave %+v, want %+v", when, r, want)
		}
	}
	check("at once", 2, 4, 5, 9)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	l = s.Open(t)
	check("after reopening", 2, 4, 5, 9)
	if n := remove(t, l, "again", 2, 8); n != 3 { // one of them was erased before
		t.Errorf("the third removal has number %d", n)
	}
	check("after another", 2, 4, 5, 8, 9)
	list := []eventlog.Removal{{Number: 1, Last: 9, Sequences: []uint64{2, 4, 5, 9}, Note: "first"},
		{Number: 2, Last: 9, Sequences: []uint64{}, Note: "a note alone"},
		{Number: 3, Last: 9, Sequences: []uint64{2, 8}, Note: "again"}}
	for after := range uint64(3) {
		if got := Removed(t, l, after); !slices.EqualFunc(got, list[after:], sameRemoval) {
			t.Errorf("after removal %d come %+v, want %+v", after, got, list[after:])
		}
	}
	if r := must(t, l, "", Events("d", 2)); r.Last != 11 || len(Read(t, l, 9)) != 1 {
		t.Errorf("the log goes on with %+v", r)
	}
}

func sameRemoval(a, b eventlog.Removal) bool {
	return a.Number == b.Number && a.Last == b.Last && a.Note == b.Note && slices.Equal(a.Sequences, b.Sequences)
}

// removesAtOnce: appends, removals and followers at the same time. Who took an event before it was erased finds it in a
// removal.
func removesAtOnce(t *testing.T, s Store) {
	const writers, each = 4, 12
	l := s.Open(t)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var wg, followers sync.WaitGroup
	done := errors.New("done")
	seen := map[uint64]bool{} // erased, by the follower's own account
	var mu sync.Mutex
	note := func(list ...uint64) {
		mu.Lock()
		defer mu.Unlock()
		for _, n := range list {
			seen[n] = true
		}
	}
	followers.Go(func() {
		err := l.Follow(ctx, 0, func(b eventlog.Batch) error {
			note(erasedOf(t, []eventlog.Batch{b})...)
			if b.Last == 3*writers*each {
				return done
			}
			return nil
		})
		if err != done {
			t.Errorf("following ended with %v", err)
		}
	})
	followers.Go(func() {
		count := 0
		err := l.FollowRemovals(ctx, 0, func(r eventlog.Removal) error {
			note(r.Sequences...)
			if count++; count == writers*each {
				return done
			}
			return nil
		})
		if err != done {
			t.Errorf("following removals ended with %v after %d", err, count)
		}
	})
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				r := must(t, l, "", Events(fmt.Sprint(w, " ", i), 3))
				remove(t, l, "", r.Last-2, r.Last)
			}
		})
	}
	wg.Wait()
	followers.Wait()
	erased := erasedOf(t, Read(t, l, 0))
	if len(erased) != 2*writers*each || len(seen) != len(erased) || l.Removals() != writers*each {
		t.Errorf("%d events are erased, followers heard of %d, in %d removals", len(erased), len(seen), l.Removals())
	}
}

// removalsEnd: a follower of removals ends as one of events does.
func removalsEnd(t *testing.T, s Store) {
	l := s.Open(t)
	must(t, l, "", Events("x", 2))
	remove(t, l, "", 1)
	ended, began := make(chan error), make(chan struct{})
	go func() {
		ended <- l.FollowRemovals(context.Background(), 0, func(eventlog.Removal) error { close(began); return nil })
	}()
	<-began
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; !errors.Is(err, eventlog.ErrClosed) {
		t.Errorf("following removals ended with %v, want ErrClosed", err)
	}
	if _, err := l.Remove(context.Background(), eventlog.Removal{Sequences: []uint64{2}}); !errors.Is(err,
		eventlog.ErrClosed) {
		t.Errorf("removing from a closed log: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	l = s.Open(t)
	if _, err := l.Remove(ctx, eventlog.Removal{Sequences: []uint64{2}}); !errors.Is(err, context.Canceled) ||
		len(erasedOf(t, Read(t, l, 0))) != 1 {
		t.Errorf("a removal that was cancelled: %v", err)
	}
}
