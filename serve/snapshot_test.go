package serve

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/dygmamba/dygmamba"
	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/eventlog"
	"github.com/dygmamba/dygmamba/predict"
)

// logits are a server's answers to a few questions at the end of all events.
func logits(t *testing.T, w *world, s *Server) (list []float32) {
	t.Helper()
	var qs []string
	for i := range 6 {
		qs = append(qs, fmt.Sprintf(`{"src": %d, "dst": %d}`, 1+i, 7-i))
	}
	for _, score := range ask[scoresDoc](t, s, "POST", "/v1/score", `{"queries": [`+strings.Join(qs, ",")+`]}`).Scores {
		list = append(list, score.Logit)
	}
	return list
}

// A server that goes on from a snapshot and the log after it is in the state of one that read the whole log.
func TestRestart(t *testing.T) {
	for _, name := range append(remembering(), dygmamba.DefaultModel, "walkmamba") {
		w := newWorld(t, name)
		log, file := eventlog.NewMemory(), filepath.Join(t.TempDir(), "snapshot")
		keep := func(o *Options) { o.Log, o.Snapshots = log, Snapshots{File: file} }
		n, all := w.early.Log.Len(), w.whole.Log.Len()
		put := func(lo, hi int) {
			for i := lo; i < hi; i++ {
				e := w.event(i)
				if i%3 == 0 {
					e.Features = nil
				}
				if i%5 == 0 {
					e.Dst = fmt.Sprint(1_000_000 + i) // nodes that nobody knew
				}
				if _, err := log.Append(t.Context(), "", []eventlog.Event{e}); err != nil {
					t.Fatal(err)
				}
			}
		}
		first, err := w.open(keep)
		if err != nil {
			t.Fatal(err)
		}
		middle := (n + all) / 2
		put(n, middle)
		if err := first.engine.wait(t.Context(), log.Last()); err != nil {
			t.Fatal(err)
		}
		logits(t, w, first)
		if err := first.Close(); err != nil {
			t.Fatal(err)
		}
		put(middle, all)
		second, third := w.server(t, keep), w.server(t, func(o *Options) { o.Log = log })
		if got := second.snapshotter.latest.Last; got != uint64(middle-n) {
			t.Fatalf("%s: the snapshot is of sequence %d, want %d", name, got, middle-n)
		}
		a, b := second.engine.now(), third.engine.now()
		if a.Last != b.Last || a.Last != uint64(all-n) || second.engine.fingerprint(a) != third.engine.fingerprint(b) ||
			!slices.Equal(a.targets, b.targets) {
			t.Errorf("%s: %d and %d events, not the same", name, a.Len(), b.Len())
		}
		if x, y := logits(t, w, second), logits(t, w, third); !slices.Equal(x, y) {
			t.Errorf("%s: answers %v after a restart, otherwise %v", name, x, y)
		}
		if err := second.Close(); err != nil {
			t.Fatal(err)
		}
		if again := w.server(t, keep); again.snapshotter.latest.Last != a.Last ||
			again.engine.fingerprint(again.engine.now()) != third.engine.fingerprint(b) {
			t.Errorf("%s: a second restart knows something else", name)
		}
	}
}

// A snapshot of another data set, or one that is ahead of the log, is refused.
func TestSnapshotElsewhere(t *testing.T) {
	w := newWorld(t, dygmamba.DefaultModel)
	log, file := eventlog.NewMemory(), filepath.Join(t.TempDir(), "snapshot")
	s, err := w.open(func(o *Options) { o.Log, o.Snapshots = log, Snapshots{File: file} })
	if err != nil {
		t.Fatal(err)
	}
	ask[receiptDoc](t, s, "POST", "/v1/events", w.body(0, 3))
	ask[snapshotDoc](t, s, "POST", "/v1/admin/snapshot", "{}")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for part, change := range map[string]func(o *Options){
		"another data set":       func(o *Options) { o.Set, o.Log = w.whole.First(40), log },
		"do not belong together": func(o *Options) { o.Log = eventlog.NewMemory() },
	} {
		if err := os.RemoveAll(filepath.Join(filepath.Dir(file), baseFile)); err != nil { // it would say so first
			t.Fatal(err)
		}
		_, err := w.open(func(o *Options) { o.Snapshots = Snapshots{File: file}; change(o) })
		if err == nil || !strings.Contains(err.Error(), part) || !strings.Contains(err.Error(), file) {
			t.Errorf("%v, want %q", err, part)
		}
	}
}

// some is a snapshot of a few events.
func some(t testing.TB) []byte {
	t.Helper()
	log, err := dataset.Periodic(dataset.PeriodicOptions{})
	if err != nil {
		t.Fatal(err)
	}
	set := log.First(20)
	set.Edge.Cols = 2
	e := newEngine(set, nil)
	for i := range 5 {
		b := eventlog.Batch{Last: uint64(i + 1), Events: []eventlog.Event{
			{Src: fmt.Sprint("a", i), Dst: "b", Time: 1e6 + float64(i)},
		}}
		if i > 1 {
			b.Events[0].Features = []float32{1, float32(i)}
		}
		if err := e.apply(b); err != nil {
			t.Fatal(err)
		}
	}
	var out bytes.Buffer
	m := &modelMemory{Hash: "x", Remembered: predict.Remembered{Events: 2}}
	if _, err := writeSnapshot(&out, e, e.now(), m, "data"); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// No byte of a snapshot can change, and none can be missing or too much, without being noticed.
func TestDamagedSnapshot(t *testing.T) {
	good := some(t)
	if s, err := parseSnapshot(bytes.NewReader(good), int64(len(good))); err != nil || s.Events != 5 || s.Zeros != 2 ||
		s.features.bytes/4 != 6 {
		t.Fatal(s, err)
	}
	check := func(what string, data []byte) {
		t.Helper()
		if _, err := parseSnapshot(bytes.NewReader(data), int64(len(data))); !errors.Is(err, errSnapshot) {
			t.Errorf("%s: %v", what, err)
		}
	}
	for i := range good {
		bad := slices.Clone(good)
		bad[i] ^= 0x41
		check(fmt.Sprint("byte ", i), bad)
		check(fmt.Sprint("ends at ", i), good[:i])
	}
	check("longer", append(slices.Clone(good), 0))
	if _, _, err := openSnapshot(filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

// FuzzSnapshot: whatever a file says, reading it neither panics nor takes more memory than the file has bytes.
func FuzzSnapshot(f *testing.F) {
	f.Add(some(f))
	f.Add([]byte(snapshotMagic + "\xff\xff\xff\xff"))
	log, err := dataset.Periodic(dataset.PeriodicOptions{})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := parseSnapshot(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			return
		}
		e := newEngine(log.First(20), nil)
		if s.fits(e, "data", selection{cut: math.Inf(-1)}) == nil && s.restore(t.Context(), e) == nil &&
			math.IsNaN(e.now().PastView.Last()) {
			t.Error("a time that is none")
		}
	})
}

// damage changes a byte in the middle of a file.
func damage(t *testing.T, path string) {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	raw[len(raw)/2] ^= 1
	if err := os.WriteFile(path, raw, 0o644); err != nil {
		t.Fatal(err)
	}
}
