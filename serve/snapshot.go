package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"
	"time"

	"github.com/dygmamba/dygmamba/internal/atomicfile"
	"github.com/dygmamba/dygmamba/predict"
)

// Snapshots bound the time of a restart: the server writes its state to a file now and then, and reads the log from
// there.
type Snapshots struct {
	File  string // "": none
	Every int    // events between two; 0: a million
}

type modelMemory struct {
	Hash string // of the checkpoint
	predict.Remembered
}

type snapshotter struct {
	Snapshots
	server *Server
	data   func() string // the hash of the data set, computed once

	mu     sync.Mutex  // one is written at a time; guards what follows
	latest snapshotDoc // zero: there is none
}

// snapshotDoc is the last snapshot.
type snapshotDoc struct {
	Last    uint64    `json:"last"` // sequence
	Time    time.Time `json:"time"`
	Bytes   int64     `json:"bytes"`
	Seconds float64   `json:"seconds"` // to write or restore it
}

func newSnapshotter(s *Server, o Snapshots) *snapshotter {
	o.Every = cmp.Or(o.Every, 1_000_000)
	return &snapshotter{Snapshots: o, server: s, data: sync.OnceValue(s.options.Set.Hash)}
}

// restore fills the engine from the snapshot, before the log is read. It returns the model's memory.
func (k *snapshotter) restore(ctx context.Context) (*modelMemory, error) {
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
		err = kept.restore(ctx, k.server.engine)
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, fmt.Errorf("restore the snapshot %s: %w; without it the server reads the log from its beginning",
			k.File, err)
	}
	k.latest = snapshotDoc{kept.Last, time.Now(), size, time.Since(began).Seconds()}
	k.server.log.Info("restored a snapshot", "events", kept.Events, "last", kept.Last, "seconds", k.latest.Seconds)
	return kept.memory, nil
}

// watch writes a snapshot whenever enough events are new, also right after a start that read as many from the log.
func (k *snapshotter) watch(ctx context.Context) {
	if k.File == "" {
		return
	}
	for pause := time.Duration(0); sleep(ctx, pause); {
		pause = time.Second
		k.mu.Lock()
		due := k.server.engine.now().Last-k.latest.Last >= uint64(k.Every)
		k.mu.Unlock()
		if due {
			if err := k.write(); err != nil {
				k.server.log.Error("could not write a snapshot: " + err.Error())
				pause = time.Minute // the disk may be full
			}
		}
	}
}

// last writes a snapshot at the end if there are new events.
func (k *snapshotter) last() error {
	if k.File == "" || k.server.engine.now().Last == k.latest.Last {
		return nil
	}
	return k.write()
}

// write writes a snapshot of the latest state. The server goes on taking events meanwhile.
func (k *snapshotter) write() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	began := time.Now()
	memory, err := k.server.models.memory()
	if err != nil {
		return fmt.Errorf("snapshot: %w", err)
	}
	at := k.server.engine.now() // after the memory, which has no later events
	var size int64
	if err := atomicfile.Write(k.File, func(w io.Writer) (err error) {
		size, err = writeSnapshot(w, k.server.engine, at, memory, k.data())
		return err
	}); err != nil {
		return fmt.Errorf("snapshot %s: %w", k.File, err)
	}
	k.latest = snapshotDoc{at.Last, time.Now(), size, time.Since(began).Seconds()}
	return nil
}

func (k *snapshotter) doc() *snapshotDoc {
	if k.File == "" || !k.mu.TryLock() {
		return nil
	}
	defer k.mu.Unlock()
	if k.latest.Time.IsZero() {
		return nil
	}
	doc := k.latest
	return &doc
}
