package queue

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dygmamba/dygmamba/internal/brokertest"
	"github.com/dygmamba/dygmamba/internal/study"
)

// TestLimits: brokers forget orders, results and the table, a command that waits is served all the same, and a training
// whose result was forgotten is trained again.
func TestLimits(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for brokers")
	}
	broker := brokertest.Run(t, brokertest.Settings(t.TempDir()))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	short := limits{results: 6 * time.Second, table: 4 * time.Second, orders: 2 * time.Second, renew: time.Second}
	q, err := open(ctx, broker.ClientURL(), short)
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	var trained atomic.Int32
	worker := &Worker{Name: "w", Dir: t.TempDir(), Log: slog.New(slog.DiscardHandler),
		Launch: func(_ context.Context, o study.Order, _ func(study.News)) error {
			trained.Add(1)
			if err := os.MkdirAll(o.Tasks[0].Dir, 0o755); err != nil {
				return err
			}
			return os.WriteFile(filepath.Join(o.Tasks[0].Dir, "result"), []byte("found"), 0o644)
		}}
	ask := func() {
		t.Helper()
		dir := t.TempDir()
		o := study.Order{Tasks: []study.Task{{Dir: dir, Job: study.Job{Name: "job"}}}}
		if err := q.order(ctx, o, func(study.News) {}); err != nil {
			t.Fatal(err)
		}
		if raw, err := os.ReadFile(filepath.Join(dir, "result")); err != nil || string(raw) != "found" {
			t.Fatalf("%q, %v, want what the worker found", raw, err)
		}
	}
	late := time.AfterFunc(4*time.Second, func() { // when the first order is forgotten
		if err := worker.Work(ctx, q); err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
	defer late.Stop()
	ask()
	ask()
	if n := trained.Load(); n != 1 {
		t.Errorf("trained %d times, want once: the result is there", n)
	}
	time.Sleep(8 * time.Second)
	for _, name := range []string{stream, "KV_" + bucket, "OBJ_" + bucket} {
		s, err := q.js.Stream(ctx, name)
		if err != nil {
			t.Fatal(err)
		}
		if info, err := s.Info(ctx); err != nil || info.State.Msgs > 0 {
			t.Errorf("%s still has %d messages (%v)", name, info.State.Msgs, err)
		}
	}
	ask()
	if n := trained.Load(); n != 2 {
		t.Errorf("trained %d times, want twice: the first result was forgotten", n)
	}
}
