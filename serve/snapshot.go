package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/event"
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

	shown atomic.Pointer[snapshotDoc] // the same, for metrics: they do not wait while one is written
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

// restore fills the engine from the snapshot, before the log is read. It returns the model's memory. Without a
// snapshot, or with one that is damaged, the engine begins where the log does.
func (k *snapshotter) restore(ctx context.Context) (*modelMemory, error) {
	after, cut := k.server.logBegin()
	which, err := k.server.remover.selected(ctx, selection{cut: cut})
	if err != nil {
		return nil, err
	}
	began := time.Now()
	var kept *snapshot
	var file *os.File
	err = fs.ErrNotExist
	if k.File != "" {
		kept, file, err = openSnapshot(k.File)
	}
	if err == nil {
		defer file.Close()
		if err = kept.fits(k.server.engine, k.data(), which); err == nil {
			err = k.begin(ctx, kept, &which)
		}
	}
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, errSnapshot):
		k.setAside(err)
		return nil, k.fromLog(which, after)
	case errors.Is(err, errStale):
		k.server.log.Info("the snapshot is deleted, and the log is read from its beginning: " + err.Error())
		if err := os.Remove(k.File); err != nil {
			return nil, err
		}
		return nil, k.fromLog(which, after)
	case errors.Is(err, fs.ErrNotExist):
		return nil, k.fromLog(which, after)
	default:
		return nil, fmt.Errorf("restore the snapshot %s: %w; without it the server reads the log from its beginning",
			k.File, err)
	}
	size := int64(0)
	if info, err := file.Stat(); err == nil {
		size = info.Size()
	}
	k.note(snapshotDoc{kept.Last, time.Now(), size, time.Since(began).Seconds()})
	k.server.log.Info("restored a snapshot", "events", kept.Events, "last", kept.Last, "seconds", k.latest.Seconds)
	if which.cut != kept.cut() {
		return nil, nil // the memory is of other events
	}
	return kept.memory, nil
}

// fromLog begins where the log does, with the selected events of the data set.
func (k *snapshotter) fromLog(which selection, after uint64) error {
	which.cut = k.server.retainer.start(which.cut, latestOf(k.server.options.Set))
	if after > 0 || which.removals > 0 || !math.IsInf(which.cut, -1) {
		k.server.engine.begin(which, after)
	}
	return nil
}

// begin fills the engine from a snapshot. The cut may become later than that of the snapshot.
func (k *snapshotter) begin(ctx context.Context, kept *snapshot, which *selection) error {
	last, err := kept.latest(ctx)
	if err != nil {
		return err
	}
	which.cut = k.server.retainer.start(max(which.cut, kept.cut()), max(last, latestOf(k.server.options.Set)))
	if which.removals > 0 || !math.IsInf(which.cut, -1) {
		k.server.engine.begin(*which, 0)
	}
	return kept.restore(ctx, k.server.engine)
}

// setAside keeps a damaged snapshot under another name. The log has all events.
func (k *snapshotter) setAside(why error) {
	aside := k.File + ".damaged"
	if err := os.Rename(k.File, aside); err != nil {
		aside = k.File + ", which could not be renamed"
	}
	k.server.log.Error("THE SNAPSHOT IS DAMAGED: the server reads the event log from its beginning instead, which "+
		"takes longer", "reason", why, "kept_as", aside)
	k.server.engine = newEngine(k.server.options.Set, k.server.options.Log) // without what was read of it
}

// latestOf is the time of the latest event of a data set, −Inf if it has none.
func latestOf(set *dataset.Set) event.Time {
	last := math.Inf(-1)
	for _, t := range set.Log.All().Time {
		last = max(last, t)
	}
	return last
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
func (k *snapshotter) write() (err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	defer func() {
		if err != nil {
			k.server.metrics.failed.Inc()
		}
	}()
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
	k.note(snapshotDoc{at.Last, time.Now(), size, time.Since(began).Seconds()})
	return nil
}

// lastDoc is the last snapshot, or the start if there is none.
func (k *snapshotter) lastDoc() snapshotDoc {
	if doc := k.shown.Load(); doc != nil {
		return *doc
	}
	return snapshotDoc{Time: k.server.started}
}

// note remembers the last snapshot. It is called with mu held.
func (k *snapshotter) note(doc snapshotDoc) {
	k.latest = doc
	k.shown.Store(&doc)
}

// reached is the sequence of the last snapshot.
func (k *snapshotter) reached() uint64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.latest.Last
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
