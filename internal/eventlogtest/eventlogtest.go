// Package eventlogtest answers: does an engine keep what every event log promises?
package eventlogtest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dygmamba/dygmamba/eventlog"
)

// Store makes and opens one log again and again. Open fails the test if it cannot.
type Store interface {
	Open(t *testing.T) eventlog.Log
}

// Run holds an engine to its promises; fresh makes a new, empty store for each of them.
func Run(t *testing.T, fresh func(t *testing.T) Store) {
	for _, test := range []struct {
		name string
		run  func(*testing.T, Store)
	}{
		{"order", order}, {"from the middle", middle}, {"keys", keys}, {"keys with content", bound},
		{"bits", bits}, {"empty", empty},
		{"large", large}, {"too large", tooLarge}, {"concurrent", concurrent}, {"same key at once", sameKey},
		{"followers end", ends}, {"cancelled", cancelled}, {"closed", closed}, {"reopened", reopened},
		{"events are the caller's", callers}, {"append while following", nested},
		{"removals", removes}, {"removals at once", removesAtOnce}, {"removals end", removalsEnd},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, fresh(t)) })
	}
}

// Events are n events that tell where they belong.
func Events(from string, n int) []eventlog.Event {
	events := make([]eventlog.Event, n)
	for i := range events {
		events[i] = eventlog.Event{Src: from, Dst: fmt.Sprint("d", i), Time: float64(i)}
	}
	return events
}

// Read returns the batches of a log that end after a sequence, up to its last, and fails if their sequences have gaps.
func Read(t testing.TB, l eventlog.Log, after uint64) []eventlog.Batch {
	t.Helper()
	var all []eventlog.Batch
	last := l.Last()
	if last <= after {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	done := errors.New("done")
	err := l.Follow(ctx, after, func(b eventlog.Batch) error {
		if first := b.Last - uint64(len(b.Events)) + 1; len(all) == 0 && first > after+1 {
			t.Errorf("the first batch after %d begins with %d", after, first)
		} else if len(all) > 0 && first != all[len(all)-1].Last+1 {
			t.Errorf("batch %d begins with %d, the one before ended with %d", len(all), first, all[len(all)-1].Last)
		}
		if all = append(all, b); b.Last >= last {
			return done
		}
		return nil
	})
	if err != done {
		t.Fatalf("following ended with %v after %d batches, at %d of %d", err, len(all), after, last)
	}
	return all
}

func must(t testing.TB, l eventlog.Log, key string, events []eventlog.Event) eventlog.Receipt {
	t.Helper()
	r, err := l.Append(context.Background(), key, events)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func order(t *testing.T, s Store) {
	l := s.Open(t)
	want := uint64(0)
	if l.Last() != 0 {
		t.Errorf("an empty log ends with %d", l.Last())
	}
	for i := range 20 {
		want += uint64(i + 1)
		r := must(t, l, "", Events(fmt.Sprint(i), i+1))
		if r != (eventlog.Receipt{Last: want, Accepted: i + 1}) || l.Last() != want {
			t.Errorf("batch %d: %+v, the log ends with %d, want %d", i, r, l.Last(), want)
		}
	}
	for i, b := range Read(t, l, 0) {
		if len(b.Events) != i+1 || b.Events[i].Src != fmt.Sprint(i) || b.Events[i].Dst != fmt.Sprint("d", i) {
			t.Errorf("batch %d has %d events of %q", i, len(b.Events), b.Events[0].Src)
		}
	}
}

func middle(t *testing.T, s Store) {
	l := s.Open(t)
	for range 10 {
		must(t, l, "", Events("x", 3))
	}
	for after := range uint64(30) {
		if got := Read(t, l, after); got[0].Last != after/3*3+3 || len(got) != 10-int(after/3) {
			t.Errorf("after %d come %d batches, the first ends with %d", after, len(got), got[0].Last)
		}
	}
	for _, start := range []uint64{30, 31, 33, 34} { // nobody has to wait for what is not there yet
		ctx, cancel := context.WithCancel(context.Background())
		got := make(chan eventlog.Batch)
		ended := make(chan error)
		go func() {
			ended <- l.Follow(ctx, start, func(b eventlog.Batch) error { got <- b; return nil })
		}()
		for last := l.Last(); last <= start; last = l.Last() {
			must(t, l, "", Events("y", 3))
		}
		if b := <-got; b.Last <= start || b.Last-3 > start {
			t.Errorf("after %d came the batch that ends with %d", start, b.Last)
		}
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("following ended with %v, want %v", err, context.Canceled)
		}
	}
}

func keys(t *testing.T, s Store) {
	l := s.Open(t)
	first := must(t, l, "k", Events("a", 2))
	must(t, l, "", Events("b", 5))
	must(t, l, "other", Events("c", 1))
	want := eventlog.Receipt{Last: first.Last, Accepted: 2, Again: true}
	for range 3 {
		if r := must(t, l, "k", Events("z", 9)); r != want {
			t.Errorf("a key that was seen gave %+v, want %+v", r, want)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	l = s.Open(t)
	if r := must(t, l, "k", Events("z", 9)); r != want {
		t.Errorf("after reopening a key that was seen gave %+v, want %+v", r, want)
	}
	all := Read(t, l, 0)
	if len(all) != 3 || l.Last() != 8 || all[0].Key != "k" || all[1].Key != "" || all[2].Key != "other" {
		t.Errorf("the log has %d batches and ends with %d: %+v", len(all), l.Last(), all)
	}
}

// bound: a key that is bound to content is recognised with the same content, and with other content nothing is taken.
func bound(t *testing.T, s Store) {
	l := s.Open(t)
	one, two := eventlog.BindKey("k", "one"), eventlog.BindKey("k", "two")
	must(t, l, "old", Events("o", 1))
	first := must(t, l, one, Events("a", 2))
	again := eventlog.Receipt{Last: first.Last, Accepted: 2, Again: true}
	other := again
	other.Differs = true
	check := func(when string) {
		t.Helper()
		for _, c := range []struct {
			key  string
			want eventlog.Receipt
		}{
			{one, again}, {two, other}, {"k", again}, // content that nobody bound is not compared
			{eventlog.BindKey("old", "x"), eventlog.Receipt{Last: 1, Accepted: 1, Again: true}},
		} {
			if r := must(t, l, c.key, Events("z", 3)); r != c.want {
				t.Errorf("%s, %q gave %+v, want %+v", when, c.key, r, c.want)
			}
		}
	}
	check("at once")
	if r := must(t, l, eventlog.BindKey("l", "two"), Events("b", 1)); r != (eventlog.Receipt{Last: 4, Accepted: 1}) {
		t.Errorf("another key gave %+v", r)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	l = s.Open(t)
	check("after reopening")
	if all := Read(t, l, 0); len(all) != 3 || all[1].Key != one {
		t.Errorf("the log has %d batches: %+v", len(all), all)
	}
	got := atOnce(t, l, 8, func(i int) string { return eventlog.BindKey("c", fmt.Sprint(i)) }, Events("c", 1))
	taken := eventlog.Receipt{Last: 5, Accepted: 1}
	differs := eventlog.Receipt{Last: 5, Accepted: 1, Again: true, Differs: true}
	if got[taken] != 1 || got[differs] != 7 || l.Last() != 5 { // of one key with different content one is taken
		t.Errorf("receipts %v, the log ends with %d", got, l.Last())
	}
}

// atOnce appends batches at the same time and counts their receipts.
func atOnce(t *testing.T, l eventlog.Log, n int, key func(i int) string, events []eventlog.Event) (
	got map[eventlog.Receipt]int) {
	t.Helper()
	var mu sync.Mutex
	got = map[eventlog.Receipt]int{}
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			r, err := l.Append(context.Background(), key(i), events)
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			got[r]++
		})
	}
	wg.Wait()
	return got
}

func bits(t *testing.T, s Store) {
	l := s.Open(t)
	want := []eventlog.Event{
		{Src: "\x00 ä\n", Dst: "", Time: -1e300, Label: 0.1, Features: []float32{1.5, -0}},
		{Src: "", Dst: strings.Repeat("n", eventlog.MaxName), Features: []float32{}}, {},
	}
	must(t, l, "ключ\r\n\x00 k", want)
	if b := Read(t, l, 0)[0]; !reflect.DeepEqual(b.Events, want) || b.Key != "ключ\r\n\x00 k" {
		t.Errorf("%q %v came back, want %v", b.Key, b.Events, want)
	}
	if r := must(t, l, "ключ\r\n\x00 k", want); !r.Again {
		t.Error("a key with odd characters was not recognised")
	}
}

func empty(t *testing.T, s Store) {
	l := s.Open(t)
	for _, before := range []uint64{0, 2} {
		for range 2 {
			if r := must(t, l, "e", nil); r != (eventlog.Receipt{Last: before}) || l.Last() != before {
				t.Errorf("an empty batch gave %+v, the log ends with %d, want %d", r, l.Last(), before)
			}
		}
		if before == 0 {
			must(t, l, "k", Events("x", 2))
		}
	}
	if r := must(t, l, "k", nil); r != (eventlog.Receipt{Last: 2, Accepted: 2, Again: true}) {
		t.Errorf("an empty batch with a key that was seen gave %+v", r)
	}
	if got := Read(t, l, 0); len(got) != 1 {
		t.Errorf("the log has %d batches", len(got))
	}
}

func large(t *testing.T, s Store) {
	l := s.Open(t)
	must(t, l, "", Events("a", 1))
	r := must(t, l, "big", Events("large", 20_000))
	must(t, l, "", Events("b", 1))
	if got := Read(t, l, 1); r.Last != 20_001 || len(got) != 2 || len(got[0].Events) != 20_000 ||
		got[0].Events[19_999].Dst != "d19999" || got[1].Last != 20_002 {
		t.Errorf("%+v, %d batches", r, len(got))
	}
}

func tooLarge(t *testing.T, s Store) {
	l := s.Open(t)
	_, err := l.Append(context.Background(), "k", make([]eventlog.Event, eventlog.MaxEvents+1))
	if !errors.Is(err, eventlog.ErrTooLarge) {
		t.Errorf("%v, want ErrTooLarge", err)
	}
	if r := must(t, l, "k", Events("x", 1)); r != (eventlog.Receipt{Last: 1, Accepted: 1}) {
		t.Errorf("then %+v", r)
	}
}

func concurrent(t *testing.T, s Store) {
	const writers, each = 16, 20
	l := s.Open(t)
	var wg sync.WaitGroup
	for follower := range 3 {
		wg.Go(func() {
			done := errors.New("done")
			seen := uint64(0)
			err := l.Follow(context.Background(), 0, func(b eventlog.Batch) error {
				if b.Last != seen+uint64(len(b.Events)) {
					return fmt.Errorf("batch of %d ends with %d after %d", len(b.Events), b.Last, seen)
				}
				if seen = b.Last; seen == 2*writers*each {
					return done
				}
				return nil
			})
			if err != done {
				t.Errorf("follower %d: %v", follower, err)
			}
		})
	}
	var mu sync.Mutex
	receipts := map[uint64]string{}
	for w := range writers {
		wg.Go(func() {
			before := uint64(0)
			for i := range each {
				name := fmt.Sprint(w, " ", i)
				r, err := l.Append(context.Background(), name, Events(name, 2))
				if err != nil || r.Accepted != 2 || r.Again || r.Last <= before {
					t.Errorf("%s: %+v, %v, after %d", name, r, err, before)
				}
				before = r.Last
				mu.Lock()
				receipts[r.Last] = name
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	for _, b := range Read(t, l, 0) {
		if receipts[b.Last] != b.Key || b.Events[1].Src != b.Key {
			t.Errorf("batch %d is %q, its receipt went to %q", b.Last, b.Key, receipts[b.Last])
		}
	}
	if len(receipts) != writers*each {
		t.Errorf("%d different receipts, want %d", len(receipts), writers*each)
	}
}

func sameKey(t *testing.T, s Store) {
	l := s.Open(t)
	must(t, l, "", Events("x", 1))
	got := atOnce(t, l, 20, func(int) string { return "same" }, Events("s", 3))
	want := eventlog.Receipt{Last: 4, Accepted: 3}
	again := want
	again.Again = true
	if got[want] != 1 || got[again] != 19 || len(Read(t, l, 0)) != 2 {
		t.Errorf("receipts %v, %d batches", got, len(Read(t, l, 0)))
	}
}
