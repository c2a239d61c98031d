// Package queue answers: how do workers on several machines share the trainings of a study?
//
// Orders wait in a work queue of NATS JetStream. A worker takes one, keeps its run directory in an object store while
// it trains, and says in a table how far it is. When a worker is lost, its order is given to another one, which goes on
// from what was kept. Whoever gave the order fetches the directory when the table says that it is done.
package queue

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
	js "github.com/nats-io/nats.go/jetstream"

	"github.com/dygmamba/dygmamba/internal/study"
	"github.com/dygmamba/dygmamba/run"
)

// Queue is a connection to the brokers.
type Queue struct {
	nc     *nats.Conn
	js     js.JetStream
	orders js.Consumer
	table  js.KeyValue
	files  js.ObjectStore
	limits limits
}

const (
	stream  = "dygmamba-orders"
	subject = "dygmamba.orders"
	bucket  = "dygmamba-runs"

	attempt = 5 * time.Second  // of one question to the brokers, before it is asked again
	silence = 20 * time.Second // after which a worker is lost
	look    = time.Second      // between two looks at the table
)

// limits are how long brokers keep what nobody touches. A command that waits gives its order again in time; a run that
// is trained is copied again and again. So only what is finished or abandoned goes.
type limits struct {
	results time.Duration // run directories
	table   time.Duration // less, so that the table names no directory that is gone
	orders  time.Duration
	renew   time.Duration // after which a command that waits gives its order again
}

const day = 24 * time.Hour

var usual = limits{results: 30 * day, table: 29 * day, orders: 30 * day, renew: 7 * day}

// status is what the table has of an order.
type status struct {
	State  string     `json:"state"` // running, done or failed
	Worker string     `json:"worker"`
	Epoch  *run.Epoch `json:"epoch,omitempty"` // the last
	Epochs int        `json:"epochs"`
	Error  string     `json:"error,omitempty"`
	Digest string     `json:"digest,omitempty"` // of the kept directory
	// Until is the epoch after which a trial of a sweep pauses, of an order that is done; 0: it was trained to its end.
	Until    int  `json:"until,omitempty"`
	Diverged bool `json:"diverged,omitempty"` // of an order that failed: it would, whoever trains it

	revision uint64 // of the entry
}

// carriedOut says whether the order was carried out, or one for more epochs of the same training.
func (s status) carriedOut(o study.Order) bool {
	return s.State == done && (s.Until == 0 || s.Until >= until(o) && until(o) > 0)
}

// until is the epoch after which an order pauses, 0: at its end.
func until(o study.Order) int {
	if t := o.Tasks[0].Trial; t != nil {
		return t.Until
	}
	return 0
}

const (
	running = "running"
	done    = "done"
	failed  = "failed"
)

// Open connects to a broker, or one of several separated by commas, and makes what is missing: with three copies of
// everything where there are three brokers.
func Open(ctx context.Context, url string) (*Queue, error) { return open(ctx, url, usual) }

func open(ctx context.Context, url string, l limits) (*Queue, error) {
	nc, err := nats.Connect(url, nats.Name("dygmamba queue"), nats.MaxReconnects(-1),
		nats.ReconnectWait(200*time.Millisecond), nats.RetryOnFailedConnect(true),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
	if err != nil {
		return nil, fmt.Errorf("queue %s: %w", url, err)
	}
	q := &Queue{nc: nc, limits: l}
	if q.js, err = js.New(nc); err != nil {
		nc.Close()
		return nil, err
	}
	if err := again(ctx, q.make); err != nil {
		nc.Close()
		return nil, fmt.Errorf("queue %s: %w", url, err)
	}
	return q, nil
}

// make opens the stream, the table and the store.
func (q *Queue) make(ctx context.Context) error {
	replicas := 1
	if len(q.nc.Servers()) >= 3 {
		replicas = 3
	}
	s, err := q.js.CreateOrUpdateStream(ctx, js.StreamConfig{Name: stream, Subjects: []string{subject},
		Replicas: replicas, Retention: js.WorkQueuePolicy, Storage: js.FileStorage, MaxAge: q.limits.orders,
		Duplicates: min(time.Hour, q.limits.orders)})
	if err != nil {
		return err
	}
	q.orders, err = s.CreateOrUpdateConsumer(ctx, js.ConsumerConfig{Durable: "workers", AckPolicy: js.AckExplicitPolicy,
		AckWait: silence, MaxDeliver: -1, MaxAckPending: -1})
	if err != nil {
		return err
	}
	q.table, err = q.js.CreateOrUpdateKeyValue(ctx, js.KeyValueConfig{Bucket: bucket, Replicas: replicas,
		TTL: q.limits.table})
	if err != nil {
		return err
	}
	q.files, err = q.js.CreateOrUpdateObjectStore(ctx, js.ObjectStoreConfig{Bucket: bucket, Replicas: replicas,
		TTL: q.limits.results})
	return err
}

// again repeats a question until it is answered or ctx ends: brokers come and go.
func again(ctx context.Context, ask func(context.Context) error) error {
	for {
		one, cancel := context.WithTimeout(ctx, attempt)
		err := ask(one)
		cancel()
		if err == nil || ctx.Err() != nil || errors.Is(err, errFinal) {
			return err
		}
		select {
		case <-time.After(300 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("%w (%w)", ctx.Err(), err)
		}
	}
}

// errFinal marks an answer that will not change.
var errFinal = errors.New("no such entry")

// Close leaves the brokers.
func (q *Queue) Close() { q.nc.Close() }

// id tells an order from all others: the same training has the same one, whoever asks for it, and for how many epochs.
func id(o study.Order) string {
	task := o.Tasks[0]
	if task.Trial != nil {
		trial := *task.Trial
		trial.Until = 0
		task.Trial = &trial
	}
	raw, err := json.Marshal(struct {
		Job     study.Job
		MaxTime float64
		Batches bool
		Exact   bool
		Trial   *study.Trial `json:",omitempty"`
	}{task.Job, task.MaxTime, task.Batches, o.Exact, task.Trial})
	if err != nil {
		panic(err) // all of it was read from JSON
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:16])
}

// status reads the table.
func (q *Queue) status(ctx context.Context, id string) (s status, found bool, err error) {
	err = again(ctx, func(ctx context.Context) error {
		e, err := q.table.Get(ctx, id)
		if errors.Is(err, js.ErrKeyNotFound) {
			return errFinal
		}
		if err != nil {
			return err
		}
		found = true
		s = status{revision: e.Revision()}
		return json.Unmarshal(e.Value(), &s)
	})
	if errors.Is(err, errFinal) {
		return s, false, nil
	}
	return s, found, err
}

func (q *Queue) put(ctx context.Context, id string, s status) error {
	raw, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return again(ctx, func(ctx context.Context) error {
		_, err := q.table.Put(ctx, id, raw)
		return err
	})
}

// Launch gives trainings to workers, and everything else to local: measurements are of this machine, and a classifier
// needs files that only it has.
func (q *Queue) Launch(local study.Launch) study.Launch {
	return func(ctx context.Context, o study.Order, tell func(study.News)) error {
		if len(o.Tasks) != 1 || o.Tasks[0].Dir == "" || o.Tasks[0].Steps > 0 || o.Tasks[0].Job.Task != "" {
			return local(ctx, o, tell)
		}
		return q.order(ctx, o, tell)
	}
}

// order puts an order into the queue and waits until a worker has carried it out.
func (q *Queue) order(ctx context.Context, o study.Order, tell func(study.News)) error {
	key, dir := id(o), o.Tasks[0].Dir
	s, _, err := q.status(ctx, key)
	if err != nil {
		return err
	}
	failure := uint64(0) // of an earlier order for the same training
	if s.State == failed {
		failure = s.revision
	}
	if !s.carriedOut(o) {
		if err := q.publish(ctx, key, o, failure); err != nil {
			return err
		}
	}
	epochs, given := 0, time.Now()
	for !s.carriedOut(o) {
		if time.Since(given) > q.limits.renew { // it may have waited longer than brokers keep orders
			if err := q.publish(ctx, key, o, failure); err != nil {
				return err
			}
			given = time.Now()
		}
		select {
		case <-time.After(look):
		case <-ctx.Done():
			tell(study.News{Stopped: true})
			return nil
		}
		if s, _, err = q.status(ctx, key); err != nil {
			if ctx.Err() != nil {
				continue
			}
			return err
		}
		if s.Epochs > epochs && s.Epoch != nil {
			epochs = s.Epochs
			tell(study.News{Epoch: s.Epoch})
		}
		if s.State == failed && s.revision != failure {
			why := fmt.Sprintf("worker %s: %s", s.Worker, s.Error)
			tell(study.News{Error: why, Diverged: s.Diverged, Finished: true})
			return nil
		}
	}
	if err := q.fetch(ctx, key, s.Digest, dir); err != nil {
		return err
	}
	tell(study.News{Finished: true})
	return nil
}

// publish sends an order. Sent again, it is the same message for an hour, and after that a second one, whose worker
// finds the first one's work. After a failure, or for more epochs, it is another message.
func (q *Queue) publish(ctx context.Context, key string, o study.Order, failure uint64) error {
	o.Tasks = slices.Clone(o.Tasks)
	o.Tasks[0].Dir = "" // the worker's own
	raw, err := json.Marshal(o)
	if err != nil {
		return err
	}
	name := key
	if n := until(o); n > 0 {
		name = fmt.Sprintf("%s-%d", name, n)
	}
	if failure > 0 {
		name = fmt.Sprintf("%s after %d", name, failure)
	}
	return again(ctx, func(ctx context.Context) error {
		_, err := q.js.Publish(ctx, subject, raw, js.WithMsgID(name))
		return err
	})
}
