package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/dygmamba/dygmamba/client"
	"github.com/dygmamba/dygmamba/eventlog"
	"github.com/dygmamba/dygmamba/eventlog/jetstream"
)

// check says whether anything was lost: by the receipts, by the stream itself, and by what the servers know. It goes on
// after a problem, and the report is saved after each step.
func (s *soak) check(t *testing.T) {
	step := func(what string, do func() error) {
		began := time.Now()
		if err := do(); err != nil {
			s.report.problem("%s: %v", what, err)
			what += ": FAILED"
		}
		s.report.Checks = append(s.report.Checks, fmt.Sprintf("%s (%.1f s)", what, time.Since(began).Seconds()))
		t.Log(s.report.Checks[len(s.report.Checks)-1])
		s.report.save(t)
	}
	receipts := s.load.receipts
	step(fmt.Sprintf("each of %d requests with events has a receipt, with sequences of its own and no gaps",
		len(receipts)), func() error { return checkReceipts(receipts, len(s.load.pending)) })
	var events int
	step("the stream has all events of the receipts, and no others", func() (err error) {
		events, err = s.checkStream(t.Context(), receipts)
		return err
	})
	var first string
	for i, r := range s.replicas {
		step(fmt.Sprintf("server %d knows all %d events, as server 1 does", i+1, events), func() error {
			return s.sameState(t, r, &first)
		})
	}
	step("a new server that reads the stream from its beginning knows the same", func() error {
		fresh := &soakReplica{args: slices.Clone(s.replicas[0].args)}
		fresh.args[slices.Index(fresh.args, "--store")+1] = t.TempDir()
		s.start(t, fresh)
		defer func() { fresh.cmd.Process.Kill(); fresh.cmd.Wait() }()
		return s.sameState(t, fresh, &first)
	})
	s.report.Checks = append(s.report.Checks, first)
}

// checkReceipts sorts receipts, and says whether they number the events one after another.
func checkReceipts(receipts []soakReceipt, pending int) error {
	if pending > 0 {
		return fmt.Errorf("%d requests with events were never acknowledged", pending)
	}
	slices.SortFunc(receipts, func(a, b soakReceipt) int { return cmp.Compare(a.Last, b.Last) })
	var last uint64
	for _, got := range receipts {
		if got.Accepted != soakEvents || got.Last-uint64(got.Accepted) != last {
			return fmt.Errorf("a receipt says %d events up to %d, the one before ends at %d",
				got.Accepted, got.Last, last)
		}
		last = got.Last
	}
	return nil
}

// checkStream reads the stream from its beginning, and compares it with what was sent, event by event.
func (s *soak) checkStream(ctx context.Context, receipts []soakReceipt) (events int, err error) {
	log, err := jetstream.Open(ctx, s.brokers.URLs(), jetstream.Options{Stream: "soak"})
	if err != nil {
		return 0, err
	}
	defer log.Close()
	if len(receipts) == 0 || log.Last() != receipts[len(receipts)-1].Last {
		return 0, fmt.Errorf("the stream ends with event %d, after %d receipts", log.Last(), len(receipts))
	}
	whole := errors.New("whole")
	next := 0
	err = log.Follow(ctx, 0, func(b eventlog.Batch) error {
		got := receipts[next]
		want := s.load.batch(got.number, got.now)
		if b.Last != got.Last || len(b.Events) != len(want) {
			return fmt.Errorf("request %d: %d events up to %d, want %d up to %d", got.number, len(b.Events), b.Last,
				len(want), got.Last)
		}
		for i, e := range b.Events {
			if e.Src != want[i].Src || e.Dst != want[i].Dst || e.Time != want[i].Time || e.Erased {
				return fmt.Errorf("event %d of request %d is %+v, want %+v", i, got.number, e, want[i])
			}
		}
		events += len(want)
		if next++; next == len(receipts) {
			return whole
		}
		return nil
	})
	if errors.Is(err, whole) {
		err = nil
	}
	return events, err
}

// sameState compares the final state of a server with that of the first one.
func (s *soak) sameState(t *testing.T, r *soakReplica, first *string) error {
	state, err := s.finalState(t, r)
	if err != nil {
		return err
	}
	if *first == "" {
		*first = state
	}
	if state != *first {
		return fmt.Errorf("it ends with %s, the first one with %s", state, *first)
	}
	return nil
}

// finalState is what a server knows when its cut moves no more, and a few of its answers.
func (s *soak) finalState(t *testing.T, r *soakReplica) (string, error) {
	t.Helper()
	c := r.client(time.Minute)
	want := s.load.receipts[len(s.load.receipts)-1].Last
	var was soakStatusDoc
	for same, began := time.Now(), time.Now(); time.Since(same) < 5*time.Second; time.Sleep(200 * time.Millisecond) {
		doc, err := soakStatus(t.Context(), c.URL)
		if err != nil || doc.Last != want || doc.Retention.Moving || doc != was {
			same = time.Now()
		}
		if doc != was {
			was, began = doc, same
		}
		if time.Since(began) > 3*time.Minute {
			return "", fmt.Errorf("for three minutes it knows %d of %d events, moving its cut: %v, %v", doc.Last, want,
				doc.Retention.Moving, err)
		}
	}
	state, err := c.State(t.Context())
	if err != nil {
		return "", err
	}
	text := fmt.Sprintf("cut %v, %d events, sha256 %s, scores", was.Retention.Cut, state.Came, state.SHA256)
	for i := range 5 {
		answer, err := c.Score(t.Context(), client.Query{Src: fmt.Sprint(1 + i), Dst: fmt.Sprint(1000 + i)})
		if err != nil {
			return "", err
		}
		text += fmt.Sprint(" ", answer.Scores[0].Logit)
	}
	return text, nil
}
