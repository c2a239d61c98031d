package serve

import (
	"context"
	"fmt"
	"io/fs"
	"net/http"
	"sync"
	"time"

	"errors"

	"github.com/dygmamba/dygmamba/internal/atomicfile"
	"github.com/dygmamba/dygmamba/predict"
)

// Snapshots bound how long a restart takes: what is known is written to a file now and then, and the log is read from
// there on.
type Snapshots struct {
	File  string // "": none
	Every int    // events between two; 0: a million
}

// memory is what a model remembered, and which one.
type memory struct {
	Hash string // of the checkpoint
	predict.Remembered
}

// keeper writes snapshots and takes them up.
type keeper struct {
	Snapshots
	server *Server
	data   func() string // the hash of the data set, once

	mu    sync.Mutex // one is written at a time; guards what follows
	at    uint64     // sequence of the last one
	when  time.Time
	bytes int64
	took  time.Duration
}

// keptDoc is the last snapshot.
type keptDoc struct {
	Last    uint64    `json:"last"` // sequence
	Time    time.Time `json:"time"`
	Bytes   int64     `json:"bytes"`
	Seconds float64   `json:"seconds"` // that writing, or taking it up, took
}

func newKeeper(s *Server, o Snapshots) *keeper {
	if o.Every == 0 {
		o.Every = 1_000_000
	}
	return &keeper{Snapshots: o, server: s, data: sync.OnceValue(s.options.Set.Hash)}
}

// take makes what a snapshot knows the engine's state, before any event comes. It returns what the model remembered.
func (k *keeper) take() (*memory, error) {
	if k.File == "" {
		return nil, nil
	}
	began := time.Now()
	kept, size, err := readSnapshot(k.File)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		err = kept.fits(k.server.engine, k.data())
	}
	if err == nil {
		err = kept.restore(k.server.engine)
	}
	if err != nil {
		return nil, fmt.Errorf("take up the snapshot %s: %w; without it the server begins with the whole log",
			k.File, err)
	}
	k.at, k.when, k.bytes, k.took = kept.Last, time.Now(), size, time.Since(began)
	k.server.log.Info("took up a snapshot", "events", kept.Events, "last", kept.Last, "seconds", k.took.Seconds())
	return kept.memory, nil
}

// watch writes a snapshot whenever enough events have come, also at once after a restart that had to read as many from
// the log.
func (k *keeper) watch(ctx context.Context) {
	if k.File == "" {
		return
	}
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		k.mu.Lock()
		due := k.server.engine.now().Last-k.at >= uint64(k.Every)
		k.mu.Unlock()
		if due {
			if err := k.write(); err != nil {
				k.server.log.Error("a snapshot was not written: " + err.Error())
				select { // the disk may be full; it is no use to try at once
				case <-ctx.Done():
				case <-time.After(time.Minute):
				}
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// last writes a snapshot at the end, if anything is new.
func (k *keeper) last() error {
	if k.File == "" || k.server.engine.now().Last == k.at {
		return nil
	}
	return k.write()
}

// write writes a snapshot of what is known now. Events go on coming meanwhile.
func (k *keeper) write() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	began := time.Now()
	remembered, err := k.server.models.remembered()
	if err != nil {
		return fmt.Errorf("snapshot: %w", err)
	}
	at := k.server.engine.now() // not before: the memory is of its events
	out, err := atomicfile.Create(k.File)
	if err != nil {
		return fmt.Errorf("snapshot: %w", err)
	}
	size, err := writeSnapshot(out, k.server.engine, at, remembered, k.data())
	if err != nil {
		out.Discard()
		return fmt.Errorf("snapshot %s: %w", k.File, err)
	}
	if err := out.Commit(); err != nil {
		return fmt.Errorf("snapshot %s: %w", k.File, err)
	}
	k.at, k.when, k.bytes, k.took = at.Last, time.Now(), size, time.Since(began)
	return nil
}

func (k *keeper) doc() *keptDoc {
	if k.File == "" || !k.mu.TryLock() {
		return nil
	}
	defer k.mu.Unlock()
	if k.when.IsZero() {
		return nil
	}
	return &keptDoc{k.at, k.when, k.bytes, k.took.Seconds()}
}

// postSnapshot writes one now.
func (s *Server) postSnapshot(w http.ResponseWriter, _ *http.Request) error {
	if s.keeper.File == "" {
		return &refusal{status: 409, kind: "conflict", message: "this server keeps no snapshots: it has no store"}
	}
	if err := s.keeper.write(); err != nil {
		return &refusal{status: 503, kind: "snapshot_failed", message: err.Error(), after: 30}
	}
	answer(w, 200, s.keeper.doc())
	return nil
}
