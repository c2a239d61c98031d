package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	js "github.com/nats-io/nats.go/jetstream"

	"github.com/dygmamba/dygmamba/internal/study"
	"github.com/dygmamba/dygmamba/run"
)

// Worker carries out orders of a queue, one after the other.
type Worker struct {
	Name    string // of this worker, for people
	Dir     string // where runs are while they are trained
	DataDir string // where data sets lie
	Device  string
	Threads int
	Launch  study.Launch
	Keep    time.Duration // between two copies of a run's state; 0: half a minute
	Idle    time.Duration // ends when there was no order for so long; 0: never
	Log     *slog.Logger
}

// Work carries out orders until ctx ends. An order that it cannot finish goes back to the queue.
func (w *Worker) Work(ctx context.Context, q *Queue) error {
	last := time.Now()
	for ctx.Err() == nil {
		if w.Idle > 0 && time.Since(last) > w.Idle {
			return nil
		}
		batch, err := q.orders.Fetch(1, js.FetchMaxWait(2*time.Second))
		if err != nil { // no broker answers now
			time.Sleep(300 * time.Millisecond)
			continue
		}
		for m := range batch.Messages() {
			w.take(ctx, q, m)
			last = time.Now()
		}
	}
	return ctx.Err()
}

// take carries out one order.
func (w *Worker) take(ctx context.Context, q *Queue, m js.Msg) {
	var o study.Order
	if err := json.Unmarshal(m.Data(), &o); err != nil || len(o.Tasks) != 1 {
		w.Log.Warn("not an order, dropped", "error", err)
		m.Term()
		return
	}
	beating, stop := context.WithCancel(ctx)
	defer stop()
	go func() { // it is not lost while it says so
		for beating.Err() == nil {
			m.InProgress()
			select {
			case <-time.After(silence / 4):
			case <-beating.Done():
			}
		}
	}()
	key, job := id(o), o.Tasks[0].Job
	err := w.carryOut(ctx, q, key, o)
	if ctx.Err() != nil {
		m.Nak() // another worker goes on
		return
	}
	if err != nil {
		w.Log.Warn(fmt.Sprintf("%s, seed %d: %v; the order stays in the queue", job.Name, job.Seed, err))
		m.NakWithDelay(5 * time.Second)
		return
	}
	// An acknowledgement that is lost brings the order again, to a worker that finds it done.
	again(ctx, func(ctx context.Context) error {
		err := m.DoubleAck(ctx)
		if errors.Is(err, js.ErrMsgAlreadyAckd) || errors.Is(err, nats.ErrMsgAlreadyAckd) {
			return nil
		}
		return err
	})
}

// carryOut trains, unless that is done already, and keeps the run directory in the store. An error is one of the queue;
// what fails in the training is a result.
func (w *Worker) carryOut(ctx context.Context, q *Queue, key string, o study.Order) error {
	s, found, err := q.status(ctx, key)
	if err != nil || found && s.carriedOut(o) {
		return err
	}
	job := o.Tasks[0].Job
	dir := filepath.Join(w.Dir, key)
	if err := os.RemoveAll(dir); err != nil { // what the store has is newer, or the same
		return err
	}
	defer os.RemoveAll(dir)
	if err := q.fetch(ctx, key, "", dir); err != nil {
		return err
	}
	o.DataDir, o.Device, o.Threads, o.Tasks[0].Dir = w.DataDir, w.Device, w.Threads, dir
	if job.Path != "" && !run.Exists(job.Path) { // it lies elsewhere here
		o.Tasks[0].Job.Path = filepath.Join(w.DataDir, filepath.Base(job.Path))
	}
	w.Log.Info(fmt.Sprintf("%s, seed %d begins", job.Name, job.Seed))
	s = status{State: running, Worker: w.Name, Epochs: s.Epochs}
	if err := q.put(ctx, key, s); err != nil {
		return err
	}
	why, stopped, err := w.train(ctx, q, key, dir, o, &s)
	if err != nil {
		return err
	}
	if stopped { // what was done is for the next worker
		late, cancel := context.WithTimeout(context.WithoutCancel(ctx), silence)
		defer cancel()
		_, err := q.keep(late, key, dir)
		return err
	}
	if s.State, s.Until = done, until(o); why != "" {
		s.State, s.Error = failed, why
	} else if s.Digest, err = q.keep(ctx, key, dir); err != nil {
		return err
	}
	w.Log.Info(fmt.Sprintf("%s, seed %d: %s %s", job.Name, job.Seed, s.State, why))
	return q.put(ctx, key, s)
}

// train launches the training and copies its state to the store meanwhile.
func (w *Worker) train(
	ctx context.Context, q *Queue, key, dir string, o study.Order, s *status,
) (why string, stopped bool, err error) {
	every := w.Keep
	if every == 0 {
		every = 30 * time.Second
	}
	var mu sync.Mutex // guards s and what is kept
	copies, over := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(copies)
		for {
			select {
			case <-over:
				return
			case <-time.After(every):
			}
			mu.Lock()
			if run.Exists(filepath.Join(run.SeedDir(dir, o.Tasks[0].Job.Seed), run.LastFile)) {
				if _, err := q.keep(ctx, key, dir); err != nil {
					w.Log.Warn("the state could not be kept", "error", err)
				}
			}
			mu.Unlock()
		}
	}()
	err = w.Launch(ctx, o, func(n study.News) {
		why, stopped, s.Diverged = n.Error, stopped || n.Stopped, n.Diverged
		if n.Epoch == nil {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		s.Epoch, s.Epochs = n.Epoch, max(s.Epochs, n.Epoch.Epoch)
		if _, failed := q.keep(ctx, key, dir); failed == nil {
			q.put(ctx, key, *s)
		}
	})
	close(over)
	<-copies
	return why, stopped || ctx.Err() != nil, err
}
